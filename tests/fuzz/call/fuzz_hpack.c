// SPDX-License-Identifier: GPL-2.0-or-later
/* HPACK: blocks behind one byte of length each; strings stay within their arrays, memory is given back. */
#include <stdint.h>
#include <stdlib.h>

#include "call/call_pool.h"
#include "call/protocol/hpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cur_init(data, size);
	struct hpack h = { 0 };
	struct hpack_field f;
	struct call_pool pool;

	call_pool_init(&pool, NULL, NULL);
	while (cur_left(&c)) {
		size_t len = cur_u8(&c);
		struct cursor block = cur_sub(&c, len < cur_left(&c) ? len : cur_left(&c));

		while (hpack_next(&h, &pool, &block, &f) > 0)
			if (f.name_len > sizeof(f.name) || f.value_len > sizeof(f.value))
				abort();
		if (h.bytes > HPACK_TABLE_MAX)
			abort();
	}
	hpack_fini(&h, &pool);
	if (pool.bytes)
		abort();
	call_pool_fini(&pool);
	return 0;
}
