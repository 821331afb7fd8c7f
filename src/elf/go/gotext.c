// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the start of the text of a Go program. In relocatable programs pointers are zero in the file and R_*_RELATIVE
 * relocations hold them. The module data is the structure that points to the table.
 *
 * Format: runtime/symtab.go, struct moduledata: 7 fields up to the functions, then findfunctab, minpc, maxpc, text.
 */
#include "elf/go/gotext.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "elf/go/gotable.h"

#define MODULE_MIN_PC 160	/* byte offsets in 64-bit module data */
#define MODULE_TEXT 176

static bool is_relative(const struct elf *e, uint64_t info)
{
	uint32_t type = (uint32_t)info;

	return elf_machine(e) == EM_X86_64 ? type == R_X86_64_RELATIVE : type == R_AARCH64_RELATIVE;
}

/* First relative relocation: at @at, returning its addend; or with addend @addend, returning its address. */
static int find_relative(struct elf *e, const uint64_t *at, const uint64_t *addend, uint64_t *ret)
{
	struct elf_section s;
	const uint8_t *data;
	struct cursor c;
	size_t len;
	int r = elf_section_find(e, ".rela.dyn", &s);

	if (r == 0)
		r = elf_section_data(e, &s, &data, &len);
	if (r < 0)
		return r;
	c = cur_init(data, len);
	while (cur_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t off = cur_u64(&c), info = cur_u64(&c), add = cur_u64(&c);

		if (!is_relative(e, info) || (at && off != *at) || (addend && add != *addend))
			continue;
		*ret = at ? add : off;
		return 0;
	}
	return -ENOENT;
}

int gotext_pointer(struct elf *e, uint64_t vaddr, uint64_t *ret)
{
	const uint8_t *data;
	int r;

	if (find_relative(e, &vaddr, NULL, ret) == 0)
		return 0;
	r = elf_vaddr_data(e, vaddr, sizeof(*ret), &data);
	if (r == 0)
		memcpy(ret, data, sizeof(*ret));
	return r;
}

/* Accepts the module data at @addr if its minpc is the address of the table's first function. */
static int try_module(struct elf *e, const struct gopclntab *t, uint64_t addr, uint64_t *ret)
{
	struct cursor c = cur_init(t->funcs.data, t->funcs.len);
	uint64_t text, min_pc, first = cur_u32(&c);

	if (gotext_pointer(e, addr + MODULE_TEXT, &text) < 0 || gotext_pointer(e, addr + MODULE_MIN_PC, &min_pc) < 0)
		return -ENOENT;
	if (!text || !cur_ok(&c) || min_pc != text + first)
		return -ENOENT;
	*ret = text;
	return 0;
}

static int search_section(struct elf *e, const struct gopclntab *t, const char *name, uint64_t *ret_module,
			  uint64_t *ret_text)
{
	struct elf_section s;
	const uint8_t *data;
	size_t len;
	int r = elf_section_find(e, name, &s);

	if (r == 0)
		r = elf_section_data(e, &s, &data, &len);
	for (size_t i = 0; r == 0 && i + 8 <= len; i += 8)
		if (!memcmp(data + i, &t->addr, 8) && try_module(e, t, s.addr + i, ret_text) == 0) {
			*ret_module = s.addr + i;
			return 0;
		}
	return -ENOENT;
}

static int find_module(struct elf *e, const struct gopclntab *t, uint64_t *ret_module, uint64_t *ret_text)
{
	static const char *const sections[] = { ".go.module", ".noptrdata", ".data", ".data.rel.ro" };

	if (find_relative(e, NULL, &t->addr, ret_module) == 0 && try_module(e, t, *ret_module, ret_text) == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (search_section(e, t, sections[i], ret_module, ret_text) == 0)
			return 0;
	return -ENOENT;
}

int gotext_module(struct elf *e, const struct gopclntab *t, uint64_t *ret)
{
	uint64_t text;

	return elf_is_64(e) ? find_module(e, t, ret, &text) : -ENOENT;
}

int gotext_start(struct elf *e, const struct gopclntab *t, uint64_t *ret)
{
	uint64_t field = t->addr + 8 + 2 * (uint64_t)t->ptr, module;
	struct elf_section text;

	if (!elf_is_64(e))
		return -ENOENT;
	if (find_relative(e, &field, NULL, ret) == 0)
		return 0;
	if (find_module(e, t, &module, ret) == 0)
		return 0;
	/* Only for programs linked by Go alone; with cgo other code precedes the text. */
	if (elf_section_find(e, ".text", &text) < 0)
		return -ENOENT;
	*ret = text.addr;
	return 0;
}
