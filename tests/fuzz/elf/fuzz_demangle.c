// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of any bytes: the readable form stays in its buffer and ends. */
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *raw = strndup((const char *)data, size);
	char *full = malloc(DEMANGLE_OUT_MAX);
	size_t len;

	if (!raw || !full)
		abort();
	len = demangle(raw, full);
	if (len && strlen(full) != len)
		abort();
	free(raw);
	free(full);
	return 0;
}
