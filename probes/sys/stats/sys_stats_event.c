// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event of a summary: one row of its table.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "probes/sys/stats/sys_stats.h"
#include "probes/sys/sys_event.h"

/* Latency that @pct percent of the calls did not exceed. */
static uint64_t percentile(const struct sys_stats_body *b, unsigned pct)
{
	uint64_t n = 0, all = 0, want;

	for (unsigned i = 0; i < SYS_STEPS; i++)
		all += b->steps[i];
	want = (all * pct + 99) / 100;
	for (unsigned i = 0; i < SYS_STEPS; i++) {
		n += b->steps[i];
		if (n && n >= want)
			return MIN(sys_stats_step_end(i), b->max_ns);
	}
	return 0;
}

enum { GET_NAME, GET_AVG, GET_P50, GET_P99, GET_WHOSE, GET_STEPS, GET_READ, GET_WRITTEN };

static int get_bytes(const struct sys_stats_body *b, const struct sys_call *call, enum sys_class class,
		     struct value *ret)
{
	return call && call->class == class && call->ret == SYS_ARG_SIZE ? value_set_uint(ret, b->bytes) : -ENOENT;
}

static int sum_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sys_stats_body *b = ev->body;
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);

	switch (f->off) {
	case GET_AVG: return value_set_ns(ret, b->calls ? b->total_ns / b->calls : 0);
	case GET_P50: return value_set_ns(ret, percentile(b, 50));
	case GET_P99: return value_set_ns(ret, percentile(b, 99));
	case GET_STEPS:
		*ret = (struct value){ .kind = VAL_BYTES, .str = (const char *)b->steps, .len = sizeof(b->steps) };
		return 0;
	case GET_READ: return get_bytes(b, call, SYS_CLASS_IO_READ, ret);
	case GET_WRITTEN: return get_bytes(b, call, SYS_CLASS_IO_WRITE, ret);
	case GET_WHOSE:
		if (!b->by || !*b->by_name)
			return -ENOENT;
		return value_set_chars(ret, b->by_name, strnlen(b->by_name, sizeof(b->by_name)));
	default: return value_set_text(ret, call ? call->name : NULL);
	}
}

/* Heading of the rows of a process or name. */
static void add_whose(const struct sys_stats_body *b, struct buf *out)
{
	size_t len = strnlen(b->by_name, sizeof(b->by_name));

	if (!len) {
		buf_add_str(out, "# all others (the table is full)\n");
		return;
	}
	buf_add_str(out, b->by == SYS_BY_PROCESS ? "# process " : "# ");
	if (b->by == SYS_BY_PROCESS)
		buf_printf(out, "%" PRIu32 " ", b->by_pid);
	str_escape_buf(out, b->by_name, len);
	buf_add_char(out, '\n');
}

/* Basis of the times, and column names. */
static void add_head(const struct sys_stats_body *b, struct buf *out)
{
	if (b->one_in > 1)
		buf_printf(out, "# counts: all calls; times: a random sample of one in %" PRIu64 " calls, "
			   "the first %" PRIu64 " of each\n# and all longer than %.0f ms (--times all: every call)\n",
			   b->one_in, b->first, (double)b->long_ns / 1e6);
	buf_printf(out, "%7s %12s %9s %9s %9s %10s %10s %9s  %s\n", "% time", "total ms", "avg us", "p50 us",
		   "p99 us", "max us", "calls", "errors", "call");
}

static int sum_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct sys_stats_body *b = ev->body;
	double share = b->all_ns ? 100.0 * (double)b->total_ns / (double)b->all_ns : 0;
	double avg = b->calls ? (double)b->total_ns / (double)b->calls / 1e3 : 0;
	char name[24];

	if (b->rank == 0 && b->by)
		add_whose(b, out);
	if (b->rank == 0)
		add_head(b, out);
	buf_printf(out, "%7.2f %12.3f %9.2f %9.2f %9.2f %10.2f", share, (double)b->total_ns / 1e6, avg,
		   (double)percentile(b, 50) / 1e3, (double)percentile(b, 99) / 1e3, (double)b->max_ns / 1e3);
	return buf_printf(out, " %10" PRIu64 " %9" PRIu64 "  %s\n", b->calls, b->errors,
			  sys_table_call_name(b->abi, b->nr, name));
}

#define ROW(member, word, kind, doc, ...) FIELD_ROW(struct sys_stats_body, member, word, kind, doc, ##__VA_ARGS__)
#define GOT(word, what, like_, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  ##__VA_ARGS__ }

static const struct field sum_fields[] = {
	GOT("syscall.name", GET_NAME, FIELD_STR, "name of the system call", .flags = FIELD_OPEN),
	GOT("syscall.by_name", GET_WHOSE, FIELD_STR, "with --by: command name of the callers", .flags = FIELD_OPEN),
	ROW(by_pid, "syscall.by_pid", FIELD_UINT, "with --by process: the caller", .flags = FIELD_OPTIONAL),
	ROW(nr, "syscall.nr", FIELD_UINT, "number in the ABI"),
	ROW(calls, "syscall.calls", FIELD_UINT, "number of returns"),
	ROW(errors, "syscall.errors", FIELD_UINT, "number of failures"),
	ROW(timed, "syscall.timed", FIELD_UINT, "calls that the times are based on"),
	ROW(total_ns, "syscall.total", FIELD_NS,
	    "total time of all callers; an estimate if a sample was timed"),
	GOT("syscall.avg", GET_AVG, FIELD_NS, "average time"),
	GOT("syscall.p50", GET_P50, FIELD_NS, "median time, up to 25 % too high"),
	GOT("syscall.p99", GET_P99, FIELD_NS, "99th percentile of the time, up to 25 % too high"),
	{ .name = "syscall.steps", .kind = FIELD_GET, .off = GET_STEPS, .flags = FIELD_SILENT | FIELD_OPEN,
	  .doc = "numbers of calls by time, 64 bits each: four steps an octave" },
	ROW(abi, "syscall.abi", FIELD_UINT, "ABI of the call", .flags = FIELD_SILENT),
	ROW(max_ns, "syscall.max", FIELD_NS, "longest timed call; long calls are always timed"),
	GOT("syscall.read", GET_READ, FIELD_UINT, "bytes that the calls read", .flags = FIELD_SILENT),
	GOT("syscall.written", GET_WRITTEN, FIELD_UINT, "bytes that they wrote", .flags = FIELD_SILENT),
};

const struct event_desc sys_stats_desc = {
	.type = SYS_REC_SUM,
	.name = "sys.sum",
	.doc = "summary of a system call",
	.class = EVENT_DATA,
	.aggregate = true,
	.table = true,
	.fields = sum_fields,
	.n_fields = ARRAY_SIZE(sum_fields),
	.body_size = sizeof(struct sys_stats_body),
	.sections = 1u << SEC_PROC,
	.get = sum_get,
	.line = sum_line,
};
