/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DWARF location expressions of arguments. Internal to src/gobin.
 */
#ifndef GOBIN_DWARF_LOC_H
#define GOBIN_DWARF_LOC_H

#include <elfutils/libdw.h>

#include "gobin/dwarf.h"

/* Fills in the pieces of @arg, whose size is set, from the @n operations of its location at function entry. */
void dwarf_loc_pieces(uint16_t machine, const Dwarf_Op *ops, size_t n, struct dwarf_arg *arg);

#endif
