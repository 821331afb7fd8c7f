// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On amd64 the runtime keeps g, the current goroutine, in thread-local storage. runtime.morestack begins by loading
 * it, in one of two forms (encodings: Intel SDM volume 2):
 *
 *	64 48 8b /r 25 disp32		mov %fs:disp32, reg
 *	48 c7 c0+r imm32  64 48 8b /r	mov $imm32, reg; mov %fs:(reg), reg2
 *
 * The second is what linkers leave in position-independent programs. A library loads the offset from its global
 * offset table instead, which only its dynamic loader fills: unknown here. arm64 has g in a register of its own.
 */
#include <elf.h>
#include <string.h>

#include "elf/go/gopclntab.h"
#include "gobin/goroutine.h"
#include "gobin/job.h"

#define TLS_FAR 65536		/* bytes below the thread pointer: the program's static TLS block is smaller */

static bool is_fs_load(const uint8_t *p, size_t len)
{
	return len >= 4 && p[0] == 0x64 && p[1] == 0x48 && p[2] == 0x8b;
}

/* "48 c7 c0+r imm32": a register, and a load through it. */
static bool is_load_through(const uint8_t *p, size_t len)
{
	const size_t first = 7;

	if (len < first + 4 || p[0] != 0x48 || p[1] != 0xc7 || (p[2] & 0xf8) != 0xc0)
		return false;
	return is_fs_load(p + first, len - first) && !(p[first + 3] >> 6) && (p[first + 3] & 7) == (p[2] & 7);
}

int32_t goroutine_tls_off(const uint8_t *code, size_t len)
{
	int32_t off = 0;

	if (is_fs_load(code, len) && len >= 9 && (code[3] & 0xc7) == 0x04 && code[4] == 0x25)
		memcpy(&off, code + 5, sizeof(off));
	else if (is_load_through(code, len))
		memcpy(&off, code + 3, sizeof(off));
	return off < 0 && off >= -TLS_FAR && !(off & 7) ? off : 0;
}

/* Symbols of assembler functions have the suffix, the table of functions has not. */
static bool is_morestack(const char *name)
{
	return !strcmp(name, "runtime.morestack") || !strcmp(name, "runtime.morestack.abi0");
}

void goroutine_find(struct job *j)
{
	uint8_t code[16];

	if (j->a.machine != EM_X86_64)
		return;
	for (size_t i = 0; i < gopclntab_n(j->table); i++) {
		struct gofunc f;

		if (gopclntab_func(j->table, i, &f) < 0 || !is_morestack(f.name))
			continue;
		if (image_read(&j->img, f.entry, code, sizeof(code)))
			j->a.tls_off = goroutine_tls_off(code, sizeof(code));
		return;
	}
}
