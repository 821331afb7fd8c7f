// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/stack/samples.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "event/event.h"
#include "sinks/sink.h"

#define MAX_KEPT (1u << 20)   /* samples, 32 MiB; exceeded if LATE_NS covers more */
#define LATE_NS 8000000000ull /* maximum delay of a sample after a younger one */

int samples_open(struct samples *s, const struct sink_opts *o, samples_write_fn write, void *ctx)
{
	s->most = MAX_KEPT;
	s->write = write;
	s->ctx = ctx;
	return sinks_profile_open(&s->profile, o);
}

static int by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return COMPARE(x->ts_ns, y->ts_ns) ?: COMPARE(x->tid, y->tid) ?: COMPARE(x->cpu, y->cpu);
}

/* Writes samples up to @until_ns; keeps the others and all stacks. */
static int write_until(struct samples *s, uint64_t until_ns)
{
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	int r = stack_names_new(s->profile.set, s->profile.sym, &names);
	size_t n = 0;

	vec_sort(&s->kept, by_time);
	for (; r >= 0 && n < s->kept.len && s->kept.items[n].ts_ns <= until_ns; n++)
		r = s->write(s->ctx, names, &s->kept.items[n]);
	s->kept.len -= n;
	if (s->kept.len)
		memmove(s->kept.items, s->kept.items + n, s->kept.len * sizeof(s->kept.items[0]));
	else
		stack_set_clear(s->profile.set);
	s->most = MAX(MAX_KEPT, 2 * s->kept.len);
	return r;
}

int samples_take(struct samples *s, const struct event *ev)
{
	size_t entry;

	if (sinks_profile_take(&s->profile, ev, &entry) < 0)
		return 0;
	if (vec_grow(&s->kept) < 0)
		return -ENOMEM;
	s->kept.items[s->kept.len++] = (struct sample){
		.ts_ns = ev->ts_ns,
		.value = stack_event_value(s->profile.set, ev),
		.entry = (uint32_t)entry,
		.tid = ev->tid,
		.count = (uint32_t)stack_event_count(s->profile.set, ev),
		.cpu = ev->cpu,
	};
	s->last_ns = MAX(s->last_ns, ev->ts_ns);
	return s->kept.len >= s->most ? write_until(s, s->last_ns - MIN(s->last_ns, LATE_NS)) : 0;
}

int samples_close(struct samples *s)
{
	int r = s->profile.set ? write_until(s, UINT64_MAX) : 0;

	vec_fini(&s->kept);
	sinks_profile_fini(&s->profile);
	return r;
}
