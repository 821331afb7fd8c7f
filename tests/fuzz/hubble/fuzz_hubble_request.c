// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of Hubble's clients: what is accepted is an expression of the filter language, what is refused has a
 * sentence.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "hubble/hubble_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct registry *all_types(void)
{
	static struct registry *reg;

	if (reg)
		return reg;
	reg = registry_new();
	for (const struct decoder_ops *const *d = all_decoders; reg && *d; d++)
		if (registry_add(reg, (*d)->events) < 0)
			abort();
	return reg;
}

/* Most inputs make an expression that an earlier one made: binding its words in all types takes most of a run. */
static bool is_new(const struct buf *where)
{
	static uint64_t seen[1 << 16];
	const uint64_t hash = map_hash(where->data, where->len);
	uint64_t *last = &seen[hash % ARRAY_SIZE(seen)];
	const bool same = *last == hash;

	*last = hash;
	return !same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hubble_request q = { 0 };
	struct filter *f = NULL;
	struct err err = { 0 };
	int r = hubble_request_parse(data, size, &q, &err);

	if (r < 0) {
		if (r != -EINVAL || !*err.msg)
			abort();
		return 0;
	}
	/* too long or too deep an expression is refused with a sentence, too */
	r = q.where.len && is_new(&q.where) ? filter_parse(all_types(), buf_str(&q.where), &f, &err) : 0;
	if (r < 0 && (r != -EINVAL || !*err.msg))
		abort();
	filter_free(f);
	hubble_request_fini(&q);
	return 0;
}
