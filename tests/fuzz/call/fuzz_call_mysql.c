// SPDX-License-Identifier: GPL-2.0-or-later
/* MySQL over a connection with holes: call_fuzz.h. */
/* A command has no mark of its own: it counts as one where nothing follows it in its segment. */
#define CALL_FUZZ_SEGMENTS true
#include "call_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return call_fuzz(1u << CALL_KIND_MYSQL, data, size);
}
