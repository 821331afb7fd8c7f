// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/state.h"

#include <stdlib.h>

#include "state/state_tables.h"

#define DEFAULT_BUDGET_BYTES (64u << 20)

struct state *state_new(size_t budget_bytes)
{
	struct state *s = calloc(1, sizeof(*s));
	size_t share = (budget_bytes ? budget_bytes : DEFAULT_BUDGET_BYTES) / 16;

	if (!s)
		return NULL;
	state_task_init(s, 9 * share, share);
	state_socket_init(s, 4 * share);
	state_file_init(s, 2 * share);
	state_range_init(s);
	state_call_init(s);
	state_event_init(s);
	return s;
}

void state_free(struct state *s)
{
	if (!s)
		return;
	state_task_fini(s);
	state_socket_fini(s);
	state_file_fini(s);
	state_range_fini(s);
	state_call_fini(s);
	state_event_fini(s);
	vec_fini(&s->births);
	free(s);
}

void state_lost(struct state *s, uint64_t ts_ns)
{
	state_timeline_lost(&s->losses, ts_ns);
	s->lost++;
	s->gen++;
}

static struct state_stats tasks_stats(const struct state_tasks *t)
{
	return (struct state_stats){ .entries = t->entries, .bytes = t->bytes, .evicted = t->evicted.count };
}

void state_stats(const struct state *s, enum state_table table, struct state_stats *ret)
{
	switch (table) {
	case STATE_PROCESS:
		*ret = tasks_stats(&s->procs);
		ret->bytes += s->images.bytes;
		return;
	case STATE_THREAD:
		*ret = tasks_stats(&s->threads);
		return;
	case STATE_SOCKET:
		*ret = (struct state_stats){
			.entries = s->socks.by_cookie.len, .bytes = s->socks.bytes, .evicted = s->socks.evicted.count,
		};
		return;
	case STATE_FILE:
		*ret = (struct state_stats){
			.entries = s->files.by_number.len, .bytes = s->files.bytes, .evicted = s->files.evicted.count,
		};
		return;
	case STATE_TABLE__MAX:
		break;
	}
	*ret = (struct state_stats){ 0 };
}
