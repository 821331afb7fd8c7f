// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of any bytes: a hit starts at or before its address and has a name that ends. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0, 1, 0x1000, 0x1010, 0x4000e8, 0x401000, 0x401010, 0x401030, UINT64_MAX };
	struct symtab_hit hits[ARRAY_SIZE(addrs)];
	struct symtab *t;
	struct elf *e;

	if (elf_open_mem(data, size, 1u << 20, &e) < 0)
		return 0;
	if (symtab_new(e, 1u << 20, &t) == 0) {
		if (symtab_lookup(t, addrs, ARRAY_SIZE(addrs), hits) >= 0)
			for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
				if (hits[i].name && (hits[i].start > addrs[i] || !hits[i].name[0]))
					abort();
				free(hits[i].name);
			}
		symtab_free(t);
	}
	elf_free(e);
	return 0;
}
