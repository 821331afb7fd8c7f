// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of any bytes: both forms stay in their buffers and end; the short form is not the longer one. */
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *raw = strndup((const char *)data, size);
	char *full = malloc(DEMANGLE_OUT_MAX), *brief = malloc(64);
	size_t len;

	if (!raw || !full || !brief)
		abort();
	len = demangle(raw, full);
	if (len && strlen(full) != len)
		abort();
	len = demangle_short(len ? full : raw, brief, 64);
	if (strlen(brief) != len || len >= 64)
		abort();
	free(raw);
	free(full);
	free(brief);
	return 0;
}
