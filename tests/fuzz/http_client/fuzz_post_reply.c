// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the answer of a server of OTLP/HTTP. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http_client/http_client_child.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[8];
	char *copy = malloc(size ? size : 1);	/* exactly the answer: a read past its end is seen */

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	http_client_reply_rejected(copy, size, why, sizeof(why));
	if (!memchr(why, '\0', sizeof(why)))
		abort();
	free(copy);
	return 0;
}
