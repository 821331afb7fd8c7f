// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of the sys probe in the lines of perf trace 6.1:
 *
 *   MSEC ( MSEC ms): COMM/TID name(arg: value, ...)          = result
 */
#include "compat/perf/perf_calls.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/sys_event.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

#define MS 1e6
#define COLUMN 70 /* of "=", from the name of the call on */
#define COMM 14	  /* bytes that are shown */
#define STRINGS 32

struct state {
	const struct perf_calls *o;
	struct perf_sums sums;
	uint64_t first_ns; /* of the first call; 0 = none yet */
	struct buf line, call;
};

/* ---- lines ---- */

static void put_who(const struct state *st, const struct event *ev, struct buf *out)
{
	const struct sec_proc *p = event_proc(ev);
	size_t len = 0;
	const char *name = p ? event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len) : NULL;

	if (st->o->no_threads)
		return;
	if (!st->o->no_comm) {
		str_escape_buf(out, name ? name : "", MIN(len, (size_t)COMM));
		buf_add_char(out, '/');
	}
	buf_printf(out, "%u ", ev->tid);
}

static void put_head(struct state *st, const struct event *ev, uint64_t entered_ns, uint64_t took_ns, bool returned)
{
	struct buf *out = &st->line;

	st->first_ns = st->first_ns ? st->first_ns : entered_ns;
	buf_printf(out, "%10.3f (", (double)(int64_t)(entered_ns - (st->o->full_time ? 0 : st->first_ns)) / MS);
	if (returned)
		buf_printf(out, "%6.3f ms", (double)took_ns / MS);
	else
		buf_add_str(out, "         ");
	buf_add_str(out, "): ");
	put_who(st, ev, out);
}

static void put_call(struct state *st, const struct event *ev, const struct sys_body *b, bool returned)
{
	const struct sys_print_opts print = { .cap = STRINGS, .names = true, .file = event_file(ev) };
	const bool birth = returned && sys_event_is_birth(b);
	struct sys_body inner;
	const char *sub = sys_subcall(b, &inner);
	struct buf *out = &st->call;
	char name[24];

	buf_reset(out);
	if (birth)
		buf_add_str(out, " ... [continued]: ");
	buf_printf(out, "%s(", sub ? sub : sys_table_call_name(b->abi, b->nr, name));
	if (!birth)
		sys_print_args(sub ? &inner : b, !returned, &print, out);
	buf_add_char(out, ')');
	buf_printf(&st->line, "%s%*s= ", buf_str(out), out->len < COLUMN ? (int)(COLUMN - out->len) : 1, "");
	if (returned)
		sys_result_print(b, &st->line);
	else
		buf_add_char(&st->line, '?');
	buf_add_char(&st->line, '\n');
}

static int print_line(struct state *st, const struct event *ev, const struct sys_body *b, bool returned)
{
	const uint64_t took_ns = returned ? MIN(ev->ts_ns, b->latency_ns) : 0;

	buf_reset(&st->line);
	put_head(st, ev, ev->ts_ns - took_ns, took_ns, returned);
	put_call(st, ev, b, returned);
	return buf_error(&st->line) ? buf_error(&st->line) : outfile_record(st->o->out, st->line.data, st->line.len);
}

/* ---- the sink ---- */

/* A call that never returns has no duration and no result to select by. */
static bool is_selected(const struct perf_calls *o, const struct event *ev, const struct sys_body *b, bool returned)
{
	if (o->only && *o->only && ev->tgid != *o->only)
		return false;
	if (!returned)
		return sys_body_never_returns(b) && !o->failed && !o->min_ns;
	return (!o->failed || sys_failed(b->ret)) && b->latency_ns >= o->min_ns;
}

static int calls_open(struct sink *s, _unused_ struct err *err)
{
	struct state *st = s->state;

	st->o = s->opts->ctx;
	perf_sums_init(&st->sums);
	return 0;
}

static int calls_event(struct sink *s, const struct event *ev)
{
	const bool is_call = ev->desc == &sys_exit_desc || ev->desc == &sys_enter_desc;
	const struct sys_body *b = is_call ? sys_body_of(ev) : NULL;
	struct state *st = s->state;
	bool returned;
	int r = 0;

	if (!b)
		return 0;
	returned = !sys_body_is_entry(ev);
	if (!is_selected(st->o, ev, b, returned))
		return 0;
	if (st->o->summary && !(returned && sys_event_is_birth(b)))
		r = perf_sums_add(&st->sums, ev, b, returned);
	if (r >= 0 && !st->o->no_lines)
		r = print_line(st, ev, b, returned);
	return r;
}

static int calls_flush(struct sink *s)
{
	return outfile_flush(((struct state *)s->state)->o->out);
}

static int calls_close(struct sink *s)
{
	struct state *st = s->state;
	int r = 0;

	buf_reset(&st->line);
	if (st->o->summary)
		r = perf_sums_put(&st->sums, st->o->errnos, &st->line);
	if (r >= 0 && st->line.len)
		r = outfile_record(st->o->out, st->line.data, st->line.len);
	if (r >= 0)
		r = outfile_flush(st->o->out);
	perf_sums_fini(&st->sums);
	buf_fini(&st->line);
	buf_fini(&st->call);
	return r;
}

const struct sink_ops perf_calls_sink = {
	.name = "perf-calls",
	.summary = "lines of perf trace",
	.shows = "calls",
	.state_size = sizeof(struct state),
	.open = calls_open,
	.event = calls_event,
	.flush = calls_flush,
	.close = calls_close,
};
