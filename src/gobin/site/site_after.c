// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Results of a Go function are in the registers of the first arguments: the type of an error is in RCX, X2 behind an
 * interface, in RDI, X3 behind a slice.
 * A call is found by its operand, which holds the distance to the callee: 32 bits on x86-64, 26 bits in an aligned
 * word on arm64.
 */
#include "gobin/site/site.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define CALL_BYTES 5
#define COMPARED 4		/* bytes */

static int found(size_t at, size_t len, struct site *ret)
{
	if (at > len || len - at < COMPARED)
		return -EBADMSG;
	*ret = (struct site){ .kind = GOBIN_AT_FIRST, .off = (uint32_t)at, .len = COMPARED };
	return 0;
}

/* ---- x86-64 ---- */

static bool starts(const uint8_t *code, size_t len, size_t at, const char *bytes, size_t n)
{
	return at <= len && n <= len - at && !memcmp(code + at, bytes, n);
}

static int32_t rel32(const uint8_t *code, size_t at)
{
	int32_t v;

	memcpy(&v, code + at, sizeof(v));
	return v;
}

/* Behind the only call of @callee; 0 = none, or several. */
static size_t after_call_x86(const uint8_t *code, size_t len, uint64_t addr, uint64_t callee)
{
	size_t after = 0;

	for (size_t at = 0; at + CALL_BYTES <= len; at++) {
		size_t next = at + CALL_BYTES;

		if (code[at] != 0xe8 || addr + next + (uint64_t)(int64_t)rel32(code, at + 1) != callee)
			continue;
		if (after)
			return 0;
		after = next;
	}
	return after;
}

/* Padding that aligns a line of the program: nop of one, three or four bytes. */
static size_t skip_nops_x86(const uint8_t *code, size_t len, size_t at)
{
	if (starts(code, len, at, "\x0f\x1f\x40\x00", 4))
		return at + 4;
	if (starts(code, len, at, "\x0f\x1f\x00", 3))
		return at + 3;
	return starts(code, len, at, "\x90", 1) ? at + 1 : at;
}

static int after_x86(const uint8_t *code, size_t len, uint64_t addr, uint64_t callee, struct site *ret)
{
	size_t call = after_call_x86(code, len, addr, callee), at = skip_nops_x86(code, len, call);

	if (!call)
		return -EBADMSG;
	/* add or mov of the stack pointer, mov of the frame pointer: it returns */
	if (starts(code, len, at, "\x48\x83\xc4", 3) || starts(code, len, at, "\x48\x81\xc4", 3) ||
	    starts(code, len, at, "\x48\x8b\x6c\x24", 4) || starts(code, len, at, "\x48\x8b\xac\x24", 4))
		return found(at, len, ret);
	if (!starts(code, len, at, "\x48\x85\xc9", 3) || len - at < 9)	/* test %rcx,%rcx */
		return -EBADMSG;
	at += 3;
	if (code[at] == 0x75)					/* jne */
		return found(at + 2 + (size_t)(ptrdiff_t)(int8_t)code[at + 1], len, ret);
	if (code[at] == 0x0f && code[at + 1] == 0x85)
		return found(at + 6 + (size_t)(ptrdiff_t)rel32(code, at + 2), len, ret);
	if (code[at] == 0x74)					/* je: an error falls through */
		return found(at + 2, len, ret);
	return code[at] == 0x0f && code[at + 1] == 0x84 ? found(at + 6, len, ret) : -EBADMSG;
}

/* ---- arm64 ---- */

/* A distance in words: @bits at @shift of an instruction. */
static size_t distance(uint32_t insn, unsigned shift, unsigned bits)
{
	int32_t v = (int32_t)(insn << (32 - shift - bits)) >> (32 - bits);

	return (size_t)(ptrdiff_t)v * 4;
}

/* As after_call_x86(). */
static size_t after_call_arm64(const uint8_t *code, size_t len, uint64_t addr, uint64_t callee)
{
	size_t after = 0;

	for (size_t at = 0; at + 4 <= len; at += 4) {
		uint32_t insn = site_word(code, at);

		if (insn >> 26 != 0x25 || addr + at + distance(insn, 0, 26) != callee)	/* bl */
			continue;
		if (after)
			return 0;
		after = at + 4;
	}
	return after;
}

static int after_arm64(const uint8_t *code, size_t len, uint64_t addr, uint64_t callee, struct site *ret)
{
	size_t after = after_call_arm64(code, len, addr, callee);
	uint32_t insn;

	if (!after || len - after < 8)
		return -EBADMSG;
	insn = site_word(code, after);
	if ((insn & 0xff00001f) == 0xb5000002)	/* cbnz x2 */
		return found(after + distance(insn, 5, 19), len, ret);
	if ((insn & 0xff00001f) == 0xb4000002)	/* cbz x2 */
		return found(after + 4, len, ret);
	/* ldp of the frame pointer and the link register: it returns */
	if ((insn & 0xffc07fff) == 0xa9407bfd || (insn & 0xffc003ff) == 0xf94003fe)
		return found(after, len, ret);
	return -EBADMSG;
}

int site_after_call(uint16_t machine, const uint8_t *code, size_t len, uint64_t addr, uint64_t callee,
		    struct site *ret)
{
	if (machine == EM_X86_64)
		return after_x86(code, len, addr, callee, ret);
	return machine == EM_AARCH64 ? after_arm64(code, len, addr, callee, ret) : -EOPNOTSUPP;
}

/* ---- a slice and an error ---- */

static int after_slice_x86(const uint8_t *code, size_t len, uint64_t addr, uint64_t callee, struct site *ret)
{
	size_t call = after_call_x86(code, len, addr, callee), at = skip_nops_x86(code, len, call);

	if (!call || !starts(code, len, at, "\x48\x85\xff", 3) || len - at < 9)	/* test %rdi,%rdi */
		return -EBADMSG;
	at += 3;
	if (code[at] == 0x75 || code[at] == 0x74 ||				/* jne, je */
	    (code[at] == 0x0f && (code[at + 1] == 0x85 || code[at + 1] == 0x84)))
		return found(at, len, ret);
	return -EBADMSG;
}

static int after_slice_arm64(const uint8_t *code, size_t len, uint64_t addr, uint64_t callee, struct site *ret)
{
	size_t after = after_call_arm64(code, len, addr, callee);

	if (!after || len - after < 4 || (site_word(code, after) & 0xfe00001f) != 0xb4000003)	/* cbz, cbnz x3 */
		return -EBADMSG;
	return found(after, len, ret);
}

int site_after_slice(uint16_t machine, const uint8_t *code, size_t len, uint64_t addr, uint64_t callee,
		     struct site *ret)
{
	if (machine == EM_X86_64)
		return after_slice_x86(code, len, addr, callee, ret);
	return machine == EM_AARCH64 ? after_slice_arm64(code, len, addr, callee, ret) : -EOPNOTSUPP;
}
