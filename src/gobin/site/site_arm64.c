// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The start of Go functions on arm64, as cmd/internal/obj/arm64 writes it: loads the limit from g (x28, offset 16) to
 * x16, compares the stack pointer, or its future value in x17, with it, and branches by b.ls to the code that grows
 * the stack. The kernel simulates the branch (arch/arm64/kernel/probes/decode-insn.c), but not the store of the link
 * register that follows.
 *
 * Encodings: Arm Architecture Reference Manual, A64.
 */
#include <errno.h>
#include <stdbool.h>

#include "gobin/site/site.h"

#define LDR_LIMIT 0xf9400b90u		/* ldr x16, [x28, #16] */
#define LS 9
#define LO 3
#define X16 16
#define X17 17

static bool is_branch_if(uint32_t insn, uint32_t condition)
{
	return (insn & 0xff00001f) == (0x54000000 | condition);
}

/* cmp of the stack pointer or x17 with x16, both forms of the register. */
static bool is_compare(uint32_t insn)
{
	uint32_t left = insn >> 5 & 31, right = insn >> 16 & 31;

	return ((insn & 0xffe0001f) == 0xeb00001f || (insn & 0xffe0001f) == 0xeb20001f ||
		(insn & 0xffe0fc1f) == 0xeb20601f) && right == X16 && (left == 31 || left == X17);
}

/*
 * Instructions that compute x17 or load a constant for it: sub, subs, add of immediates, mov, moves of wide
 * constants.
 */
static bool is_setup(uint32_t insn)
{
	uint32_t target = insn & 31;

	if (insn == LDR_LIMIT)
		return true;
	if (target != X17 && target != 27 && target != X16)
		return false;
	return (insn & 0x1f000000) == 0x11000000 ||	/* add, sub (immediate) */
	       (insn & 0x1f800000) == 0x12800000 ||	/* movn, movz, movk */
	       (insn & 0x1f000000) == 0x0b000000 ||	/* add, sub (register) */
	       (insn & 0x7fe0ffe0) == 0x2a0003e0;	/* mov */
}

int site_arm64(const uint8_t *code, size_t len, struct site *ret)
{
	bool compared = false, limit = false;

	if (len < 4 || !site_word(code, 0))
		return -EBADMSG;
	for (size_t at = 0; at + 4 <= len; at += 4) {
		uint32_t insn = site_word(code, at);

		if (compared && is_branch_if(insn, LS)) {
			*ret = (struct site){ .kind = GOBIN_AT_BRANCH, .off = (uint32_t)at, .len = 4 };
			return 0;
		}
		limit |= insn == LDR_LIMIT;
		compared |= limit && is_compare(insn);
		if (!is_setup(insn) && !is_compare(insn) && !is_branch_if(insn, LO))
			break;
	}
	*ret = (struct site){ .kind = GOBIN_AT_ENTRY, .len = 4 };
	return 0;
}
