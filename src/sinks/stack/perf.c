// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single samples in the format of `perf script`, which FlameGraph, speedscope and the Firefox profiler read:
 *
 *   comm pid/tid [cpu] seconds.micros: period event:
 *   \t<address> function+0xoffset (file)          innermost first
 *   <empty line>
 *
 * samples.h keeps them until their stacks have names.
 */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "sinks/outfile.h"
#include "sinks/stack/samples.h"
#include "sinks/sink.h"

#define NS_PER_US 1000
#define US_PER_S 1000000

struct perf {
	struct samples samples;
	struct sink *sink;
	struct stack_frames frames; /* of one sample */
	struct buf text;
};

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

static void put_head(struct buf *out, const struct profile *p, const struct stack_entry *e, const struct sample *k)
{
	uint64_t us = k->ts_ns / NS_PER_US;
	const char *event = p->view.event ? p->view.event : e->kind;

	str_escape_buf(out, e->key.comm, strnlen(e->key.comm, sizeof(e->key.comm)));
	buf_printf(out, " %u/%u [%03u] %llu.%06llu: %llu %s:\n", e->key.tgid, k->tid, k->cpu,
		   (unsigned long long)(us / US_PER_S), (unsigned long long)(us % US_PER_S),
		   (unsigned long long)(k->value / k->count ? k->value / k->count : 1), event);
}

static int write_sample(void *ctx, struct stack_names *names, const struct sample *k)
{
	struct perf *p = ctx;
	struct profile *profile = &p->samples.profile;
	const struct stack_entry *e = stack_set_at(profile->set, k->entry);
	int r = stack_names_all(names, e, &profile->view, &p->frames);

	buf_reset(&p->text);
	put_head(&p->text, profile, e, k);
	for (size_t i = 0; i < p->frames.len; i++)
		put_frame(&p->text, profile->sym, &p->frames.items[i]);
	buf_add_char(&p->text, '\n');
	/* Readers count paragraphs: repeat a sample that stands for several. */
	for (uint32_t i = 0; r >= 0 && i < k->count; i++)
		r = buf_error(&p->text) ? buf_error(&p->text)
					: outfile_record(p->sink->out, p->text.data, p->text.len);
	return r;
}

static int perf_open(struct sink *s, _unused_ struct err *err)
{
	struct perf *p = s->state;
	int r = samples_open(&p->samples, s->opts, write_sample, p);

	p->sink = s;
	p->samples.profile.view.delimiter = false;
	return r;
}

static int perf_event(struct sink *s, const struct event *ev)
{
	return samples_take(&((struct perf *)s->state)->samples, ev);
}

static int perf_close(struct sink *s)
{
	struct perf *p = s->state;
	int r = samples_close(&p->samples);

	vec_fini(&p->frames);
	buf_fini(&p->text);
	return r;
}

const struct sink_ops perf_sink = {
	.name = "perf", .summary = "single samples, as perf script prints them", .suffix = ".perf",
	.flags = SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS, .state_size = sizeof(struct perf),
	.open = perf_open, .event = perf_event, .close = perf_close,
};
