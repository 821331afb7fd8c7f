// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The start of Go functions on x86-64, as cmd/internal/obj/x86 writes it. With a stack check: the stack pointer, or
 * its future value in a scratch register, is compared with a word of g (R14, or up to Go 1.16 a register loaded from
 * thread-local storage), and a branch leads to the code that grows the stack. Since Go 1.21 "push %rbp" comes next.
 * The kernel emulates it as well, but writes to the program's stack for it: the branch, which needs only the flags,
 * costs a tenth less.
 *
 * Emulated by the kernel (arch/x86/kernel/uprobes.c): push of a register, branches of both lengths, calls, nop.
 * Encodings: Intel SDM volume 2. Decodes only the instructions of such prologues; any other ends the search.
 */
#include <errno.h>
#include <stdbool.h>

#include "gobin/site/site.h"

enum kind { OTHER, SETUP, COMPARE, BRANCH, PUSH, NOP, KIND__MAX };

struct insn {
	enum kind kind;
	uint8_t len;
	bool check;		/* a comparison with g's limit, or a branch on "below or equal" */
	bool guard;		/* a branch on "below": the new stack pointer would wrap around */
};

struct modrm {
	uint8_t mod, reg, rm;
	uint8_t len;		/* with SIB and displacement */
};

static struct modrm read_modrm(const uint8_t *p, size_t len)
{
	struct modrm m = { 0 };

	if (!len)
		return m;
	m.mod = p[0] >> 6;
	m.reg = p[0] >> 3 & 7;
	m.rm = p[0] & 7;
	m.len = 1;
	if (m.mod != 3 && m.rm == 4)
		m.len++;
	if (m.mod == 1)
		m.len += 1;
	else if (m.mod == 2 || (m.mod == 0 && m.rm == 5))
		m.len += 4;
	else if (m.mod == 0 && m.rm == 4 && len > 1 && (p[1] & 7) == 5)
		m.len += 4;
	return m;
}

/* Immediate bytes of the arithmetic group, by opcode. */
static uint8_t immediate(uint8_t op)
{
	return op == 0x83 ? 1 : op == 0x81 ? 4 : 0;
}

/*
 * Offset 16 or 24 in g, which is R14 or, before arguments came in registers, RCX. @rex: 0 = none. Without this test a
 * function that begins by comparing its arguments would seem to have a stack check.
 */
static bool is_limit(const uint8_t *p, size_t len, const struct modrm *m, uint8_t rex)
{
	return p[0] == 0x3b && len > 2 && m->mod == 1 && (p[2] == 0x10 || p[2] == 0x18) && rex & 8 &&
	       (rex & 1 ? m->rm == 6 : m->rm == 1);
}

/* After REX: moves and arithmetic whose operands are general registers and memory. */
static struct insn read_general(const uint8_t *p, size_t len, uint8_t before, uint8_t rex)
{
	struct modrm m;
	struct insn i = { .kind = OTHER };

	if (len < 2)
		return i;
	m = read_modrm(p + 1, len - 1);
	switch (p[0]) {
	case 0x3b:					/* cmp */
		i.check = is_limit(p, len, &m, rex);
		i.kind = i.check ? COMPARE : OTHER;
		break;
	case 0x81: case 0x83:				/* sub; of the stack pointer itself: allocates the frame */
		i.kind = m.reg == 5 && m.mod == 3 && (m.rm != 4 || rex & 1) ? SETUP : OTHER;
		break;
	case 0x8b: case 0x89: case 0x8d:		/* mov, lea */
		i.kind = SETUP;
		break;
	default:
		return i;
	}
	i.len = (uint8_t)(before + 1 + m.len + immediate(p[0]));
	return i;
}

/* "Below or equal", both lengths: 76 and 0f 86; "below": 72 and 0f 82. */
static struct insn read_branch(const uint8_t *p, size_t len)
{
	bool near = p[0] == 0x0f;
	uint8_t condition = near ? (len > 1 ? p[1] & 0xf : 0xf) : p[0] & 0xf;

	return (struct insn){ .kind = BRANCH, .len = near ? 6 : 2, .check = condition == 6, .guard = condition == 2 };
}

/* @p: the instruction's bytes. Kind OTHER ends the search. */
static struct insn read_insn(const uint8_t *p, size_t len)
{
	uint8_t rex = 0;
	size_t at = 0;

	if (len >= 4 && p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa)
		return (struct insn){ .kind = SETUP, .len = 4 };	/* endbr64 */
	if (len && p[0] >= 0x50 && p[0] <= 0x57)
		return (struct insn){ .kind = PUSH, .len = 1 };
	if (len && p[0] == 0x90)
		return (struct insn){ .kind = NOP, .len = 1 };
	if (len && ((p[0] & 0xf0) == 0x70 || (p[0] == 0x0f && len > 1 && (p[1] & 0xf0) == 0x80)))
		return read_branch(p, len);
	if (at < len && p[at] == 0x64)					/* thread-local */
		at++;
	if (at < len && (p[at] & 0xf0) == 0x40)
		rex = p[at++];
	return at < len ? read_general(p + at, len - at, (uint8_t)at, rex) : (struct insn){ .kind = OTHER };
}

static void found(struct site *ret, enum gobin_site_kind kind, size_t at, const struct insn *i)
{
	*ret = (struct site){ .kind = kind, .off = (uint32_t)at, .len = i->len };
}

/* The branch of the stack check, or false. */
static bool find_check(const uint8_t *code, size_t len, size_t *ret_at, struct insn *ret)
{
	bool compared = false;

	for (size_t at = 0; at < len;) {
		struct insn i = read_insn(code + at, len - at);

		if (!i.len || at + i.len > len)
			return false;
		if (i.kind == BRANCH && i.check && compared) {
			*ret_at = at;
			*ret = i;
			return true;
		}
		if (i.kind != SETUP && i.kind != COMPARE && !(i.kind == BRANCH && i.guard))
			return false;
		compared |= i.check;
		at += i.len;
	}
	return false;
}

int site_x86(const uint8_t *code, size_t len, struct site *ret)
{
	struct insn i;
	size_t at;

	if (len < 2 || (code[0] == 0 && code[1] == 0) || code[0] == 0xcc)
		return -EBADMSG;
	if (find_check(code, len, &at, &i)) {
		found(ret, GOBIN_AT_BRANCH, at, &i);
		return 0;
	}
	i = read_insn(code, len);
	at = i.kind == SETUP && code[0] == 0xf3 ? i.len : 0;	/* endbr64 */
	i = read_insn(code + at, len - at);
	if (i.kind == PUSH || i.kind == NOP)
		found(ret, GOBIN_AT_FIRST, at, &i);
	else
		*ret = (struct site){ .kind = GOBIN_AT_ENTRY, .len = 1 };
	return 0;
}
