// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_calls.h"

#define CALLS_MAX 65536u	/* then all are forgotten: recent ones come again with their next event */

void otlp_calls_init(struct otlp_calls *c)
{
	*c = (struct otlp_calls){ 0 };
	map_init(&c->ids, sizeof(uint64_t), sizeof(struct otlp_span_ids));
}

void otlp_calls_fini(struct otlp_calls *c)
{
	otlp_span_fini(&c->spans);
	map_fini(&c->ids);
	vec_fini(&c->types);
}

/* Looking for the fields of an RPC takes longer than most events do. */
static bool is_other(const struct otlp_calls *c, const struct event_desc *desc)
{
	for (size_t i = 0; i < c->types.len; i++)
		if (c->types.items[i].desc == desc)
			return !c->types.items[i].is_call;
	return false;
}

static void note_type(struct otlp_calls *c, const struct event_desc *desc, bool is_call)
{
	for (size_t i = 0; i < c->types.len; i++)
		if (c->types.items[i].desc == desc)
			return;
	if (vec_grow(&c->types) >= 0)
		c->types.items[c->types.len++] = (struct otlp_calls_type){ .desc = desc, .is_call = is_call };
}

bool otlp_calls_learn(struct otlp_calls *c, const struct event *ev, struct otlp_span_ids *ret_ids)
{
	struct otlp_span_ids ids;
	bool is_call;

	if (is_other(c, ev->desc))
		return false;
	is_call = otlp_span_ids(&c->spans, ev, &ids);
	note_type(c, ev->desc, is_call);
	if (!is_call)
		return false;
	if (c->ids.len >= CALLS_MAX)
		map_clear(&c->ids);
	if (ev->keys.call)
		map_put(&c->ids, &ev->keys.call, &ids); /* without memory the join is not made */
	if (ret_ids)
		*ret_ids = ids;
	return true;
}

const struct otlp_span_ids *otlp_calls_find(const struct otlp_calls *c, uint64_t number)
{
	return number ? map_find(&c->ids, &number) : NULL;
}
