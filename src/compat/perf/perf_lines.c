// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sample with a call chain is a paragraph, one without a line (perf script of perf 6.1):
 *
 *   COMM     TID [CPU]  SECONDS.MICROS:     PERIOD EVENT:
 *   \t         ADDRESS function+0xOFFSET (FILE)           innermost first
 *
 *             COMM     TID [CPU]  SECONDS.MICROS:     PERIOD EVENT:           ADDRESS function+0xOFFSET (FILE)
 *
 * A recording has no call chains if no sample has more than a frame of each kind.
 */
#include "compat/perf/perf_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "compat/perf/perf_frame.h"
#include "compat/perf/perf_header.h"
#include "compat/perf/perf_input.h"
#include "compat/perf/perf_select.h"
#include "event/event.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sinks/stack/samples.h"

#define TIME_WIDTH 12

/* ---- -F ---- */

static const struct {
	const char *name;
	unsigned field;
} fields[] = {
	{ "comm", PERF_FIELD_COMM }, { "tid", PERF_FIELD_TID },	      { "pid", PERF_FIELD_PID },
	{ "time", PERF_FIELD_TIME }, { "cpu", PERF_FIELD_CPU },	      { "event", PERF_FIELD_EVENT },
	{ "ip", PERF_FIELD_IP },     { "sym", PERF_FIELD_SYM },	      { "symoff", PERF_FIELD_SYMOFF },
	{ "dso", PERF_FIELD_DSO },   { "period", PERF_FIELD_PERIOD }, { "srcline", PERF_FIELD_SRCLINE },
};

unsigned perf_lines_default(void)
{
	return PERF_FIELD_COMM | PERF_FIELD_TID | PERF_FIELD_CPU | PERF_FIELD_TIME | PERF_FIELD_EVENT |
	       PERF_FIELD_IP | PERF_FIELD_SYM | PERF_FIELD_SYMOFF | PERF_FIELD_DSO | PERF_FIELD_PERIOD;
}

static unsigned field_named(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, word, len))
			return fields[i].field;
	return 0;
}

/* Does the list apply to samples? "trace:" and others name events that no recording of samples has. */
static bool is_of_samples(const char **text)
{
	const char *colon = strchr(*text, ':');
	const char *type = *text;
	size_t len = colon ? (size_t)(colon - type) : 0;

	*text = colon ? colon + 1 : *text;
	return !colon || (len == 2 && (!memcmp(type, "sw", 2) || !memcmp(type, "hw", 2)));
}

int perf_lines_fields(const char *text, unsigned *ret, struct err *err)
{
	bool applies = is_of_samples(&text), changes = *text == '+' || *text == '-';
	unsigned set = changes ? *ret : 0;
	const char *word;
	size_t len;

	while ((word = str_next_word(&text, &len))) {
		const char sign = len ? *word : 0;
		bool has_sign = sign == '+' || sign == '-';
		unsigned field = field_named(word + has_sign, len - has_sign);

		if (has_sign != changes)
			return err_set(err, -EINVAL, "-F: either fields, or +FIELD and -FIELD");
		if (!field)
			return err_set(err, -EINVAL,
				       "-F %.*s is not supported: samples have comm, tid, pid, time, cpu, "
				       "event, ip, sym, symoff, dso, period and srcline (sonde profile -o json has "
				       "all)",
				       (int)len, word);
		set = sign == '-' ? set & ~field : set | field;
	}
	if (!set)
		return err_set(err, -EINVAL, "-F: expected at least one field");
	*ret = applies ? set : *ret;
	return 0;
}

/* ---- the sink ---- */

struct state {
	struct samples samples;
	struct sink *sink;
	const struct perf_lines *o;
	const char *event;
	bool has_chains, has_header;
	uint64_t first_ns, last_ns; /* of samples that were written; 0 = none */
	struct stack_frames frames;
	struct buf text;
};

static void put_time(struct state *st, uint64_t ts_ns)
{
	uint64_t t = ts_ns;
	char text[48];
	int len;

	if (st->o->reltime)
		t -= st->first_ns;
	else if (st->o->deltatime)
		t -= st->last_ns ? st->last_ns : t;
	st->last_ns = ts_ns;
	len = snprintf(text, sizeof(text), st->o->ns ? "%llu.%09llu" : "%llu.%06llu", t / NS_PER_S,
		       t % NS_PER_S / (st->o->ns ? 1 : 1000));
	buf_printf(&st->text, "%*s%s: ", len < TIME_WIDTH ? TIME_WIDTH - len : 0, "", text);
}

static void put_who(struct state *st, const struct stack_entry *e, const struct sample *k, bool chain)
{
	unsigned f = st->o->fields;
	char comm[64];

	if (f & PERF_FIELD_COMM) {
		str_escape(comm, sizeof(comm), e->key.comm, strnlen(e->key.comm, sizeof(e->key.comm)));
		buf_printf(&st->text, chain ? "%s " : "%16s ", comm);
	}
	if (f & PERF_FIELD_PID && f & PERF_FIELD_TID)
		buf_printf(&st->text, "%5u/%-5u ", e->key.tgid, k->tid);
	else if (f & (PERF_FIELD_PID | PERF_FIELD_TID))
		buf_printf(&st->text, "%5u ", f & PERF_FIELD_PID ? e->key.tgid : k->tid);
}

static void put_head(struct state *st, const struct stack_entry *e, const struct sample *k, bool chain)
{
	unsigned f = st->o->fields;

	put_who(st, e, k, chain);
	if (f & PERF_FIELD_CPU)
		buf_printf(&st->text, "[%03u] ", k->cpu);
	if (f & PERF_FIELD_TIME)
		put_time(st, k->ts_ns);
	if (f & PERF_FIELD_PERIOD)
		buf_printf(&st->text, "%10" PRIu64 " ", k->value / k->count ? k->value / k->count : 1);
	if (f & PERF_FIELD_EVENT)
		buf_printf(&st->text, "%s: ", st->event && !strcmp(e->kind, "cpu.sample") ? st->event : e->kind);
}

static void put_frame(struct state *st, const struct stack_frame *f, bool chain)
{
	unsigned shown = st->o->fields;

	if (chain)
		buf_add_char(&st->text, '\t');
	buf_printf(&st->text, "%16" PRIx64, f->ip);
	if (shown & PERF_FIELD_SYM) {
		buf_add_char(&st->text, ' ');
		str_escape_buf(&st->text, f->name, strlen(f->name));
		if (shown & PERF_FIELD_SYMOFF && f->func && *f->func->name && !f->inlined)
			buf_printf(&st->text, "+0x%" PRIx64, stack_names_frame_offset(f));
	}
	if (shown & PERF_FIELD_DSO) {
		buf_add_str(&st->text, " (");
		perf_frame_dso(st->samples.profile.sym, f, &st->text);
		buf_add_char(&st->text, ')');
	}
	if (shown & PERF_FIELD_SRCLINE && f->func && *f->func->file)
		buf_printf(&st->text, "\n  %s:%u", f->func->file, f->func->line);
	if (chain)
		buf_add_char(&st->text, '\n');
}

static void put_frames(struct state *st, const struct stack_frames *frames, bool chain)
{
	size_t n = st->o->max_stack && st->o->max_stack < frames->len ? st->o->max_stack : frames->len;

	buf_add_char(&st->text, chain ? '\n' : ' ');
	for (size_t i = 0; i < (chain ? n : MIN(n, (size_t)1)); i++) {
		const char *name = frames->items[i].name;

		put_frame(st, &frames->items[i], chain);
		if (perf_select_has(&st->o->stop, name, strlen(name)))
			break;
	}
	buf_add_char(&st->text, '\n');
}

/* --symbols and --dsos are about the innermost frame. */
static bool is_selected(const struct state *st)
{
	const struct stack_frame *f = st->frames.len ? &st->frames.items[0] : NULL;

	return perf_frame_selected(st->samples.profile.sym, f, &st->o->symbols, &st->o->dsos);
}

/* In front of the first sample, when the host is known. */
static int write_header(struct sink *s)
{
	struct state *st = s->state;

	if (!st->o->header || st->has_header)
		return 0;
	st->has_header = true;
	buf_reset(&st->text);
	perf_header_put(s->opts->host, st->o->file, &st->text);
	return buf_error(&st->text) ? buf_error(&st->text) : outfile_record(st->o->out, st->text.data, st->text.len);
}

static int write_sample(void *ctx, struct stack_names *names, const struct sample *k)
{
	struct state *st = ctx;
	struct profile *p = &st->samples.profile;
	const struct stack_entry *e = stack_set_at(p->set, k->entry);
	bool chain = st->has_chains && !st->o->no_chain && (st->o->fields & PERF_FIELD_IP);
	int r = write_header(st->sink);

	if (r >= 0)
		r = stack_names_all(names, e, &p->view, &st->frames);
	if (r < 0 || !is_selected(st))
		return r;
	st->first_ns = st->first_ns ? st->first_ns : k->ts_ns;
	buf_reset(&st->text);
	put_head(st, e, k, chain);
	if (st->o->fields & PERF_FIELD_IP)
		put_frames(st, &st->frames, chain);
	else
		buf_add_char(&st->text, '\n');
	/* readers count paragraphs: repeat a sample that stands for several */
	for (uint32_t i = 0; r >= 0 && i < k->count; i++)
		r = buf_error(&st->text) ? buf_error(&st->text)
					 : outfile_record(st->o->out, st->text.data, st->text.len);
	return r;
}

static int lines_open(struct sink *s, _unused_ struct err *err)
{
	struct state *st = s->state;

	st->sink = s;
	st->o = s->opts->ctx;
	return samples_open(&st->samples, s->opts, write_sample, st);
}

static int lines_event(struct sink *s, const struct event *ev)
{
	struct state *st = s->state;

	if (st->o->header_only)
		return 0;
	if (ev->desc->class == EVENT_DATA) {
		st->event = perf_input_event(ev, st->event);
		st->has_chains = st->has_chains || perf_frame_is_chain(ev);
	}
	return samples_take(&st->samples, ev);
}

static int lines_close(struct sink *s)
{
	struct state *st = s->state;
	int r = write_header(s), flushed;

	flushed = samples_close(&st->samples);
	r = r < 0 ? r : flushed;
	flushed = outfile_flush(st->o->out);
	vec_fini(&st->frames);
	buf_fini(&st->text);
	return r < 0 ? r : flushed;
}

const struct sink_ops perf_lines_sink = {
	.name = "perf-lines",
	.summary = "lines of perf script",
	.flags = SINK_AT_CLOSE,
	.shows = SINK_SHOWS_STACKS,
	.state_size = sizeof(struct state),
	.open = lines_open,
	.event = lines_event,
	.close = lines_close,
};
