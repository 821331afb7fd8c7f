// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A group is identified by a hash of its keys' values; their texts are composed once, when it is created. Group 0 is
 * "(other)".
 */
#include "view/view_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "view/view.h"
#include "view/view_fields.h"
#include "view/view_hist.h"
#include "view/view_rows.h"

#define FLOWS_MAX 200000u
#define FLOW_COLS 4u /* most columns of flows in a view */
#define NO_COL VIEW_COLS
#define TYPES_MAX 32u
#define UNKNOWN "(unknown)"
#define OTHER "(other)"

/*
 * Of one column: of the current interval, of the last, of all that have ended. Sums of flows count in ALL at once, as
 * flows move between groups.
 */
enum { NOW, LAST, ALL, SPANS };
enum { SO_FAR = 1 };	/* of struct flow, beside NOW */

struct group {
	uint64_t id;
	struct view_hist *hists;	/* [SPANS][n_hists], owned; NULL = the view has none */
	uint64_t events[SPANS];
	uint64_t values[SPANS][VIEW_COLS];
	char *cells;		/* owned; NUL-terminated texts */
	size_t cells_len;
	char *notes[VIEW_NOTES]; /* owned; NULL = not known yet */
};

/*
 * A flow counts in one group at a time: when its process becomes known later, its sums move there.
 */
struct flow {
	uint64_t seen[2][FLOW_COLS];	/* totals that it has reported, by direction */
	uint64_t added[2][FLOW_COLS];	/* its part of the group's sums: of the current interval, of all */
	uint64_t group, interval;	/* interval: number of its last one, from 1 */
	bool counted, ended;
	bool is_active, was_active; /* counted in VIEW_ACTIVE: of this interval, in all */
};

struct view_fold {
	const struct view *view;
	size_t n_keys, n_notes, n_cols, n_hists;
	unsigned hist_of[VIEW_COLS];	/* column -> histogram: columns of the same type and field share one */
	bool owns_hist[VIEW_COLS];	/* the first of them */
	unsigned flow_of[VIEW_COLS];	/* column -> its place in struct flow */
	size_t flow_cols[FLOW_COLS], n_flow_cols;
	size_t active;			/* column VIEW_ACTIVE; NO_COL = none */
	uint64_t step_ns, start_ns, end_ns;	/* of the current interval; start_ns 0 = no event yet */
	uint64_t first_ns, last_ns, was_ns;	/* was_ns: start of the last complete interval */
	uint64_t intervals, events;
	VEC(struct group) groups;
	struct map by_id;		/* u64 -> u32 index */
	struct map flows;		/* u64 -> struct flow */
	struct view_fields types[TYPES_MAX];
	size_t n_types, recent;
};

static bool same_source(const struct view_col *a, const struct view_col *b)
{
	return view_op_is_time(b->op) && !strcmp(a->type, b->type) && !strcmp(a->field, b->field);
}

/* The first column of each histogram owns it. */
static void share_hists(struct view_fold *f)
{
	for (size_t i = 0; i < f->n_cols; i++) {
		const struct view_col *c = &f->view->cols[i];
		bool shared = false;

		if (!view_op_is_time(c->op))
			continue;
		for (size_t k = 0; k < i && !shared; k++) {
			shared = same_source(c, &f->view->cols[k]);
			f->hist_of[i] = f->hist_of[k];
		}
		if (!shared)
			f->hist_of[i] = (unsigned)f->n_hists++;
		f->owns_hist[i] = !shared;
	}
}

static void place_flow_cols(struct view_fold *f)
{
	f->active = NO_COL;
	for (size_t i = 0; i < f->n_cols && f->n_flow_cols < FLOW_COLS; i++) {
		if (!view_op_is_of_flows(f->view->cols[i].op))
			continue;
		if (f->view->cols[i].op == VIEW_ACTIVE)
			f->active = i;
		f->flow_of[i] = (unsigned)f->n_flow_cols;
		f->flow_cols[f->n_flow_cols++] = i;
	}
}

static struct view_hist *hist_of(const struct view_fold *f, const struct group *g, unsigned span, size_t hist)
{
	return &g->hists[span * f->n_hists + hist];
}

/* ---- groups ---- */

static void fini_group(const struct view_fold *f, struct group *g)
{
	for (size_t i = 0; g->hists && i < SPANS * f->n_hists; i++)
		view_hist_fini(&g->hists[i]);
	for (size_t i = 0; i < f->n_notes; i++)
		free(g->notes[i]);
	free(g->hists);
	free(g->cells);
}

/* @cells is copied. The new group, or NULL without memory. */
static struct group *add_group(struct view_fold *f, uint64_t id, const char *cells, size_t len)
{
	struct group g = { .id = id, .cells = malloc(MAX(len, (size_t)1)), .cells_len = len };
	uint32_t *at;

	if (f->n_hists)
		g.hists = calloc(SPANS * f->n_hists, sizeof(*g.hists));
	if (!g.cells || (f->n_hists && !g.hists) || vec_grow(&f->groups) < 0 ||
	    !(at = map_add(&f->by_id, &id, NULL))) {
		fini_group(f, &g);
		return NULL;
	}
	if (len)
		memcpy(g.cells, cells, len);
	*at = (uint32_t)f->groups.len;
	f->groups.items[f->groups.len] = g;
	return &f->groups.items[f->groups.len++];
}

static int add_other(struct view_fold *f)
{
	_cleanup_(buf_fini) struct buf cells = { 0 };

	for (size_t i = 0; i < f->n_keys; i++)
		buf_add(&cells, i ? "" : OTHER, i ? 1 : sizeof(OTHER));
	return buf_error(&cells) < 0 || !add_group(f, 0, cells.data, cells.len) ? -ENOMEM : 0;
}

static uint64_t hash_value(const struct value *v)
{
	switch (v->kind) {
	case VAL_STR:
	case VAL_MAC:
	case VAL_BYTES:
	case VAL_LIST:
		return map_hash(v->str, v->kind == VAL_MAC ? 6 : v->len);
	case VAL_IP:
		return map_hash(&v->ip.addr, ipaddr_bytes(v->ip.family));
	case VAL_UINT:
	case VAL_BOOL:
	case VAL_FLAGS:
		return v->u * 0x9e3779b97f4a7c15 + 1;
	case VAL_INT:
		return (uint64_t)v->i * 0x9e3779b97f4a7c15 + 1;
	case VAL_NONE:
	case VAL__MAX:
		break;
	}
	return 0;
}

static uint64_t id_of(const struct view_fold *f, const struct view_fields *p, const struct event *ev)
{
	uint64_t id = 1;

	for (size_t i = 0; i < f->n_keys; i++) {
		struct value v;

		view_fields_get(p, &p->keys[i], ev, &v);
		id = (id ^ hash_value(&v)) * 0x2127599bf4325c37;
		id ^= id >> 29;
	}
	return id + !id;
}

static int put_cells(const struct view_fold *f, const struct view_fields *p, const struct event *ev, struct buf *out)
{
	for (size_t i = 0; i < f->n_keys; i++) {
		size_t was = out->len;
		struct value v;

		view_fields_get(p, &p->keys[i], ev, &v);
		value_text(&v, out);
		if (out->len == was)
			buf_add_str(out, UNKNOWN);
		buf_add_char(out, '\0');
	}
	return buf_error(out);
}

static struct group *group_of(struct view_fold *f, const struct view_fields *p, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf cells = { 0 };
	const uint64_t id = id_of(f, p, ev);
	const uint32_t *at = map_find(&f->by_id, &id);

	if (at)
		return &f->groups.items[*at];
	if (f->groups.len > VIEW_FOLD_GROUPS)
		return &f->groups.items[0];
	if (put_cells(f, p, ev, &cells) < 0)
		return NULL;
	return add_group(f, id, cells.data, cells.len);
}

/* Once an interval for notes that are not known yet: most are with the first event. */
static int learn_notes(const struct view_fold *f, const struct view_fields *p, struct group *g,
		       const struct event *ev)
{
	for (size_t i = 0; i < f->n_notes; i++) {
		_cleanup_(buf_fini) struct buf text = { 0 };
		struct value v = { 0 };

		if (g->notes[i] || g == f->groups.items || !strcmp(g->cells, UNKNOWN))
			continue;
		view_fields_get(p, &p->notes[i], ev, &v);
		if (v.kind == VAL_NONE)
			continue;
		value_text(&v, &text);
		buf_add_char(&text, '\0');
		if (buf_error(&text) < 0)
			return -ENOMEM;
		g->notes[i] = TAKE_PTR(text.data);
	}
	return 0;
}

/* ---- intervals ---- */

static int next_interval(struct view_fold *f, struct group *g)
{
	int r = 0;

	g->events[ALL] += g->events[NOW];
	g->events[LAST] = g->events[NOW];
	g->events[NOW] = 0;
	for (size_t i = 0; i < f->n_cols; i++)
		g->values[ALL][i] += view_op_is_of_flows(f->view->cols[i].op) ? 0 : g->values[NOW][i];
	memcpy(g->values[LAST], g->values[NOW], sizeof(g->values[LAST]));
	memset(g->values[NOW], 0, sizeof(g->values[NOW]));
	for (size_t i = 0; r >= 0 && i < f->n_hists; i++) {
		struct view_hist was = *hist_of(f, g, LAST, i);

		r = view_hist_merge(hist_of(f, g, ALL, i), hist_of(f, g, NOW, i));
		*hist_of(f, g, LAST, i) = *hist_of(f, g, NOW, i);
		view_hist_clear(&was);
		*hist_of(f, g, NOW, i) = was;
	}
	return r;
}

static int merge_group(struct view_fold *f, struct group *to, const struct group *from)
{
	int r = 0;

	for (unsigned span = 0; span < SPANS; span++) {
		to->events[span] += from->events[span];
		for (size_t i = 0; i < f->n_cols; i++)
			to->values[span][i] += from->values[span][i];
		for (size_t i = 0; r >= 0 && i < f->n_hists; i++)
			r = view_hist_merge(hist_of(f, to, span, i), hist_of(f, from, span, i));
	}
	return r;
}

/* A full table: groups without an event in the last interval make room; "(other)" has their totals. */
static int make_room(struct view_fold *f)
{
	size_t kept = 1;
	int r = 0;

	if (f->groups.len <= VIEW_FOLD_GROUPS)
		return 0;
	map_clear(&f->by_id);
	for (size_t i = 1; i < f->groups.len; i++) {
		struct group *g = &f->groups.items[i];

		if (g->events[LAST]) {
			f->groups.items[kept++] = *g;
			continue;
		}
		if (merge_group(f, &f->groups.items[0], g) < 0)
			r = -ENOMEM;
		fini_group(f, g);
	}
	f->groups.len = kept;
	for (uint32_t i = 0; i < kept; i++) {
		if (map_put(&f->by_id, &f->groups.items[i].id, &i) < 0)
			return -ENOMEM;
	}
	return r;
}

static void begin_interval(struct view_fold *f, uint64_t at_ns)
{
	f->start_ns = at_ns;
	f->end_ns = (at_ns / f->step_ns + 1) * f->step_ns;
}

static int end_interval(struct view_fold *f, uint64_t at_ns)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->groups.len; i++)
		r = next_interval(f, &f->groups.items[i]);
	f->was_ns = f->start_ns;
	begin_interval(f, at_ns);
	f->intervals++;
	return r < 0 ? r : make_room(f);
}

int view_fold_until(struct view_fold *f, uint64_t now_ns)
{
	uint64_t steps;
	int r = 0;

	if (!f->start_ns || now_ns < f->end_ns)
		return 0;
	r = end_interval(f, f->end_ns);
	steps = (now_ns - f->start_ns) / f->step_ns;	/* empty ones, of which the last is shown */
	if (r >= 0 && steps) {
		begin_interval(f, f->start_ns + (steps - 1) * f->step_ns);
		f->intervals += steps - 1;
		r = end_interval(f, f->end_ns);
	}
	return r;
}

uint64_t view_fold_due(const struct view_fold *f)
{
	return f->start_ns ? f->end_ns : UINT64_MAX;
}

int view_fold_end(struct view_fold *f, uint64_t now_ns)
{
	int r = view_fold_until(f, now_ns);

	if (r < 0 || !f->start_ns)
		return r;
	return end_interval(f, MAX(now_ns, f->start_ns + 1));
}

/* ---- counting ---- */

static const struct view_fields *fields_of(struct view_fold *f, const struct event_desc *d)
{
	if (f->n_types && f->types[f->recent].desc == d)
		return &f->types[f->recent];
	for (size_t i = 0; i < f->n_types; i++)
		if (f->types[i].desc == d) {
			f->recent = i;
			return &f->types[i];
		}
	f->recent = f->n_types < TYPES_MAX ? f->n_types++ : TYPES_MAX - 1;
	view_fields_init(&f->types[f->recent], f->view, d);
	return &f->types[f->recent];
}

/* Forgets flows that have ended, or all if none has. */
static void purge_flows(struct view_fold *f)
{
	struct map keep;
	size_t pos = 0;
	void *key, *val;

	map_init(&keep, sizeof(uint64_t), sizeof(struct flow));
	while (map_next(&f->flows, &pos, &key, &val)) {
		if (!((struct flow *)val)->ended)
			map_put(&keep, key, val);
	}
	map_fini(&f->flows);
	f->flows = keep;
	if (f->flows.len >= FLOWS_MAX)
		map_clear(&f->flows);
}

static struct flow *flow_of(struct view_fold *f, const struct view_fields *p, const struct event *ev,
			    unsigned *ret_way)
{
	uint64_t id, way;
	struct value why;
	struct flow *flow;

	if (!view_fields_number(&p->flow, ev, &id))
		return NULL;
	id ^= (uint64_t)(uintptr_t)ev->names << 16;	/* streams of several hosts number their flows alike */
	*ret_way = view_fields_number(&p->is_reply, ev, &way) && way;
	if (f->flows.len >= FLOWS_MAX && !map_find(&f->flows, &id))
		purge_flows(f);
	flow = map_add(&f->flows, &id, NULL);
	view_fields_get(p, &p->flow_event, ev, &why);
	if (flow && why.kind == VAL_STR && why.len && (*why.str == 'c' || *why.str == 'i' || *why.str == 'e'))
		flow->ended = true;
	return flow;
}

static uint64_t growth(struct flow *flow, unsigned way, unsigned col, uint64_t total)
{
	uint64_t more;

	if (!flow)
		return 0;
	more = total > flow->seen[way][col] ? total - flow->seen[way][col] : 0;
	flow->seen[way][col] += more;
	return more;
}

static bool is_way(const struct view_field *f, const struct event *ev, uint64_t way)
{
	uint64_t v;

	return view_fields_number(f, ev, &v) && v == way;
}

/* Do the bytes of this report count in a column of one direction? @way: 1 = of replies. */
static bool goes_there(const struct view_fields *p, enum view_op op, const struct event *ev, unsigned way)
{
	switch (op) {
	case VIEW_SENT: return !way;
	case VIEW_RECEIVED: return way;
	case VIEW_FROM: return is_way(&p->owner_end, ev, VIEW_FIELDS_SENDER);
	case VIEW_TO: return is_way(&p->owner_end, ev, VIEW_FIELDS_RECEIVER);
	case VIEW_IN: return is_way(&p->dir, ev, VIEW_FIELDS_IN);
	case VIEW_OUT: return is_way(&p->dir, ev, VIEW_FIELDS_OUT);
	default: return true;
	}
}

/* The event's part of column @i. */
static uint64_t part_of(const struct view_fold *f, const struct view_fields *p, size_t i, const struct event *ev,
			struct flow *flow, unsigned way)
{
	const enum view_op op = f->view->cols[i].op;
	uint64_t v = 0;

	switch (op) {
	case VIEW_COUNT: return !p->sums ? 1 : view_fields_number(&p->cols[i], ev, &v) ? v : 0;
	case VIEW_TRUE: return !view_fields_number(&p->cols[i], ev, &v) ? 0 : p->sums ? v : v != 0;
	case VIEW_SUM:
	case VIEW_SHARE:
		return view_fields_number(&p->cols[i], ev, &v) ? v : 0;
	case VIEW_GROWTH:
	case VIEW_SENT:
	case VIEW_RECEIVED:
	case VIEW_FROM:
	case VIEW_TO:
	case VIEW_IN:
	case VIEW_OUT:
		if (!goes_there(p, op, ev, way) || !view_fields_number(&p->cols[i], ev, &v))
			return 0;
		return growth(flow, way, f->flow_of[i], v);
	case VIEW_ACTIVE: return flow && !flow->is_active;
	case VIEW_FLOWS:
		if (!flow || flow->counted)
			return 0;
		flow->counted = true;
		return 1;
	case VIEW_P50:
	case VIEW_P99:
	case VIEW_MAX:
	case VIEW_OP__MAX:
		break;
	}
	return 0;
}

/*
 * Fills the parts of the columns that take the event and of all that flows have. False if the event adds nothing to
 * the view.
 */
static bool parts_of(struct view_fold *f, const struct view_fields *p, const struct event *ev, struct flow *flow,
		     unsigned way, uint64_t parts[VIEW_COLS])
{
	bool any = false;

	for (size_t k = 0; k < f->n_flow_cols; k++)
		parts[f->flow_cols[k]] = 0;
	for (unsigned k = 0; k < p->n_taken; k++) {
		unsigned i = p->taken[k];

		parts[i] = part_of(f, p, i, ev, flow, way);
		any = any || parts[i] || view_op_is_time(f->view->cols[i].op);
	}
	return any;
}

static int add_sums(struct view_fold *f, const struct view_fields *p, struct group *g, const struct event *ev,
		    unsigned i)
{
	uint64_t max = 0;
	size_t n = 0;
	const uint64_t *steps = view_fields_steps(&p->cols[i], ev, &n);

	view_fields_number(&p->max, ev, &max);
	return view_hist_add_steps(hist_of(f, g, NOW, f->hist_of[i]), steps, n, max);
}

/* Each histogram once, for its first column. */
static int add_times(struct view_fold *f, const struct view_fields *p, struct group *g, const struct event *ev)
{
	int r = 0;

	for (unsigned k = 0; r >= 0 && k < p->n_taken; k++) {
		unsigned i = p->taken[k];
		uint64_t v;

		if (!f->owns_hist[i])
			continue;
		if (p->sums) {
			r = add_sums(f, p, g, ev, i);
			continue;
		}
		if (view_fields_number(&p->cols[i], ev, &v))
			r = view_hist_add(hist_of(f, g, NOW, f->hist_of[i]), v);
	}
	return r;
}

/* A flow counts as active in each of its intervals, but once in all. */
static uint64_t total_part(const struct view_fold *f, size_t i, const struct flow *flow,
			   const uint64_t parts[VIEW_COLS])
{
	return i == f->active && flow->was_active ? 0 : parts[i];
}

/* Adds to the flow's part of its group, which it takes along to another group. */
static void follow_flow(struct view_fold *f, struct flow *flow, struct group *g, const uint64_t parts[VIEW_COLS])
{
	const uint32_t *at = flow->group && flow->group != g->id ? map_find(&f->by_id, &flow->group) : NULL;

	for (size_t k = 0; at && k < f->n_flow_cols; k++) {
		struct group *from = &f->groups.items[*at];
		size_t i = f->flow_cols[k];

		from->values[NOW][i] -= flow->added[NOW][k];
		g->values[NOW][i] += flow->added[NOW][k];
		from->values[ALL][i] -= flow->added[SO_FAR][k];
		g->values[ALL][i] += flow->added[SO_FAR][k];
	}
	if (!at && flow->group != g->id)	/* the first report, or its group made room for others */
		memset(flow->added, 0, sizeof(flow->added));
	flow->group = g->id;
	for (size_t k = 0; k < f->n_flow_cols; k++) {
		flow->added[NOW][k] += parts[f->flow_cols[k]];
		flow->added[SO_FAR][k] += total_part(f, f->flow_cols[k], flow, parts);
	}
}

/* A flow's first report in an interval. */
static void begin_flow(const struct view_fold *f, struct flow *flow)
{
	if (flow->interval == f->intervals + 1)
		return;
	flow->interval = f->intervals + 1;
	flow->is_active = false;
	memset(flow->added[NOW], 0, sizeof(flow->added[NOW]));
}

static void count(struct view_fold *f, const struct view_fields *p, struct group *g, struct flow *flow,
		  const uint64_t parts[VIEW_COLS])
{
	f->events++;
	g->events[NOW]++;
	for (unsigned k = 0; k < p->n_taken; k++)
		g->values[NOW][p->taken[k]] += parts[p->taken[k]];
	for (size_t k = 0; flow && k < f->n_flow_cols; k++)
		g->values[ALL][f->flow_cols[k]] += total_part(f, f->flow_cols[k], flow, parts);
	if (flow && f->active != NO_COL)
		flow->is_active = flow->was_active = true;
}

int view_fold_take(struct view_fold *f, const struct event *ev)
{
	const struct view_fields *p = fields_of(f, ev->desc);
	uint64_t parts[VIEW_COLS];
	struct flow *flow = NULL;
	struct group *g;
	unsigned way = 0;
	int r;

	if (!view_fields_take(p, ev))
		return 0;
	r = view_fold_until(f, ev->ts_ns);
	if (r >= 0 && p->flow.field) {
		flow = flow_of(f, p, ev, &way);
		if (flow)
			begin_flow(f, flow);
	}
	if (r < 0 || !parts_of(f, p, ev, flow, way, parts))
		return r;
	if (!f->start_ns) {
		f->was_ns = f->first_ns = MAX(ev->ts_ns, 1ull);
		begin_interval(f, f->first_ns);
	}
	f->last_ns = MAX(f->last_ns, ev->ts_ns);
	g = group_of(f, p, ev);
	if (!g || (f->n_notes && !g->events[NOW] && learn_notes(f, p, g, ev) < 0))
		return -ENOMEM;
	if (flow)
		follow_flow(f, flow, g, parts);
	count(f, p, g, flow, parts);
	return f->n_hists ? add_times(f, p, g, ev) : 0;
}

/* ---- reading ---- */

static int put_time(const struct view_fold *f, const struct group *g, unsigned span, size_t col, uint64_t *ret)
{
	const enum view_op op = f->view->cols[col].op;
	const struct view_hist *h = hist_of(f, g, span, f->hist_of[col]);
	struct view_hist sum = { 0 };
	int r = span == ALL ? view_hist_merge(&sum, h) : 0;

	if (r >= 0 && span == ALL) {
		r = view_hist_merge(&sum, hist_of(f, g, NOW, f->hist_of[col]));
		h = &sum;
	}
	*ret = op == VIEW_MAX ? h->max : view_hist_percentile(h, op == VIEW_P50 ? 500 : 990);
	view_hist_fini(&sum);
	return r;
}

static uint64_t value_of(const struct view_fold *f, const struct group *g, unsigned span, size_t col)
{
	const bool with_now = span == ALL && !view_op_is_of_flows(f->view->cols[col].op);

	return g->values[span][col] + (with_now ? g->values[NOW][col] : 0);
}

/* *ret_any false: all are 0, as the flows of a group may have moved to another. */
static int put_values(const struct view_fold *f, const struct group *g, unsigned span, struct view_row *row,
		      bool *ret_any)
{
	int r = 0;

	*ret_any = false;
	for (size_t i = 0; r >= 0 && i < f->n_cols; i++) {
		if (view_op_is_time(f->view->cols[i].op))
			r = put_time(f, g, span, i, &row->values[i]);
		else
			row->values[i] = value_of(f, g, span, i);
		*ret_any = *ret_any || row->values[i];
	}
	return r;
}

/* With its NUL; empty if unknown. */
static void put_note(const char *note, struct buf *out)
{
	buf_add(out, note ? note : "", note ? strlen(note) + 1 : 1);
}

const char *view_fold_note(const struct view_fold *f, uint64_t id, size_t i)
{
	const uint32_t *at = map_find(&f->by_id, &id);

	return at && f->groups.items[*at].notes[i] ? f->groups.items[*at].notes[i] : "";
}

int view_fold_rows(const struct view_fold *f, enum view_span span, struct view_rows *ret)
{
	unsigned at = span == VIEW_SPAN_LAST ? LAST : ALL;

	view_rows_reset(ret, f->view);
	ret->from_ns = span == VIEW_SPAN_LAST ? f->was_ns : f->first_ns;
	ret->to_ns = span == VIEW_SPAN_LAST ? f->start_ns : f->last_ns;
	for (size_t i = 0; i < f->groups.len; i++) {
		const struct group *g = &f->groups.items[i];
		const uint64_t events = g->events[at] + (at == ALL ? g->events[NOW] : 0);
		struct view_row *row;
		bool any;

		if (!events)
			continue;
		if (vec_grow(ret) < 0)
			return -ENOMEM;
		row = &ret->items[ret->len];
		*row = (struct view_row){ .id = g->id, .cells = (uint32_t)ret->texts.len, .other = !i,
					  .events = events };
		if (put_values(f, g, at, row, &any) < 0)
			return -ENOMEM;
		if (!any)
			continue;
		ret->len++;
		buf_add(&ret->texts, g->cells, g->cells_len);
		row->notes = (uint32_t)ret->texts.len;
		for (size_t k = 0; k < f->n_notes; k++)
			put_note(g->notes[k], &ret->texts);
	}
	return buf_error(&ret->texts);
}

int view_fold_last(const struct view_fold *f, int (*fn)(void *ctx, const struct view_fold_group *g), void *ctx)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->groups.len; i++) {
		const struct group *g = &f->groups.items[i];

		if (g->events[LAST])
			r = fn(ctx, &(struct view_fold_group){
				.id = i ? g->id : 0, .events = g->events[LAST], .values = g->values[LAST],
				.hists = g->hists ? hist_of(f, g, LAST, 0) : NULL, .cells = g->cells,
				.cells_len = g->cells_len });
	}
	return r < 0 ? r : 0;
}

size_t view_fold_n_hists(const struct view_fold *f)
{
	return f->n_hists;
}

size_t view_fold_hist_of(const struct view_fold *f, size_t col)
{
	return f->hist_of[col];
}

uint64_t view_fold_intervals(const struct view_fold *f)
{
	return f->intervals;
}

uint64_t view_fold_events(const struct view_fold *f)
{
	return f->events;
}

void view_fold_set_step(struct view_fold *f, uint64_t step_ns)
{
	f->step_ns = step_ns;
}

/* ---- life ---- */

int view_fold_new(const struct view *v, uint64_t step_ns, struct view_fold **ret)
{
	struct view_fold *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->view = v;
	f->n_keys = view_n_keys(v);
	f->n_notes = view_n_notes(v);
	f->n_cols = view_n_cols(v);
	f->step_ns = MAX(step_ns, 1ull);
	share_hists(f);
	place_flow_cols(f);
	map_init(&f->by_id, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&f->flows, sizeof(uint64_t), sizeof(struct flow));
	if (add_other(f) < 0) {
		view_fold_free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

void view_fold_free(struct view_fold *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->groups.len; i++)
		fini_group(f, &f->groups.items[i]);
	vec_fini(&f->groups);
	map_fini(&f->by_id);
	map_fini(&f->flows);
	free(f);
}
