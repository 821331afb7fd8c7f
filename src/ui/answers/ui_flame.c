// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks are counted exactly (src/stack), named in one batch, then joined to a tree. A group by operation is a set of
 * stacks of its own; processes and containers are known from the counted stacks.
 */
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "event/names.h"
#include "stack/stack.h"
#include "stack/view.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"
#include "ui/answers/ui_tree.h"

#define SET_BYTES (16u << 20)
#define OPERATIONS_MAX 64u /* then (other) */
#define UNKNOWN "(unknown)"

struct operation {
	char *name;	/* owned; escaped; NULL: of stacks that are not grouped by operation */
	const struct names *host;
	struct sym *sym;
	struct stack_set *set;
};

struct flame {
	struct ui_scan scan;
	const struct ui_query *q;
	enum stack_weight weight;
	VEC(struct operation) operations;
	VEC(struct ui_tree_frame) frames;	/* of one stack */
	struct ui_tree tree;
	uint64_t samples;
};

/* ---- counting ---- */

static bool is_chosen(const struct flame *f, const struct event *ev)
{
	if (!strcmp(ev->desc->name, "cpu.block"))
		return f->q->mode != UI_MODE_ON;
	return !strcmp(ev->desc->name, "cpu.sample") && f->q->mode != UI_MODE_OFF;
}

static int operation_text(const struct event *ev, struct buf *out)
{
	const struct section *s = event_section(ev, SEC_CALL);
	const struct sec_call *c = s && s->len >= sizeof(*c) ? s->data : NULL;
	const struct sec_str *m = c ? &c->method : NULL;

	if (m && m->len && m->off <= s->len - sizeof(*c) && m->len <= s->len - sizeof(*c) - m->off)
		str_escape_buf(out, (const char *)(c + 1) + m->off, m->len);
	else
		buf_add_str(out, UNKNOWN);
	return buf_error(out);
}

static struct operation *operation_add(struct flame *f, const char *name, const struct event *ev)
{
	const struct stack_set_opts opts = { .budget_bytes = SET_BYTES };
	struct operation o = { .name = strdup(name), .host = ev->names, .sym = ui_memory_sym(f->scan.m, ev) };

	if (!o.name || vec_grow(&f->operations) < 0 || stack_set_new(o.sym, &opts, &o.set) < 0) {
		free(o.name);
		return NULL;
	}
	f->operations.items[f->operations.len] = o;
	return &f->operations.items[f->operations.len++];
}

/* NULL without memory. */
static struct operation *operation_of(struct flame *f, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const char *name;

	if (f->q->by == UI_BY_OPERATION && operation_text(ev, &text) < 0)
		return NULL;
	name = f->operations.len + 1 >= OPERATIONS_MAX ? "(other)" : buf_str(&text);
	vec_each(o, &f->operations) {
		if (o->host == ev->names && (!strcmp(o->name, buf_str(&text)) || !strcmp(o->name, name)))
			return o;
	}
	return operation_add(f, name, ev);
}

static int count(struct flame *f, bool now)
{
	struct event ev;
	int r = 0;

	while (r >= 0 && ui_scan_next(&f->scan, &ev)) {
		struct operation *o = is_chosen(f, &ev) ? operation_of(f, &ev) : NULL;
		size_t at;

		if (!o)
			continue;
		f->samples += now;
		r = stack_set_put(o->set, &ev, &at);
		r = r == -ENOMEM ? r : 0;
	}
	return r;
}

static void forget(struct flame *f)
{
	for (size_t i = 0; i < f->operations.len; i++) {
		free(f->operations.items[i].name);
		stack_set_free(f->operations.items[i].set);
	}
	f->operations.len = 0;
}

/* ---- names ---- */

static int add_frame(struct flame *f, const char *name, unsigned part)
{
	return vec_push(&f->frames, (struct ui_tree_frame){ .name = name, .part = part });
}

/* Innermost first, as they come. */
static int take_frames(struct flame *f, const struct stack_line *line, const struct stack_frames *frames)
{
	static const unsigned parts[] = { [STACK_PART_USER] = 1, [STACK_PART_KERN] = 2, [STACK_PART_NOTE] = 3 };
	int r = line->state ? add_frame(f, line->state, 3) : 0;

	_Static_assert(ARRAY_SIZE(parts) == STACK_PART__MAX, "a number per part");
	f->frames.len = line->state ? f->frames.len : 0;
	for (size_t i = 0; r >= 0 && i < frames->len; i++)
		r = add_frame(f, frames->items[i].name, parts[frames->items[i].part]);
	return r;
}

static void reverse(struct flame *f)
{
	for (size_t i = 0; i < f->frames.len / 2; i++) {
		struct ui_tree_frame t = f->frames.items[i];

		f->frames.items[i] = f->frames.items[f->frames.len - 1 - i];
		f->frames.items[f->frames.len - 1 - i] = t;
	}
}

/* From the first frame with the name on. False if there is none. */
static bool focus(struct flame *f, const char *name)
{
	for (size_t i = 0; name && i < f->frames.len; i++)
		if (!strcmp(f->frames.items[i].name, name)) {
			f->frames.len -= i;
			memmove(f->frames.items, f->frames.items + i, f->frames.len * sizeof(*f->frames.items));
			return true;
		}
	return !name;
}

static int put_group(struct flame *f, const struct operation *o, const struct stack_entry *e, struct buf *text)
{
	buf_reset(text);
	switch ((enum ui_by)f->q->by) {
	case UI_BY_NONE:
	case UI_BY__MAX:
		return 0;
	case UI_BY_PROCESS:
		str_escape_buf(text, e->key.comm, strnlen(e->key.comm, sizeof(e->key.comm)));
		buf_printf(text, "[%u]", e->key.tgid);
		break;
	case UI_BY_CONTAINER:
		buf_add_str(text, *e->container ? e->container : "(no container)");
		break;
	case UI_BY_OPERATION:
		buf_add_str(text, o->name);
		break;
	case UI_BY_HOST:
		str_escape_buf(text, event_names_host(o->host), strlen(event_names_host(o->host)));
		break;
	}
	if (vec_grow(&f->frames) < 0 || !*buf_str(text))
		return -ENOMEM;
	memmove(f->frames.items + 1, f->frames.items, f->frames.len++ * sizeof(*f->frames.items));
	f->frames.items[0] = (struct ui_tree_frame){ .name = buf_str(text) };
	return 0;
}

static int add_line(struct flame *f, const struct operation *o, struct stack_names *names,
		    const struct stack_line *line, struct stack_frames *frames, enum ui_tree_side side)
{
	const struct stack_view view = { .weight = f->weight };
	_cleanup_(buf_fini) struct buf group = { 0 };
	int r = stack_names_all(names, line->entry, &view, frames);

	f->frames.len = 0;
	if (r >= 0)
		r = take_frames(f, line, frames);
	if (r < 0)
		return r;
	reverse(f);
	if (!focus(f, f->q->focus))
		return 0;
	if (f->q->invert)
		reverse(f);
	r = put_group(f, o, line->entry, &group);
	return r < 0 ? r : ui_tree_add(&f->tree, f->frames.items, f->frames.len, side, line->weight);
}

static int add_operation(struct flame *f, const struct operation *o, enum ui_tree_side side)
{
	struct stack_line_list lines = { 0 };
	struct stack_frames frames = { 0 };
	struct stack_names *names = NULL;
	int r = stack_names_new(o->set, o->sym, &names);

	if (r >= 0)
		r = stack_lines_list(o->set, f->weight, false, &lines);
	for (size_t i = 0; r >= 0 && i < lines.len; i++)
		r = add_line(f, o, names, &lines.items[i], &frames, side);
	vec_fini(&frames);
	vec_fini(&lines);
	stack_names_free(names);
	return r;
}

static int add_range(struct flame *f, enum ui_tree_side side)
{
	int r = count(f, side == UI_TREE_NOW);

	for (size_t i = 0; r >= 0 && i < f->operations.len; i++)
		r = add_operation(f, &f->operations.items[i], side);
	forget(f);
	return r;
}

/* ---- the answer ---- */

static int answer(struct flame *f, const void *ctx, struct ui_answer *a, struct err *err)
{
	static const enum stack_weight weights[] = {
		[UI_MODE_ON] = STACK_SAMPLES, [UI_MODE_OFF] = STACK_OFF_CPU, [UI_MODE_BOTH] = STACK_WALL,
	};
	const struct ui_query *q = f->q;
	struct json j = { .out = &a->body };
	int r = ui_scan_init(&f->scan, ctx, q, err);

	_Static_assert(ARRAY_SIZE(weights) == UI_MODE__MAX, "a weight per mode");
	f->weight = weights[q->mode];
	if (r >= 0)
		r = ui_tree_init(&f->tree);
	if (r >= 0)
		r = add_range(f, UI_TREE_NOW);
	if (r >= 0 && q->against.on) {
		ui_scan_range(&f->scan, ui_scan_time(f->scan.m, &q->against.from, 0),
			      ui_scan_time(f->scan.m, &q->against.to, 0));
		r = add_range(f, UI_TREE_OLD);
	}
	if (r < 0)
		return r;
	json_open(&j, '{');
	ui_scan_head(&f->scan, &j);
	ui_answer_put_text(&j, "unit", stack_weight_units[f->weight]);
	json_put_u64(&j, "samples", f->samples);
	r = ui_tree_write(&f->tree, q->px, q->against.on, &j);
	json_close(&j, '}');
	return r;
}

int ui_flame_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct flame f = { .q = q };
	int r = answer(&f, ctx, a, err);

	forget(&f);
	vec_fini(&f.operations);
	vec_fini(&f.frames);
	ui_tree_fini(&f.tree);
	ui_scan_fini(&f.scan);
	return r;
}
