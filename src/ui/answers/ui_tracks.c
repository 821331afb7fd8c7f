// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A wait has a length and ends at its event; in its last part the thread was ready to run. A sample is a moment,
 * shown for the length of its period. Everything else is not known.
 */
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"
#include "view/view.h"
#include "view/view_fields.h"

#define THREADS_MAX 512u
#define STATES_MAX 64u
#define STATE_TEXT 32u
#define LATER_NS (60 * NS_PER_S) /* a wait of the range may end behind it */
#define SLICES_MAX 200000u /* of all threads, before they are merged */

enum { STATE_RUNNABLE, STATE_SAMPLED, STATES_FIXED };

struct slice {
	uint64_t from_ns, to_ns; /* wall clock */
	uint32_t state, count;
};

struct thread {
	uint32_t tid;
	char name[STATE_TEXT];
	VEC(struct slice) slices;
};

struct tracks {
	struct ui_scan scan;
	uint32_t pid;
	struct view view;	/* its columns read the fields */
	struct view_fields fields;
	VEC(struct thread) threads;
	struct map by_tid;	/* u32 -> u32 */
	char states[STATES_MAX][STATE_TEXT];
	uint32_t n_states;
	uint64_t n_slices;
	bool cut;
};

enum { F_VALUE, F_WAIT, F_KIND };

static const struct view fields = {
	.keys = { { .head = "", .field = "block.kind" } },
	.cols = { [F_VALUE] = { .head = "", .type = "cpu.block", .op = VIEW_SUM, .field = "stack.value" },
		  [F_WAIT] = { .head = "", .type = "cpu.block", .op = VIEW_SUM, .field = "stack.wait" },
		  [F_KIND] = { .head = "", .type = "cpu.sample", .op = VIEW_SUM, .field = "stack.value" } },
};

static uint32_t state_of(struct tracks *t, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct value v;
	uint32_t i = STATES_FIXED;

	view_fields_get(&t->fields, &t->fields.keys[0], ev, &v);
	value_text(&v, &text);
	if (!text.len)
		buf_add_str(&text, "(unknown)");
	text.len = MIN(text.len, (size_t)STATE_TEXT - 1);
	while (i < t->n_states && strcmp(t->states[i], buf_str(&text)) != 0)
		i++;
	if (i == STATES_MAX)
		return STATES_MAX - 1;
	if (i == t->n_states)
		memcpy(t->states[t->n_states++], buf_str(&text), text.len + 1);
	return i;
}

static struct thread *thread_of(struct tracks *t, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	bool is_new;
	uint32_t *at = map_add(&t->by_tid, &ev->tid, &is_new);
	struct thread *th;
	size_t len;
	const char *s;

	if (!at || (is_new && vec_grow(&t->threads) < 0))
		return NULL;
	if (!is_new)
		return &t->threads.items[*at];
	*at = (uint32_t)t->threads.len;
	th = &t->threads.items[t->threads.len++];
	*th = (struct thread){ .tid = ev->tid };
	s = p ? event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len) : NULL;
	if (s)
		memcpy(th->name, s, MIN(len, sizeof(th->name) - 1));
	return th;
}

static int add(struct tracks *t, struct thread *th, uint64_t from_ns, uint64_t to_ns, uint32_t state)
{
	from_ns = MAX(from_ns, t->scan.from_ns);
	to_ns = MIN(to_ns, t->scan.to_ns);
	if (from_ns >= to_ns)
		return 0;
	if (t->n_slices == SLICES_MAX) {
		t->cut = true;
		return 0;
	}
	if (vec_grow(&th->slices) < 0)
		return -ENOMEM;
	t->n_slices++;
	th->slices.items[th->slices.len++] =
		(struct slice){ .from_ns = from_ns, .to_ns = to_ns, .state = state, .count = 1 };
	return 0;
}

static int take(struct tracks *t, const struct event *ev)
{
	const uint64_t end_ns = event_wall_ns(ev);
	uint64_t value, wait = 0;
	struct thread *th;
	int r;

	if (t->fields.desc != ev->desc)
		view_fields_init(&t->fields, &t->view, ev->desc);
	if (ev->tgid != t->pid || !view_fields_take(&t->fields, ev) ||
	    !view_fields_number(&t->fields.cols[F_VALUE], ev, &value))
		return 0;
	th = thread_of(t, ev);
	if (!th)
		return -ENOMEM;
	value = MIN(value, end_ns);
	if (view_fields_has_col(&t->fields, F_KIND))
		return add(t, th, end_ns - value, end_ns, STATE_SAMPLED);
	view_fields_number(&t->fields.cols[F_WAIT], ev, &wait);
	wait = MIN(wait, value);
	r = add(t, th, end_ns - value, end_ns - wait, state_of(t, ev));
	return r < 0 ? r : add(t, th, end_ns - wait, end_ns, STATE_RUNNABLE);
}

/* ---- writing ---- */

static int by_slices(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return COMPARE(y->slices.len, x->slices.len) ?: COMPARE(x->tid, y->tid);
}

static void put_slice(struct json *j, const struct tracks *t, const struct slice *s)
{
	json_open(j, '[');
	json_u64(j, s->from_ns - t->scan.from_ns);
	json_u64(j, s->to_ns - s->from_ns);
	json_u64(j, s->state);
	json_u64(j, s->count);
	json_close(j, ']');
}

/* Neighbours shorter than a pixel become one slice, with the state of the longest. */
static void put_slices(struct json *j, const struct tracks *t, struct thread *th, uint64_t pixel_ns)
{
	struct slice run = { 0 };
	uint64_t longest_ns = 0;

	vec_sort(&th->slices, vec_by_u64);
	vec_each(s, &th->slices) {
		uint64_t len_ns = s->to_ns - s->from_ns;
		bool joins = run.count && len_ns < pixel_ns && s->to_ns <= run.from_ns + pixel_ns;

		if (!joins && run.count)
			put_slice(j, t, &run);
		if (!joins) {
			run = *s;
			longest_ns = len_ns;
			continue;
		}
		run.state = len_ns > longest_ns ? s->state : run.state;
		longest_ns = MAX(longest_ns, len_ns);
		run.to_ns = MAX(run.to_ns, s->to_ns);
		run.count++;
	}
	if (run.count)
		put_slice(j, t, &run);
}

static void put_loss(struct json *j, uint64_t offset_ns, uint64_t n)
{
	if (!n)
		return;
	json_open(j, '[');
	json_u64(j, offset_ns);
	json_u64(j, n);
	json_close(j, ']');
}

/* Losses within a pixel are one entry, at its left edge. */
static void put_losses(struct json *j, const struct tracks *t, uint64_t pixel_ns)
{
	uint64_t at_ns = 0, n = 0;

	json_put_open(j, "losses", '[');
	vec_each(l, &t->scan.m->losses) {
		uint64_t offset_ns = l->ns - t->scan.from_ns;

		if (l->ns < t->scan.from_ns || l->ns >= t->scan.to_ns)
			continue;
		offset_ns -= offset_ns % MAX(pixel_ns, 1ull);
		if (offset_ns != at_ns) {
			put_loss(j, at_ns, n);
			at_ns = offset_ns;
			n = 0;
		}
		n += l->count;
	}
	put_loss(j, at_ns, n);
	json_close(j, ']');
}

static void put_all(struct tracks *t, uint32_t px, struct buf *out)
{
	struct json j = { .out = out };
	uint64_t pixel_ns = (t->scan.to_ns - t->scan.from_ns) / px;

	json_open(&j, '{');
	ui_scan_head(&t->scan, &j);
	json_put_u64(&j, "pid", t->pid);
	json_put_u64(&j, "n_threads", t->threads.len);
	if (t->cut)
		json_put_bool(&j, "cut", true);
	json_put_open(&j, "threads", '[');
	each_item(th, t->threads.items, MIN(t->threads.len, (size_t)THREADS_MAX)) {
		json_open(&j, '{');
		json_put_u64(&j, "tid", th->tid);
		ui_answer_put_text(&j, "name", th->name);
		json_put_open(&j, "slices", '[');
		put_slices(&j, t, th, pixel_ns);
		json_close(&j, ']');
		json_close(&j, '}');
	}
	json_close(&j, ']');
	put_losses(&j, t, pixel_ns);
	json_put_open(&j, "states", '[');
	for (uint32_t i = 0; i < t->n_states; i++)
		ui_answer_put_string(&j, t->states[i], strlen(t->states[i]));
	json_close(&j, ']');
	json_close(&j, '}');
}

static void fini(struct tracks *t)
{
	for (size_t i = 0; i < t->threads.len; i++)
		vec_fini(&t->threads.items[i].slices);
	vec_fini(&t->threads);
	map_fini(&t->by_tid);
	ui_scan_fini(&t->scan);
}

int ui_tracks_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct tracks *t = calloc(1, sizeof(*t));
	struct event ev;
	int r;

	if (!t)
		return -ENOMEM;
	t->pid = q->pid;
	t->view = fields;
	t->n_states = STATES_FIXED;
	strcpy(t->states[STATE_RUNNABLE], "runnable");
	strcpy(t->states[STATE_SAMPLED], "sampled");
	map_init(&t->by_tid, sizeof(uint32_t), sizeof(uint32_t));
	r = ui_scan_init(&t->scan, ctx, q, err);
	ui_scan_range(&t->scan, t->scan.from_ns, t->scan.to_ns + MIN(LATER_NS, UINT64_MAX - t->scan.to_ns));
	while (r >= 0 && ui_scan_next(&t->scan, &ev))
		r = take(t, &ev);
	if (r >= 0) {
		vec_sort(&t->threads, by_slices);
		put_all(t, q->px, &a->body);
	}
	fini(t);
	free(t);
	return r;
}
