// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of losses: only counters of the text change, and each line changes one at most. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/net/mib/net_mib_table.h"

static void check(size_t (*parse)(const char *text, size_t len, uint64_t *values), const char *text, size_t len)
{
	uint64_t values[NET_MIB__MAX];
	size_t changed = 0, found;

	memset(values, 0xff, sizeof(values));
	found = parse(text, len, values);
	for (size_t i = 0; i < NET_MIB__MAX; i++)
		changed += values[i] != UINT64_MAX;
	if (changed > found || found > len / 2)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(net_mib_table_pairs, (const char *)data, size);
	check(net_mib_table_lines, (const char *)data, size);
	return 0;
}
