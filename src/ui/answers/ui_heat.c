// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counted in steps of a sixteenth of an octave, then joined to as many rows as were asked.
 */
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"
#include "view/view.h"
#include "view/view_fields.h"

#define STEPS 976u /* of 64 bits */

static const struct { const char *name, *type, *field; } kinds[] = {
	{ "calls", "rpc.call", "rpc.latency" }, { "syscalls", "sys.exit", "syscall.latency" },
	{ "waits", "cpu.block", "stack.value" },
};

struct heat {
	struct ui_scan scan;
	struct view view;	/* of one column: the field */
	struct view_fields fields;
	uint32_t *counts;	/* owned; [STEPS][width] */
	uint64_t step_ns, total;
	unsigned width, first, last;	/* steps with a count */
};

static unsigned step_of(uint64_t v)
{
	unsigned octave;

	if (v < 16)
		return (unsigned)v;
	octave = 63 - (unsigned)__builtin_clzll(v);
	return (octave - 3) * 16 + (unsigned)(v >> (octave - 4) & 15);
}

static uint64_t least_of(unsigned step)
{
	return step < 16 ? step : (uint64_t)(16 + step % 16) << (step / 16 - 1);
}

static void take(struct heat *h, const struct event *ev)
{
	unsigned step, at = (unsigned)((event_wall_ns(ev) - h->scan.from_ns) / h->step_ns);
	uint64_t v;

	if (h->fields.desc != ev->desc)
		view_fields_init(&h->fields, &h->view, ev->desc);
	if (!view_fields_take(&h->fields, ev) || !view_fields_number(&h->fields.cols[0], ev, &v))
		return;
	step = step_of(v);
	h->first = h->total ? MIN(h->first, step) : step;
	h->last = MAX(h->last, step);
	h->total++;
	h->counts[step * h->width + at]++;
}

static void put_counts(struct json *j, const struct heat *h, unsigned height)
{
	unsigned per = h->total ? (h->last - h->first) / height + 1 : 1;

	json_put_open(j, "rows", '[');
	for (unsigned s = h->first; h->total && s <= h->last; s += per)
		json_u64(j, least_of(s));
	json_close(j, ']');
	json_put_open(j, "counts", '[');
	for (unsigned s = h->first; h->total && s <= h->last; s += per) {
		json_open(j, '[');
		for (unsigned at = 0; at < h->width; at++) {
			uint64_t n = 0;

			for (unsigned i = s; i < s + per && i < STEPS; i++)
				n += h->counts[i * h->width + at];
			json_u64(j, n);
		}
		json_close(j, ']');
	}
	json_close(j, ']');
}

static void put_all(const struct heat *h, const struct ui_query *q, struct buf *out)
{
	struct json j = { .out = out };
	_cleanup_(buf_fini) struct buf text = { 0 };

	json_open(&j, '{');
	ui_scan_head(&h->scan, &j);
	ui_answer_put_text(&j, "field", h->view.cols[0].field);
	ui_answer_put_text(&j, "unit", "ns");
	json_put_u64(&j, "step_ns", h->step_ns);
	json_put_open(&j, "times", '[');
	for (unsigned i = 0; i < h->width; i++)
		ui_answer_put_time(&j, NULL, h->scan.from_ns + i * h->step_ns);
	json_close(&j, ']');
	put_counts(&j, h, q->height);
	json_put_open(&j, "losses", '[');
	for (unsigned i = 0; i < h->width; i++)
		json_u64(&j, ui_memory_lost(h->scan.m, h->scan.from_ns + i * h->step_ns,
					    MIN(h->scan.from_ns + (i + 1) * h->step_ns, h->scan.to_ns)));
	json_close(&j, ']');
	json_put_u64(&j, "total", h->total);
	if (!ui_memory_is_capture(h->scan.m))
		buf_printf(&text, "evt.type=%s and ", h->view.cols[0].type);
	buf_printf(&text, "%s exists", h->view.cols[0].field);
	ui_answer_put_text(&j, "q", buf_str(&text));
	json_close(&j, '}');
}

static int choose(struct heat *h, const struct ui_query *q, struct err *err)
{
	struct view_col *c = &h->view.cols[0];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, q->name))
			*c = (struct view_col){ .head = "", .name = "", .type = kinds[i].type, .op = VIEW_MAX,
						.field = q->field ? q->field : kinds[i].field };
	return c->type ? 0 : err_set(err, -ENOENT, "no such picture: calls, syscalls, waits");
}

static int answer(struct heat *h, const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct event ev;
	uint64_t span_ns;
	int r = choose(h, q, err);

	if (r >= 0)
		r = ui_scan_init(&h->scan, ctx, q, err);
	if (r < 0)
		return r;
	span_ns = h->scan.to_ns - h->scan.from_ns;
	h->step_ns = MAX((span_ns + q->width - 1) / q->width, 1ull);
	h->width = MAX((unsigned)((span_ns + h->step_ns - 1) / h->step_ns), 1u);
	h->counts = calloc((size_t)STEPS * h->width, sizeof(*h->counts));
	if (!h->counts)
		return -ENOMEM;
	while (ui_scan_next(&h->scan, &ev))
		take(h, &ev);
	put_all(h, q, &a->body);
	return 0;
}

int ui_heat_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct heat h = { 0 };
	int r = answer(&h, ctx, q, a, err);

	ui_scan_fini(&h.scan);
	free(h.counts);
	return r;
}
