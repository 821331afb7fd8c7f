// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locations of arguments: registers, frame-relative addresses, and pieces of either (DWARF 5, 2.6). At entry the
 * frame is that of the call: the canonical frame address is 8 bytes above the stack pointer on x86-64, behind the
 * return address, and the stack pointer itself on arm64.
 *
 * Go 1.19 repeats pieces of interfaces, or puts an empty piece in front, so positions cannot be sums of sizes:
 * repeats are dropped, and empty pieces if the pieces would exceed the size of the type.
 */
#include <dwarf.h>
#include <elf.h>
#include <stdbool.h>

#include "base/macros.h"
#include "gobin/dwarf/dwarf.h"

#define OPS_MAX 64

static bool one_op(uint16_t machine, const Dwarf_Op *op, struct dwarf_piece *p)
{
	int32_t cfa = machine == EM_X86_64 ? 8 : 0;

	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		*p = (struct dwarf_piece){ .where = GOBIN_IN_REG, .dwarf_reg = (uint8_t)(op->atom - DW_OP_reg0) };
		return true;
	}
	if (op->atom == DW_OP_regx && op->number < UINT8_MAX) {
		*p = (struct dwarf_piece){ .where = GOBIN_IN_REG, .dwarf_reg = (uint8_t)op->number };
		return true;
	}
	if (op->atom == DW_OP_call_frame_cfa) {
		*p = (struct dwarf_piece){ .where = GOBIN_ON_STACK, .off = cfa };
		return true;
	}
	if (op->atom == DW_OP_fbreg && (int64_t)op->number > -65536 && (int64_t)op->number < 65536) {
		*p = (struct dwarf_piece){ .where = GOBIN_ON_STACK, .off = cfa + (int32_t)(int64_t)op->number };
		return true;
	}
	return false;
}

static bool same(const struct dwarf_piece *a, const struct dwarf_piece *b)
{
	return a->where != GOBIN_NOWHERE && a->where == b->where && a->dwarf_reg == b->dwarf_reg &&
	       a->off == b->off && a->size == b->size;
}

static unsigned collect(uint16_t machine, const Dwarf_Op *ops, size_t n, struct dwarf_piece *pieces, unsigned most)
{
	struct dwarf_piece now = { 0 };
	unsigned k = 0;

	for (size_t i = 0; i < n && k < most; i++) {
		if (ops[i].atom != DW_OP_piece) {
			if (!one_op(machine, &ops[i], &now))
				return 0;	/* computed; arguments at entry never are */
			continue;
		}
		now.size = (uint16_t)MIN(ops[i].number, (Dwarf_Word)UINT16_MAX);
		if (!k || !same(&pieces[k - 1], &now))
			pieces[k++] = now;
		now = (struct dwarf_piece){ 0 };
	}
	if (now.where != GOBIN_NOWHERE && !k)
		pieces[k++] = now;
	return k;
}

void dwarf_loc_pieces(uint16_t machine, const Dwarf_Op *ops, size_t n, struct dwarf_arg *arg)
{
	struct dwarf_piece all[2 * DWARF_PIECES_MAX];
	unsigned k = collect(machine, ops, MIN(n, (size_t)OPS_MAX), all, ARRAY_SIZE(all));
	uint32_t sum = 0, at = 0;

	for (unsigned i = 0; i < k; i++)
		sum += all[i].size;
	for (unsigned i = 0; i < k && arg->n_pieces < DWARF_PIECES_MAX; i++) {
		if (all[i].where == GOBIN_NOWHERE && arg->size && sum > arg->size) {
			sum -= all[i].size;
			continue;
		}
		if (arg->size && at >= arg->size)
			break;
		all[i].at = (uint16_t)at;
		at += all[i].size;
		arg->pieces[arg->n_pieces++] = all[i];
	}
}
