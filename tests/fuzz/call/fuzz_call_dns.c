// SPDX-License-Identifier: GPL-2.0-or-later
/* DNS over TCP and as datagrams: call_fuzz.h. */
#include "call_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call_fuzz datagrams = { 0 };

	call_fuzz_run(1u << CALL_KIND_DNS, cur_init(data, size), SIZE_MAX, true, &datagrams);
	return call_fuzz(1u << CALL_KIND_DNS, data, size);
}
