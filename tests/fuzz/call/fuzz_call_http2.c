// SPDX-License-Identifier: GPL-2.0-or-later
/* HTTP/2 over a connection with holes: call_fuzz.h. */
#include "call_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return call_fuzz(1u << CALL_KIND_HTTP2, data, size);
}
