// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The member with the client random moves between releases and builds. SSL_get_client_random() adds its offset to the
 * first argument, or (OpenSSL 1.1, BoringSSL) to a pointer that it loads by it: these instructions are searched for.
 */
#include "probes/call/tls/call_tls_random.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/dwarf/ehindex.h"
#include "elf/elf.h"

#define CODE_BYTES 128		/* of SSL_get_client_random() */

/* Is the code at @vaddr + @at part of the function at @vaddr? Without an unwind table: no byte of a return before. */
static bool is_inside(struct elf *e, uint64_t vaddr, const uint8_t *code, size_t at)
{
	uint64_t begin;

	if (ehindex_find(e, vaddr + at, &begin) < 0)
		return !memchr(code, 0xc3, at);
	return begin == vaddr;
}

/* Where the client random is. */
struct way {
	uint32_t pointer;	/* offset in the object of a pointer to what has it, + 1; 0 = the object itself */
	uint32_t at;
};

/* x86 instructions of 64 bits: lea disp(%base), %reg; mov disp(%base), %reg; add $disp, %base. */
enum { X86_LEA = 0x8d, X86_LOAD = 0x8b, X86_ADD = 0x81, X86_ADD_BYTE = 0x83, X86_RDI = 7 };

struct x86_insn {
	uint8_t op, base, reg;
	bool is_near;	/* disp is one byte */
	uint32_t disp;
};

static bool x86_decode(struct cursor c, struct x86_insn *ret)
{
	const uint8_t rex = cur_u8(&c), op = cur_u8(&c), modrm = cur_u8(&c), mod = modrm >> 6;
	const bool memory = (op == X86_LEA || op == X86_LOAD) && (mod == 1 || mod == 2) && (modrm & 7) != 4;
	const bool add = (op == X86_ADD || op == X86_ADD_BYTE) && (modrm & 0xf8) == 0xc0;

	ret->op = op;
	ret->base = (modrm & 7) | (rex & 1) << 3;
	ret->reg = (modrm >> 3 & 7) | (rex & 4) << 1;
	ret->is_near = memory ? mod == 1 : op == X86_ADD_BYTE;
	ret->disp = ret->is_near ? cur_u8(&c) : cur_u32(&c);
	return rex >> 3 == 9 && (memory || add) && cur_ok(&c);
}

/* The first argument is in %rdi, unchanged until then, or a pointer that was loaded by it in @reg. */
static bool way_x86(struct elf *e, uint64_t vaddr, const uint8_t *code, size_t len, struct way *w)
{
	struct x86_insn x;
	uint8_t reg = 0;

	for (size_t i = 0; i < len; i++) {
		if (!x86_decode(cur_init(code + i, len - i), &x))
			continue;
		if (x.op == X86_LOAD && x.base == X86_RDI && !w->pointer) {
			w->pointer = x.disp + 1;
			reg = x.reg;
		} else if (x.op != X86_LOAD && w->pointer && x.base == reg) {
			w->at = x.disp;
			return is_inside(e, vaddr, code, i);
		} else if (x.op != X86_LOAD && x.base == X86_RDI && !x.is_near) {
			*w = (struct way){ .at = x.disp };
			return is_inside(e, vaddr, code, i);
		}
	}
	return false;
}

/* The same: ldr xT, [xN, #imm], add xD, xN, #imm (Arm Architecture Reference Manual, C6.2). */
static bool way_arm64(const uint8_t *code, size_t len, struct way *w)
{
	struct cursor c = cur_init(code, len);
	uint32_t reg = 0;

	while (cur_left(&c) >= 4) {
		const uint32_t insn = cur_u32(&c), imm = insn >> 10 & 0xfff, base = insn >> 5 & 31;
		const bool load = (insn & 0xffc00000) == 0xf9400000, add = (insn & 0xffc00000) == 0x91000000;

		if (load && !base && !w->pointer) {
			w->pointer = imm * 8 + 1;
			reg = insn & 31;
		} else if (add && w->pointer && base == reg) {
			w->at = imm;
			return true;
		} else if (add && imm && !base) {
			*w = (struct way){ .at = imm };
			return true;
		}
		if (insn == 0xd65f03c0)	/* ret */
			break;
	}
	return false;
}

void call_tls_random_find(struct elf *e, uint64_t vaddr, uint32_t *ret_random, uint32_t *ret_pointer)
{
	uint8_t code[CODE_BYTES];
	struct way w = { 0 };
	bool ok = false;
	uint64_t off;

	if (elf_vaddr_to_off(e, vaddr, &off) < 0 || elf_read_at(e, off, code, sizeof(code)) < 0)
		return;
	if (elf_machine(e) == EM_X86_64)
		ok = way_x86(e, vaddr, code, sizeof(code), &w);
	else if (elf_machine(e) == EM_AARCH64)
		ok = way_arm64(code, sizeof(code), &w);
	if (!ok || w.at >= CALL_TLS_OFFSET_MAX || w.pointer >= CALL_TLS_OFFSET_MAX)
		return;
	*ret_random = w.at + 1;
	*ret_pointer = w.pointer;
}
