// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A call for a terminal: a bar per side, letters for states; the causes by time; the events in order.
 */
#include "trace/trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "trace/trace_call.h"

#define BAR_NARROW 32u
#define BAR_MAX 512u
#define NAME_WIDE 26u
#define TABLE 77u	/* columns right of the bar, if wide */
#define CAUSES_SHOWN 8u
#define IN_MS_NS 10000000u /* from here on lengths of events are in ms */

const char *const trace_text_states[] = {
	[TRACE_STATE_UNKNOWN] = "unknown", [TRACE_STATE_RUNNING] = "running", [TRACE_STATE_RUNNABLE] = "runnable",
	[TRACE_STATE_SLEEPING] = "sleeping", [TRACE_STATE_DISK] = "disk", [TRACE_STATE_STOPPED] = "stopped",
	[TRACE_STATE_NETWORK] = "network", [TRACE_STATE_QUEUE] = "queue", [TRACE_STATE_PEER] = "peer", NULL,
};
_Static_assert(ARRAY_SIZE(trace_text_states) == TRACE_STATE__MAX + 1, "every state has a name");

const char *const trace_text_causes[] = {
	[TRACE_CAUSE_UNKNOWN] = "unknown", [TRACE_CAUSE_CPU] = "cpu", [TRACE_CAUSE_RUNQ] = "run queue",
	[TRACE_CAUSE_SYSCALL] = "system call", [TRACE_CAUSE_WAIT] = "wait", [TRACE_CAUSE_IDLE] = "idle",
	[TRACE_CAUSE_NETWORK] = "network", [TRACE_CAUSE_RETRANSMIT] = "retransmission",
	[TRACE_CAUSE_QUEUE] = "receive queue", [TRACE_CAUSE_PEER] = "peer", [TRACE_CAUSE_THROTTLED] = "throttled",
	[TRACE_CAUSE_STOPPED] = "stopped", [TRACE_CAUSE_LOCK] = "lock", [TRACE_CAUSE_KERNEL_LOCK] = "kernel lock",
	[TRACE_CAUSE_DISK] = "disk", [TRACE_CAUSE_FAULT] = "page fault", [TRACE_CAUSE_RECLAIM] = "memory reclaim",
	[TRACE_CAUSE_ACCEPT] = "accept queue", [TRACE_CAUSE_CONNECT] = "connect", [TRACE_CAUSE_DNS] = "DNS",
	[TRACE_CAUSE_WINDOW] = "zero window", NULL,
};
_Static_assert(ARRAY_SIZE(trace_text_causes) == TRACE_CAUSE__MAX + 1, "every cause has a name");

const char *const trace_text_by[] = {
	[TRACE_BY_NONE] = "call", [TRACE_BY_THREAD] = "thread", [TRACE_BY_PROCESS] = "process",
	[TRACE_BY_BYTES] = "bytes", NULL,
};
_Static_assert(ARRAY_SIZE(trace_text_by) == TRACE_BY__MAX + 1, "every source has a name");

const char *const trace_text_how[] = {
	[TRACE_HOW_ROOT] = "root", [TRACE_HOW_TUPLE] = "tuple", [TRACE_HOW_CALL] = "call", [TRACE_HOW_TIME] = "time",
	NULL,
};
_Static_assert(ARRAY_SIZE(trace_text_how) == TRACE_HOW__MAX + 1, "every join has a name");

const char *const trace_text_held[] = {
	[TRACE_HELD_NOT] = "", [TRACE_HELD_BACK] = "held back by the sender's TCP",
	[TRACE_HELD_ACK] = "held back until an acknowledgement", NULL,
};
_Static_assert(ARRAY_SIZE(trace_text_held) == TRACE_HELD__MAX + 1, "every reason has a name");

static const char letters[] = {
	[TRACE_STATE_UNKNOWN] = '?', [TRACE_STATE_RUNNING] = '#', [TRACE_STATE_RUNNABLE] = 'r',
	[TRACE_STATE_SLEEPING] = 's', [TRACE_STATE_DISK] = 'd', [TRACE_STATE_STOPPED] = 't',
	[TRACE_STATE_NETWORK] = 'n', [TRACE_STATE_QUEUE] = 'q', [TRACE_STATE_PEER] = 'p',
};
_Static_assert(ARRAY_SIZE(letters) == TRACE_STATE__MAX, "every state has a letter");

/* A picture and its measures. */
struct page {
	const struct trace_call *c;
	unsigned width, bar, name; /* columns */
	int digits;		   /* of a time in ms, with its decimals */
	struct buf *out;
};

static const char *text(const struct page *p, uint32_t name)
{
	return trace_fact_text(p->c->names, name);
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void escaped(struct buf *out, const char *s)
{
	str_escape_buf(out, s, strlen(s));
}

static void pad(struct buf *out, size_t since, size_t columns)
{
	while (out->len - since < columns)
		buf_add_char(out, ' ');
}

/* Cuts what was added since to @columns, then fills up to them. */
static void fit(struct buf *out, size_t since, size_t columns)
{
	if (out->len - since > columns)
		out->len = since + columns;
	pad(out, since, columns);
}

/* ---- the head ---- */

static void put_who(const struct page *p, const struct trace_fact *f)
{
	escaped(p->out, text(p, f->comm));
	buf_printf(p->out, "[%u]", f->tgid);
}

/* "client[3605] -> front[3596] -> back[3591]": each process once. */
static void put_chain(const struct page *p)
{
	for (size_t i = 0; i < p->c->n_rows; i++) {
		const struct trace_fact *f = &p->c->rows[i].call;
		bool known = false;

		for (size_t j = 0; j < i && !known; j++)
			known = p->c->rows[j].call.tgid == f->tgid && p->c->rows[j].call.start_ns == f->start_ns;
		if (known)
			continue;
		if (i)
			buf_add_str(p->out, " -> ");
		put_who(p, f);
	}
}

static void put_head(const struct page *p)
{
	const struct trace_fact *root = &p->c->rows[0].call;
	size_t since = p->out->len;

	escaped(p->out, text(p, root->of_call.method));
	buf_printf(p->out, "  %.3f ms  ", ms(p->c->end_ns - p->c->begin_ns));
	escaped(p->out, root->of_call.status  ? text(p, root->of_call.status)
			: root->of_call.error ? "failed"
					      : "-");
	buf_printf(p->out, "  %0*" PRIx64 "  ", CALL_ID_DIGITS, root->of_call.id);
	put_chain(p);
	if (p->out->len - since > p->width)
		p->out->len = since + p->width;
	buf_add_char(p->out, '\n');
}

/* ---- bars ---- */

static bool is_below(const struct trace_call *c, uint16_t row, uint16_t above)
{
	while (row != above && row)
		row = c->rows[row].parent;
	return row == above;
}

/* The state that has most of the cell; a row below it counts as network, as this row sees it. */
static char cell_of(const struct page *p, uint16_t row, uint64_t from, uint64_t to, size_t *seg)
{
	uint64_t sums[TRACE_STATE__MAX + 1] = { 0 };
	unsigned best = TRACE_STATE__MAX;

	while (*seg && p->c->segs[*seg].from_ns > from)
		(*seg)--;
	for (size_t i = *seg; i < p->c->n_segs && p->c->segs[i].from_ns < to; i++) {
		const struct trace_segment *s = &p->c->segs[i];
		uint64_t a = MAX(s->from_ns, from), b = MIN(s->to_ns, to);
		unsigned slot = s->row == row				? s->state
				: row != s->row && is_below(p->c, s->row, row) ? TRACE_STATE_NETWORK
									       : TRACE_STATE__MAX;

		*seg = i;
		sums[slot] += a < b ? b - a : 0;
	}
	for (unsigned i = 0; i < TRACE_STATE__MAX; i++)
		if (sums[i] > sums[best] || (best == TRACE_STATE__MAX && sums[i] && sums[i] == sums[best]))
			best = i;
	return best == TRACE_STATE__MAX ? '.' : letters[best];
}

static void put_bar(const struct page *p, uint16_t row)
{
	uint64_t all = p->c->end_ns - p->c->begin_ns;
	size_t seg = 0;

	buf_add_char(p->out, '|');
	for (unsigned i = 0; i < p->bar; i++) {
		uint64_t from = p->c->begin_ns + all / p->bar * i + all % p->bar * i / p->bar;
		uint64_t to = p->c->begin_ns + all / p->bar * (i + 1) + all % p->bar * (i + 1) / p->bar;

		buf_add_char(p->out, all ? cell_of(p, row, from, to, &seg) : '.');
	}
	buf_add_char(p->out, '|');
}

static void put_row_name(const struct page *p, const struct trace_row *r)
{
	size_t since = p->out->len;
	bool made = r->how == TRACE_HOW_CALL || r->how == TRACE_HOW_TIME;

	for (unsigned i = 0; i < MIN(r->depth, (uint16_t)8); i++)
		buf_add_char(p->out, ' ');
	if (made)
		buf_add_str(p->out, r->how == TRACE_HOW_TIME ? "~" : ">");
	escaped(p->out, text(p, r->call.comm));
	if (p->width >= TRACE_TEXT_WIDE)
		buf_printf(p->out, "[%u]", r->call.tgid);
	buf_add_char(p->out, ' ');
	escaped(p->out, text(p, r->call.of_call.method));
	fit(p->out, since, p->name);
}

static uint64_t row_sum(const struct trace_call *c, uint16_t row, unsigned states)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->n_segs; i++)
		if (c->segs[i].row == row && states & 1u << c->segs[i].state)
			sum += c->segs[i].to_ns - c->segs[i].from_ns;
	return sum;
}

/* The waker of the row's longest wait. */
static uint32_t waker_of(const struct trace_call *c, uint16_t row)
{
	uint64_t longest = 0;
	uint32_t waker = 0;

	each_item(s, c->segs, c->n_segs) {
		if (s->row != row || !s->waker || s->to_ns - s->from_ns <= longest)
			continue;
		longest = s->to_ns - s->from_ns;
		waker = s->waker;
	}
	return waker;
}

static const struct {
	const char *title;
	unsigned states;
} columns[] = {
	{ "onCPU", 1u << TRACE_STATE_RUNNING },
	{ "runq", 1u << TRACE_STATE_RUNNABLE },
	{ "sleep", 1u << TRACE_STATE_SLEEPING | 1u << TRACE_STATE_STOPPED },
	{ "disk", 1u << TRACE_STATE_DISK },
	{ "net-q", 1u << TRACE_STATE_NETWORK | 1u << TRACE_STATE_QUEUE },
	{ "peer", 1u << TRACE_STATE_PEER },
	{ "?", 1u << TRACE_STATE_UNKNOWN },
};

static void put_table(const struct page *p, uint16_t row)
{
	const struct trace_row *r = &p->c->rows[row];
	size_t since;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		buf_printf(p->out, " %6.3f", ms(row_sum(p->c, row, columns[i].states)));
	buf_add_str(p->out, " | ");
	since = p->out->len;
	escaped(p->out, text(p, waker_of(p->c, row)));
	fit(p->out, since, 10);
	buf_printf(p->out, " %4u %4u %3u", r->packets, r->retransmitted, r->drops);
}

static void put_ruler(const struct page *p)
{
	uint64_t all = p->c->end_ns - p->c->begin_ns;
	size_t since = p->out->len, bar;

	pad(p->out, since, p->name + 1);
	bar = p->out->len;
	for (unsigned i = 0; i < 4; i++) {
		pad(p->out, bar, (size_t)p->bar * i / 4);
		buf_printf(p->out, "%.3f", ms(all) * i / 4);
	}
	buf_add_str(p->out, " ms");
	fit(p->out, since, p->name + p->bar + 2);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		buf_printf(p->out, " %6s", columns[i].title);
	buf_add_str(p->out, " | woken by   pkts retr drop\n");
}

static void put_rows(const struct page *p)
{
	if (p->width >= TRACE_TEXT_WIDE)
		put_ruler(p);
	for (size_t i = 0; i < p->c->n_rows; i++) {
		const struct trace_row *r = &p->c->rows[i];

		put_row_name(p, r);
		if (p->width < TRACE_TEXT_WIDE)
			buf_printf(p->out, " %*.3f %*.3f ", p->digits, ms(r->call.from_ns) - ms(p->c->begin_ns),
				   p->digits, ms(r->call.ts_ns - r->call.from_ns));
		put_bar(p, (uint16_t)i);
		if (p->width >= TRACE_TEXT_WIDE)
			put_table(p, (uint16_t)i);
		buf_add_char(p->out, '\n');
	}
	buf_add_str(p->out, "# running r ready s sleep d disk n network q socket p peer ? unknown . elsewhere\n");
}

/* ---- where the time went ---- */

struct share {
	struct trace_segment seg; /* the longest */
	uint64_t ns;
};

static bool is_same_share(const struct trace_segment *a, const struct trace_segment *b)
{
	return a->row == b->row && a->cause == b->cause && a->state == b->state &&
	       a->behind == b->behind && a->held == b->held &&
	       (a->detail == b->detail || a->cause == TRACE_CAUSE_SYSCALL);
}

static int by_share(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return COMPARE(y->ns, x->ns) ?: COMPARE(x->seg.from_ns, y->seg.from_ns);
}

static size_t sum_shares(const struct trace_call *c, struct share *shares)
{
	size_t n = 0;

	each_item(s, c->segs, c->n_segs) {
		size_t j = 0;

		while (j < n && !is_same_share(&shares[j].seg, s))
			j++;
		if (j == n)
			shares[n++] = (struct share){ .seg = *s };
		shares[j].ns += s->to_ns - s->from_ns;
		if (s->to_ns - s->from_ns > shares[j].seg.to_ns - shares[j].seg.from_ns)
			shares[j].seg = *s;
	}
	qsort(shares, n, sizeof(*shares), by_share);
	return n;
}

static void put_cause(const struct page *p, const struct trace_segment *s)
{
	buf_add_str(p->out, trace_text_causes[s->cause]);
	if (s->detail) {
		buf_add_str(p->out, " ");
		escaped(p->out, text(p, s->detail));
	}
	if (s->behind) {
		buf_add_str(p->out, " behind ");
		escaped(p->out, text(p, s->behind));
	}
	if (s->waker) {
		buf_add_str(p->out, ", woken by ");
		escaped(p->out, text(p, s->waker));
	}
	if (s->waker_call) {
		buf_add_str(p->out, " serving ");
		escaped(p->out, text(p, s->waker_call));
	}
	if (s->held)
		buf_printf(p->out, ", %s", trace_text_held[s->held]);
	if (s->event)
		buf_printf(p->out, " (event %" PRIu64 ")", s->event);
}

static int put_shares(const struct page *p)
{
	_cleanup_free_ struct share *shares = calloc(p->c->n_segs + 1, sizeof(*shares));
	size_t n;

	if (!shares)
		return -ENOMEM;
	n = sum_shares(p->c, shares);
	for (size_t i = 0; i < MIN(n, (size_t)CAUSES_SHOWN); i++) {
		size_t since = p->out->len;

		buf_printf(p->out, " %*.3f %5.1f%% ", p->digits, ms(shares[i].ns),
			   100.0 * (double)shares[i].ns / (double)(p->c->end_ns - p->c->begin_ns));
		escaped(p->out, text(p, p->c->rows[shares[i].seg.row].call.comm));
		buf_add_str(p->out, ": ");
		put_cause(p, &shares[i].seg);
		if (p->out->len - since > p->width)
			p->out->len = since + p->width;
		buf_add_char(p->out, '\n');
	}
	return 0;
}

/* ---- events ---- */

static void put_flags(struct buf *out, uint8_t flags)
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG" };
	const char *comma = " ";

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(flags & 1u << i))
			continue;
		buf_printf(out, "%s%s", comma, names[i]);
		comma = ",";
	}
}

static void put_time(struct buf *out, uint64_t ns)
{
	if (ns < IN_MS_NS)
		buf_printf(out, "%.0f us", (double)ns / 1e3);
	else
		buf_printf(out, "%.1f ms", ms(ns));
}

static void put_syscall(const struct page *p, const struct trace_item *item)
{
	const struct trace_fact *f = item->fact;

	escaped(p->out, text(p, f->of_syscall.name));
	if (f->of_syscall.fd >= 0)
		buf_printf(p->out, " fd %d", f->of_syscall.fd);
	if (!f->cookie && f->of_syscall.file) {
		buf_add_char(p->out, ' ');
		escaped(p->out, text(p, f->of_syscall.file));
	}
	if (f->seq_len)
		buf_printf(p->out, " %u B", f->seq_len);
	else if (f->of_syscall.ret < 0)
		buf_printf(p->out, " = %" PRId64, f->of_syscall.ret);
	if (item->queued_ns) {
		buf_add_str(p->out, ": ");
		put_time(p->out, item->queued_ns);
		buf_add_str(p->out, " in the socket");
		if (item->runq_ns) {
			buf_add_str(p->out, " (");
			put_time(p->out, item->runq_ns);
			buf_add_str(p->out, " for a CPU)");
		}
	} else if (f->ts_ns > f->from_ns) {
		buf_add_str(p->out, "  ");
		put_time(p->out, f->ts_ns - f->from_ns);
	}
}

static void put_item(const struct page *p, const struct trace_item *item)
{
	const struct trace_fact *f = item->fact;

	buf_printf(p->out, "%*.3f ", p->digits, ms(f->from_ns) - ms(p->c->begin_ns));
	escaped(p->out, text(p, p->c->rows[item->row].call.comm));
	buf_add_char(p->out, ' ');
	if (f->kind == TRACE_FACT_SYSCALL) {
		put_syscall(p, item);
		return;
	}
	if (f->kind == TRACE_FACT_DROP) {
		buf_add_str(p->out, "drop ");
		escaped(p->out, text(p, f->of_packet.reason));
	} else {
		buf_printf(p->out, "packet%s", f->of_packet.dir == PACKET_DIR_IN    ? " in"
					       : f->of_packet.dir == PACKET_DIR_OUT ? " out"
										    : "");
	}
	buf_printf(p->out, " %u B", f->of_packet.len);
	put_flags(p->out, f->of_packet.tcp_flags);
}

/* Two events share a line where both fit. */
static void put_items(const struct page *p)
{
	size_t half = p->width / 2, line = 0, column = 0;

	for (size_t i = 0; i < p->c->n_items; i++) {
		_cleanup_(buf_fini) struct buf one = { 0 };
		const struct page item = { .c = p->c, .width = p->width, .digits = p->digits, .out = &one };

		put_item(&item, &p->c->items[i]);
		one.len = MIN(one.len, (size_t)p->width);
		if (column && (column >= half || one.len > p->width - half)) {
			buf_add_char(p->out, '\n');
			column = 0;
		}
		if (!column)
			line = p->out->len;
		else
			pad(p->out, line, half);
		buf_add(p->out, one.data, one.len);
		column = p->out->len - line >= half || column ? half : p->out->len - line;
	}
	if (column)
		buf_add_char(p->out, '\n');
}

/* ---- limits ---- */

static void put_notes(const struct page *p)
{
	const struct trace_call *c = p->c;

	for (size_t i = 0; i < c->n_rows; i++) {
		if (c->rows[i].how != TRACE_HOW_TIME)
			continue;
		buf_add_str(p->out,
			    "~ joined by containment in time: the program does not say which call it serves\n");
		break;
	}
	if (c->ambiguous)
		buf_printf(p->out, "%" PRIu64 " calls, made for this one or for others, are not shown\n",
			   c->ambiguous);
	if (c->min_wait_ns == UINT64_MAX)
		buf_add_str(p->out, "waits of threads were not recorded: sonde record --set full\n");
	if (c->evicted)
		buf_add_str(p->out, "events of its begin were evicted: --window takes more memory\n");
	if (c->ignored)
		buf_printf(p->out, "%" PRIu64 " calls or segments beyond the limit are not shown\n", c->ignored);
}

static int count_digits(uint64_t ns)
{
	int n = 5;

	for (uint64_t rest = ns / 10000000; rest; rest /= 10)
		n++;
	return MAX(n, 6);
}

int trace_text(const struct trace_call *c, unsigned width, struct buf *out)
{
	struct page p = { .c = c, .width = MAX(width, TRACE_TEXT_WIDTH_MIN), .out = out };
	int r;

	p.digits = count_digits(c->end_ns - c->begin_ns);
	if (p.width >= TRACE_TEXT_WIDE) {
		p.name = NAME_WIDE;
		p.bar = MIN(p.width - NAME_WIDE - TABLE - 2, BAR_MAX);
	} else {
		p.bar = BAR_NARROW;
		p.name = p.width - p.bar - 5 - 2 * (unsigned)p.digits;
	}
	put_head(&p);
	put_rows(&p);
	r = put_shares(&p);
	if (r < 0)
		return r;
	put_items(&p);
	put_notes(&p);
	return buf_error(out);
}
