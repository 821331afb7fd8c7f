// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: System V ABI, "Symbol Table"; ELF-64 Object File Format 1.5, section 8.
 */
#include "elf/symfind.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "elf/elf.h"

struct names {
	const char *const *names;
	size_t n;
	uint64_t *addrs;
};

/* The slot of the name at @at, which must end within the table; NULL = not requested, or filled. */
static uint64_t *slot_of(const struct names *names, const uint8_t *strings, size_t len, uint32_t at)
{
	const char *name = (const char *)strings + at;
	const char *end = at < len ? memchr(name, 0, len - at) : NULL;

	for (size_t i = 0; end && i < names->n; i++)
		if (!names->addrs[i] && !strcmp(names->names[i], name))
			return &names->addrs[i];
	return NULL;
}

static void find_in(struct elf *e, const struct elf_section *table, const struct names *names)
{
	const uint8_t *symbols, *strings;
	const struct elf_section *all;
	size_t n, len, strings_len;
	struct cursor c;
	Elf64_Sym sym;

	all = elf_sections(e, &n);
	if (table->link >= n || elf_section_data(e, table, &symbols, &len) < 0 ||
	    elf_section_data(e, &all[table->link], &strings, &strings_len) < 0)
		return;
	c = cur_init(symbols, len);
	while (cur_copy(&c, &sym, sizeof(sym))) {
		uint64_t *slot = NULL;

		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF && sym.st_value)
			slot = slot_of(names, strings, strings_len, sym.st_name);
		if (slot)
			*slot = sym.st_value;
	}
}

int symfind_functions(struct elf *e, const char *const *names, size_t n, uint64_t *ret)
{
	static const char *const tables[] = { ".dynsym", ".symtab" };
	const struct names all = { .names = names, .n = n, .addrs = ret };
	struct elf_section table;
	int found = 0;

	if (!elf_is_64(e))
		return -ENOTSUP;
	memset(ret, 0, n * sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (elf_section_find(e, tables[i], &table) == 0)
			find_in(e, &table, &all);
	for (size_t i = 0; i < n; i++)
		found += ret[i] != 0;
	return found;
}
