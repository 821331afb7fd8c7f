// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first lines of the screen: the run, and the host as a whole. Both are rows of parts; what does not fit is left
 * out whole.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "cmd/screen.h"
#include "cmd/top/top_state.h"
#include "event/core.h"
#include "pipeline/pipeline.h"
#include "view/view_fold.h"
#include "view/view_text.h"

#define PARTS_MAX 10u
#define GAP 2u

struct part {
	unsigned priority; /* the lowest is left out first */
	struct buf text;
};

struct parts {
	struct part items[PARTS_MAX];
	size_t len;
};

__attribute__((format(printf, 3, 4))) static void add(struct parts *p, unsigned priority, const char *fmt, ...)
{
	struct part *part = &p->items[p->len++];
	va_list ap;
	char text[160];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	part->priority = priority;
	buf_add_str(&part->text, text);
}

static size_t used(const struct parts *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->len; i++)
		n += p->items[i].priority ? p->items[i].text.len + (n ? GAP : 0) : 0;
	return n;
}

static void leave_out(struct parts *p, unsigned width)
{
	while (used(p) > width) {
		struct part *least = NULL;

		for (size_t i = 0; i < p->len; i++)
			if (p->items[i].priority && (!least || p->items[i].priority < least->priority))
				least = &p->items[i];
		if (!least)
			return;
		least->priority = 0;
	}
}

/* @last_right: the last part stands at the right end. */
static void put(struct parts *p, char look, unsigned width, bool last_right, struct buf *out)
{
	_cleanup_(buf_fini) struct buf line = { 0 };

	leave_out(p, width);
	for (size_t i = 0; i < p->len; i++) {
		struct part *part = &p->items[i];
		const bool at_end = last_right && i + 1 == p->len;
		size_t to = at_end ? width - MIN(part->text.len, (size_t)width) : line.len + GAP;

		if (part->priority && line.len)
			while (line.len < to)
				buf_add_char(&line, ' ');
		if (part->priority)
			buf_add(&line, part->text.data, part->text.len);
		buf_fini(&part->text);
	}
	buf_add_char(out, look);
	view_text_cut(buf_str(&line), width, false, out);
	buf_add_char(out, '\0');
}

/* ---- the run ---- */

static uint64_t lost(const struct top *t)
{
	struct sonde_ledger l = { 0 };
	uint64_t n = 0;

	if (t->pipeline)
		pipeline_ledger(t->pipeline, &l);
	for (unsigned i = 0; i < SONDE_LOST__MAX; i++)
		n += l.lost[i];
	return n;
}

static void add_clock(const struct top *t, struct parts *p)
{
	uint64_t ns = t->replays && t->until_ns ? t->until_ns : t->last_ns;
	time_t at = (time_t)((int64_t)ns + t->clock_offset_ns) / (time_t)NS_PER_S;
	char text[16] = "";
	struct tm tm;

	if (t->clock_offset_ns && localtime_r(&at, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	if (*text)
		add(p, 2, "%s", text);
}

static void add_host(const struct top *t, struct parts *p)
{
	const struct core_host *h = t->pipeline ? pipeline_host(t->pipeline) : NULL;
	double load;

	if (h && *h->hostname)
		add(p, 6, "%.*s", (int)sizeof(h->hostname), h->hostname);
	if (h && h->n_cpus)
		add(p, 3, "%u cpu", h->n_cpus);
	if (!t->replays && getloadavg(&load, 1) == 1)
		add(p, 4, "load %.2f", load);
}

const char *top_head_state(const struct top *t)
{
	if (t->paused)
		return "paused";
	return !t->replays ? "live" : t->until_ns ? "playing" : "recording";
}

void top_head_title(struct top *t, unsigned width, struct buf *out)
{
	struct parts p = { 0 };
	uint64_t n = lost(t);

	add(&p, 9, "%s", t->o.command);
	add_host(t, &p);
	if (top_shows_totals(t))
		add(&p, 5, "totals");
	else
		add(&p, 5, "every %.3g s", (double)t->step_ns / 1e9);
	if (t->o.spaces)
		add(&p, 1, "%s", t->o.spaces);
	add(&p, 8, "lost %llu", (unsigned long long)n);
	add_clock(t, &p);
	put(&p, n ? SCREEN_ALERT : SCREEN_BOLD, width, t->clock_offset_ns, out);
}

/* ---- the host ---- */

static const struct {
	const char *col, *label;
	bool is_share;
	unsigned priority;
} of_host[] = {
	{ "CPU%", "cpu", true, 9 },    { "WAIT%", "wait", true, 7 }, { "RX", "rx", false, 6 },
	{ "TX", "tx", false, 6 },      { "RPC", "calls", false, 4 }, { "RPCERR", "errors", false, 5 },
	{ "DROP", "drops", false, 8 },
};

/* Shares are of the time of all CPUs. */
static void add_value(const struct top *t, size_t i, struct parts *p)
{
	const struct core_host *h = t->pipeline ? pipeline_host(t->pipeline) : NULL;
	const struct view *v = view_find("host");
	const size_t col = view_col_index(v, of_host[i].col);
	const double span = (double)(t->host_rows.to_ns - t->host_rows.from_ns);
	double value = t->host_rows.len ? (double)t->host_rows.items[0].values[col] : 0;
	_cleanup_(buf_fini) struct buf text = { 0 };
	const bool is_share = of_host[i].is_share;

	if (!top_fold_has(t, v, &v->cols[col]) || span <= 0 || (is_share && (!h || !h->n_cpus))) {
		add(p, of_host[i].priority, "%s -", of_host[i].label);
		return;
	}
	value = is_share ? 100 * value / span / h->n_cpus : value * 1e9 / span;
	view_text_number(is_share ? VIEW_PERCENT : VIEW_NUMBER, value, &text);
	add(p, of_host[i].priority, "%s %s%s", of_host[i].label, buf_str(&text), is_share ? "%" : "/s");
}

void top_head_host(struct top *t, unsigned width, struct buf *out)
{
	struct parts p = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(of_host); i++)
		add_value(t, i, &p);
	put(&p, SCREEN_PLAIN, width, false, out);
}
