// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf maps of any bytes: a hit covers its address. */
#include <stdlib.h>

#include "base/macros.h"
#include "elf/perfmap.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0, 0x10, 0x1000, 0x1010, 0x7f0000001000, UINT64_MAX };
	struct symtab_hit hits[ARRAY_SIZE(addrs)];

	if (perfmap_lookup_mem(data, size, addrs, ARRAY_SIZE(addrs), hits) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		if (hits[i].name && addrs[i] - hits[i].start >= MAX(hits[i].size, 1u))
			abort();
		free(hits[i].name);
	}
	return 0;
}
