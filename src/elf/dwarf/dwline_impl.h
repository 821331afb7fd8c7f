/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal to src/elf.
 */
#ifndef ELF_DWLINE_IMPL_H
#define ELF_DWLINE_IMPL_H

#include "elf/dwarf/dwimage.h"
#include "elf/dwarf/dwline.h"
#include "elf/elf_impl.h"

#endif
