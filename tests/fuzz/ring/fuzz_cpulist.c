// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU lists: what is accepted ascends, and every id fits a record's header. */
#include <stdlib.h>

#include "ring/cpulist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t *cpus;
	int n = cpulist_parse((const char *)data, size, &cpus);

	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++)
		if (cpus[i] > 0xffff || (i && cpus[i] <= cpus[i - 1]))
			abort();
	free(cpus);
	return 0;
}
