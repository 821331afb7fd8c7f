// SPDX-License-Identifier: GPL-2.0-or-later
/* Any header of a scraper, any list of names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/http_accept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	http_accept_openmetrics(text);
	http_accept_host(text, "metrics.example, x");
	http_accept_host("x", text);
	free(text);
	return 0;
}
