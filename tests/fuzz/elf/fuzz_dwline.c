// SPDX-License-Identifier: GPL-2.0-or-later
/* Debug information of any bytes through libdw (which is not instrumented): chains are bounded and hold together. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "elf/dwarf/dwline.h"
#include "elf/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0, 1, 0x10, 0x1040, 0x1130, 0x401000, 0x401020, UINT64_MAX };
	struct dwline_hit hits[ARRAY_SIZE(addrs)];
	struct dwline *d;
	struct elf *e;

	if (size > 65536 || elf_open_mem(data, size, 1u << 20, &e) < 0)
		return 0;
	if (dwline_open(e, &d) == 0) {
		if (dwline_lookup(d, addrs, ARRAY_SIZE(addrs), hits) >= 0)
			for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
				for (size_t k = 0; k < hits[i].n; k++)
					if (k > 64 || hits[i].funcs[k].start > addrs[i])
						abort();
		dwline_free(d);
	}
	elf_free(e);
	return 0;
}
