// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbol tables of arbitrary text, and look-ups in them. */
#include <stdio.h>
#include <string.h>

#include "host/ksym.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0, 1, 0xff, 0xffffffff81000000, 0xffffffffffffffff };
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
	uint64_t start, end;
	struct ksyms *k;
	char name[32];

	if (!f)
		return 0;
	if (ksym_read(f, &k) == 0) {
		for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
			ksym_name(k, addrs[i], name, sizeof(name));
		for (unsigned nth = 0; nth < 4; nth++)
			ksym_range(k, "f", nth, &start, &end);
		ksym_free(k);
	}
	fclose(f);
	return 0;
}
