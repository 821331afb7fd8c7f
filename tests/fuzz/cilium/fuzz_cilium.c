// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cilium's monitor: the first byte chooses gob streams (odd) or notifications (even), printed in every way.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cilium/gob.h"
#include "cilium/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stream(const uint8_t *data, size_t size)
{
	struct arena mem = { .limit_bytes = 8u << 20 };
	struct gob *g = gob_new();
	struct gob_value *v = NULL;
	struct cilium_payload p;

	if (g && gob_stream(g, data, size, &mem, &v, NULL) == 0 && v)
		gob_get_payload(v, &p);
	gob_free(g);
	arena_fini(&mem);
}

static void notification(const uint8_t *data, size_t size)
{
	struct cilium_payload p = { .data = data, .len = size, .type = CILIUM_RECORD_SAMPLE };

	for (unsigned way = 0; way < 10; way++) {
		struct cilium_print o = { .verbose = way % 3, .hex = way & 4, .json = way & 8 };
		struct buf out = { 0 };

		cilium_print(&p, &o, &out);
		buf_fini(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		stream(data + 1, size - 1);
	else
		notification(data + 1, size - 1);
	return 0;
}
