// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DWARF of a Go program alone, with every type of every row requested.
 */
#include <stdint.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "gobin/dwarf/dwarf.h"
#include "gobin/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint64_t entries[] = { 0x400400, 0x400440, 0x400480, 0x4004c0 };
	struct type_query queries[GOBIN_F__MAX];
	struct dwarf_facts facts = { 0 };
	const char *why = NULL;
	struct elf *e;

	for (int i = 0; i < GOBIN_F__MAX; i++)
		queries[i] = (struct type_query){ field_rows[i].pkg, field_rows[i].structure };
	if (elf_open_mem(data, len, 16u << 20, &e) < 0)
		return 0;
	if (dwarf_read(e, queries, GOBIN_F__MAX, entries, ARRAY_SIZE(entries), 0x400800, &facts, &why) < 0 && !why)
		__builtin_trap();
	dwarf_facts_fini(&facts);
	elf_free(e);
	return 0;
}
