// SPDX-License-Identifier: GPL-2.0-or-later
/* Jitdumps of any bytes: a hit covers its address. */
#include <stdlib.h>

#include "base/macros.h"
#include "elf/jitdump.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0, 0x10, 0x5000, 0x5008, 0x6000, UINT64_MAX };
	struct symtab_hit hits[ARRAY_SIZE(addrs)];
	struct jitdump_line lines[ARRAY_SIZE(addrs)];

	if (jitdump_lookup_mem(data, size, addrs, ARRAY_SIZE(addrs), hits, lines) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		if (hits[i].name && addrs[i] - hits[i].start >= hits[i].size)
			abort();
		free(hits[i].name);
		free(lines[i].file);
	}
	return 0;
}
