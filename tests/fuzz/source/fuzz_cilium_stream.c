// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stream of a Cilium agent's socket, as a stored file: whatever the bytes, records are well formed, and how the
 * stream is cut makes no difference. Input: one byte that says how, then the stream.
 */
#include "capture_fuzz.h"

extern const struct source_ops cilium_source;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return capture_fuzz(&cilium_source, data, size);
}
