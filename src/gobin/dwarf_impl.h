/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal to the DWARF reader of src/gobin.
 */
#ifndef GOBIN_DWARF_IMPL_H
#define GOBIN_DWARF_IMPL_H

#include <elfutils/libdw.h>

#include "gobin/dwarf.h"

/* Where an argument is, by the @n operations of its location at entry. @arg: size set, pieces filled in. */
void dwarf_pieces(uint16_t machine, const Dwarf_Op *ops, size_t n, struct dwarf_arg *arg);

#endif
