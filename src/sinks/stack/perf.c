// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single samples in the format of `perf script`, which FlameGraph, speedscope and the Firefox profiler read:
 *
 *   comm pid/tid [cpu] seconds.micros: period event:
 *   \t<address> function+0xoffset (file)          innermost first
 *   <empty line>
 *
 * Samples are buffered until symbols are resolved, at the end or when many have accumulated: a few bytes per sample,
 * each stack once. Readers expect time order, but samples whose stack is unwound in user space arrive seconds late.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"

#define MAX_KEPT (1u << 20)	/* samples, 32 MiB; exceeded if LATE_NS covers more */
#define LATE_NS 8000000000ull	/* maximum delay of a sample after a younger one */
#define NS_PER_US 1000
#define US_PER_S 1000000

struct kept {
	uint64_t ts_ns, value;
	uint32_t entry, tid, count;
	uint16_t cpu;
};

struct perf {
	struct profile profile;
	VEC(struct kept) samples;
	size_t most;		/* samples that trigger a write */
	uint64_t last_ns;	/* of the youngest sample */
};

static int perf_open(struct sink *s, _unused_ struct err *err)
{
	struct perf *p = s->state;

	p->most = MAX_KEPT;
	return sinks_profile_open(&p->profile, s->opts);
}

/* Readers split at blanks and take the first word after "(" as the file. */
static void put_word(struct buf *out, const char *s, size_t len)
{
	size_t from = out->len;

	str_escape_buf(out, s, len);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ' ')
			out->data[i] = '_';
}

static void put_dso(struct buf *out, struct sym *sym, const struct stack_frame *f)
{
	const struct sym_module *m = f->func && sym ? sym_module(sym, f->loc.module) : NULL;

	buf_add_str(out, " (");
	if (f->inlined)
		buf_add_str(out, "inlined");
	else if (m && m->kind != SYM_UNKNOWN && *m->path)
		put_word(out, m->path, strlen(m->path));
	else if (f->part == STACK_PART_KERN)
		buf_add_str(out, "[kernel.kallsyms]");
	else
		buf_add_str(out, "[unknown]");
	buf_add_str(out, ")\n");
}

static void put_frame(struct buf *out, struct sym *sym, const struct stack_frame *f)
{
	buf_printf(out, "\t%16llx ", (unsigned long long)f->ip);
	str_escape_buf(out, f->name, strlen(f->name));
	if (f->func && *f->func->name && !f->inlined)
		buf_printf(out, "+0x%llx", (unsigned long long)stack_names_frame_offset(f));
	put_dso(out, sym, f);
}

static void put_head(struct buf *out, const struct profile *p, const struct stack_entry *e, const struct kept *k)
{
	uint64_t us = k->ts_ns / NS_PER_US;
	const char *event = p->view.event ? p->view.event : e->kind;

	str_escape_buf(out, e->key.comm, strnlen(e->key.comm, sizeof(e->key.comm)));
	buf_printf(out, " %u/%u [%03u] %llu.%06llu: %llu %s:\n", e->key.tgid, k->tid, k->cpu,
		   (unsigned long long)(us / US_PER_S), (unsigned long long)(us % US_PER_S),
		   (unsigned long long)(k->value / k->count ? k->value / k->count : 1), event);
}

static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->tid != y->tid ? (x->tid < y->tid ? -1 : 1) : (int)x->cpu - y->cpu;
}

static int write_sample(struct sink *s, struct stack_names *names, struct stack_frames *frames, const struct kept *k,
			struct buf *out)
{
	struct perf *p = s->state;
	const struct stack_entry *e = stack_set_at(p->profile.set, k->entry);
	int r = stack_names_all(names, e, &p->profile.view, frames);

	buf_reset(out);
	put_head(out, &p->profile, e, k);
	for (size_t i = 0; i < frames->len; i++)
		put_frame(out, p->profile.sym, &frames->items[i]);
	buf_add_char(out, '\n');
	/* Readers count paragraphs: repeat a sample that stands for several. */
	for (uint32_t i = 0; r >= 0 && i < k->count; i++)
		r = buf_error(out) ? buf_error(out) : outfile_record(s->out, out->data, out->len);
	return r;
}

/* Writes samples up to @until_ns; keeps the others and all stacks. */
static int write_samples(struct sink *s, uint64_t until_ns)
{
	struct perf *p = s->state;
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct stack_frames frames = { 0 };
	int r = stack_names_new(p->profile.set, p->profile.sym, &names);
	size_t n = 0;

	if (p->samples.len)
		qsort(p->samples.items, p->samples.len, sizeof(p->samples.items[0]), by_time);
	for (; r >= 0 && n < p->samples.len && p->samples.items[n].ts_ns <= until_ns; n++)
		r = write_sample(s, names, &frames, &p->samples.items[n], &out);
	vec_fini(&frames);
	p->samples.len -= n;
	if (p->samples.len)
		memmove(p->samples.items, p->samples.items + n, p->samples.len * sizeof(p->samples.items[0]));
	else
		stack_set_clear(p->profile.set);
	p->most = MAX(MAX_KEPT, 2 * p->samples.len);
	return r;
}

static int perf_event(struct sink *s, const struct event *ev)
{
	struct perf *p = s->state;
	size_t entry;

	if (sinks_profile_take(&p->profile, ev, &entry) < 0)
		return 0;
	if (vec_grow(&p->samples) < 0)
		return -ENOMEM;
	p->samples.items[p->samples.len++] = (struct kept){
		.ts_ns = ev->ts_ns, .value = stack_event_value(p->profile.set, ev), .entry = (uint32_t)entry,
		.tid = ev->tid, .count = (uint32_t)stack_event_count(p->profile.set, ev), .cpu = ev->cpu,
	};
	p->last_ns = MAX(p->last_ns, ev->ts_ns);
	return p->samples.len >= p->most ? write_samples(s, p->last_ns - MIN(p->last_ns, LATE_NS)) : 0;
}

static int perf_close(struct sink *s)
{
	struct perf *p = s->state;
	int r;

	p->profile.view.delimiter = false;
	r = write_samples(s, UINT64_MAX);
	vec_fini(&p->samples);
	sinks_profile_fini(&p->profile);
	return r;
}

const struct sink_ops perf_sink = {
	.name = "perf", .summary = "single samples, as perf script prints them", .suffix = ".perf",
	.flags = SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS, .state_size = sizeof(struct perf),
	.open = perf_open, .event = perf_event, .close = perf_close,
};
