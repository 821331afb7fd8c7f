// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pcapng reader: whatever the bytes, records are well formed, and how the file is cut into windows makes no
 * difference. Input: one byte that says how, then the file.
 */
#include "capture_fuzz.h"

extern const struct source_ops pcapng_source;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return capture_fuzz(&pcapng_source, data, size);
}
