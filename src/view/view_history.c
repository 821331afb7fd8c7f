// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A fold counts the current second. When it ends, its groups become an interval of the first level, and are added to
 * the current interval of each other level. Intervals begin at multiples of their length, so a longer one is replaced
 * by the shorter ones within it.
 */
#include "view/view_history.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "view/view_fold.h"
#include "view/view_hist.h"
#include "view/view_rows.h"

#define LEVELS 3u
#define FOR_EVER_NS (1ull << 62)

static const struct { uint64_t step_ns; size_t most; } levels[LEVELS] = {
	{ NS_PER_S, 120 }, { 10 * NS_PER_S, 180 }, { 600 * NS_PER_S, 144 },
};

struct row {
	uint64_t id, events;
	uint64_t values[VIEW_COLS];
	struct view_hist *hists; /* owned; NULL = the view has none */
	char *cells;		 /* owned */
	size_t cells_len;
};

struct interval {
	uint64_t number;	/* start / step */
	VEC(struct row) rows;
	size_t bytes;
};

struct sums {	/* rows that more are added to */
	struct interval interval;
	struct map by_id;	/* u64 -> u32 */
};

struct view_history {
	const struct view *view;
	size_t n_cols, n_hists, max_bytes, bytes;
	struct view_fold *fold;
	uint64_t second;	/* that is being counted */
	struct { VEC(struct interval) ended; struct sums now; } levels[LEVELS];
};

/* ---- intervals ---- */

static void row_fini(struct row *r, size_t n_hists)
{
	for (size_t i = 0; r->hists && i < n_hists; i++)
		view_hist_fini(&r->hists[i]);
	free(r->hists);
	free(r->cells);
}

static void interval_fini(struct interval *n, size_t n_hists)
{
	for (size_t i = 0; i < n->rows.len; i++)
		row_fini(&n->rows.items[i], n_hists);
	vec_fini(&n->rows);
	n->bytes = 0;
}

static void sums_init(struct sums *s)
{
	*s = (struct sums){ 0 };
	map_init(&s->by_id, sizeof(uint64_t), sizeof(uint32_t));
}

static void sums_fini(struct sums *s, size_t n_hists)
{
	interval_fini(&s->interval, n_hists);
	map_fini(&s->by_id);
}

static size_t hist_bytes(const struct view_hist *h)
{
	return h->n * sizeof(*h->counts);
}

/* The row with the id, a new one without values if there is none; the first beyond the limit is "(other)". */
static struct row *row_of(struct sums *s, const struct row *like, size_t n_hists)
{
	uint64_t id = s->interval.rows.len >= VIEW_FOLD_GROUPS && !map_find(&s->by_id, &like->id) ? 0 : like->id;
	bool is_new;
	uint32_t *at = map_add(&s->by_id, &id, &is_new);
	static const char other[sizeof("(other)") + VIEW_KEYS] = "(other)";	/* and empty texts */
	const char *cells = id ? like->cells : other;
	struct row r = { .id = id, .cells_len = id ? like->cells_len : sizeof(other) };

	if (!at || !is_new)
		return at ? &s->interval.rows.items[*at] : NULL;
	r.cells = malloc(r.cells_len);
	r.hists = n_hists ? calloc(n_hists, sizeof(*r.hists)) : NULL;
	if (!r.cells || (n_hists && !r.hists) || vec_grow(&s->interval.rows) < 0) {
		row_fini(&r, n_hists);
		map_remove(&s->by_id, &id);
		return NULL;
	}
	memcpy(r.cells, cells, r.cells_len);
	*at = (uint32_t)s->interval.rows.len;
	s->interval.bytes += sizeof(r) + r.cells_len + n_hists * sizeof(*r.hists);
	s->interval.rows.items[s->interval.rows.len] = r;
	return &s->interval.rows.items[s->interval.rows.len++];
}

static int add_row(struct sums *s, const struct row *from, size_t n_cols, size_t n_hists)
{
	struct row *to = row_of(s, from, n_hists);
	int r = to ? 0 : -ENOMEM;

	if (!to)
		return r;
	to->events += from->events;
	for (size_t i = 0; i < n_cols; i++)
		to->values[i] += from->values[i];
	for (size_t i = 0; r >= 0 && i < n_hists; i++) {
		s->interval.bytes -= hist_bytes(&to->hists[i]);
		r = view_hist_merge(&to->hists[i], &from->hists[i]);
		s->interval.bytes += hist_bytes(&to->hists[i]);
	}
	return r;
}

/* ---- the end of a second ---- */

static void forget_oldest(struct view_history *h, size_t level)
{
	struct interval *first = &h->levels[level].ended.items[0];

	h->bytes -= first->bytes;
	interval_fini(first, h->n_hists);
	memmove(first, first + 1, --h->levels[level].ended.len * sizeof(*first));
}

/* The oldest intervals of the longest kind go first. */
static void make_room(struct view_history *h)
{
	size_t level = LEVELS;

	while (h->bytes > h->max_bytes && level) {
		if (h->levels[level - 1].ended.len)
			forget_oldest(h, level - 1);
		else
			level--;
	}
}

static int end_interval(struct view_history *h, size_t level)
{
	struct sums *s = &h->levels[level].now;
	int r = s->interval.rows.len ? vec_grow(&h->levels[level].ended) : 0;

	if (r >= 0 && s->interval.rows.len) {
		h->levels[level].ended.items[h->levels[level].ended.len++] = s->interval;
		h->bytes += s->interval.bytes;
		s->interval = (struct interval){ 0 };
	}
	interval_fini(&s->interval, h->n_hists);
	map_clear(&s->by_id);
	while (h->levels[level].ended.len > levels[level].most)
		forget_oldest(h, level);
	make_room(h);
	return r;
}

struct ending {
	struct view_history *h;
	size_t level;
};

static int take_group(void *ctx, const struct view_fold_group *g)
{
	struct ending *e = ctx;
	struct row like = { .id = g->id, .events = g->events, .hists = (struct view_hist *)g->hists,
			    .cells = (char *)g->cells, .cells_len = g->cells_len };

	memcpy(like.values, g->values, sizeof(like.values));
	return add_row(&e->h->levels[e->level].now, &like, e->h->n_cols, e->h->n_hists);
}

static int end_second(struct view_history *h)
{
	int r = view_fold_end(h->fold, 0);

	for (size_t i = 0; r >= 0 && i < LEVELS; i++) {
		struct sums *s = &h->levels[i].now;
		uint64_t number = h->second * NS_PER_S / levels[i].step_ns;

		if (s->interval.number != number)
			r = end_interval(h, i);
		s->interval.number = number;
		if (r >= 0)
			r = view_fold_last(h->fold, take_group, &(struct ending){ .h = h, .level = i });
	}
	return r < 0 ? r : end_interval(h, 0);
}

int view_history_until(struct view_history *h, uint64_t now_ns)
{
	uint64_t second = now_ns / NS_PER_S;
	int r = 0;

	if (second <= h->second)
		return 0;
	if (view_fold_due(h->fold) != UINT64_MAX)
		r = end_second(h);
	h->second = second;
	return r;
}

int view_history_take(struct view_history *h, const struct event *ev)
{
	int r = view_history_until(h, ev->ts_ns);

	return r < 0 ? r : view_fold_take(h->fold, ev);
}

/* ---- reading ---- */

size_t view_history_bytes(const struct view_history *h)
{
	return h->bytes;
}

uint64_t view_history_first(const struct view_history *h)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < LEVELS; i++)
		if (h->levels[i].ended.len)
			first_ns = MIN(first_ns, h->levels[i].ended.items[0].number * levels[i].step_ns);
	return first_ns;
}

static int put_row(const struct view_history *h, const struct row *r, struct view_rows *ret)
{
	struct view_row *to;

	if (vec_grow(ret) < 0)
		return -ENOMEM;
	to = &ret->items[ret->len++];
	*to = (struct view_row){ .id = r->id, .cells = (uint32_t)ret->texts.len, .other = !r->id,
				 .events = r->events };
	buf_add(&ret->texts, r->cells, r->cells_len);
	to->notes = (uint32_t)ret->texts.len;
	for (size_t i = 0; i < view_n_notes(h->view); i++) {
		const char *note = view_fold_note(h->fold, r->id, i);

		buf_add(&ret->texts, note, strlen(note) + 1);
	}
	for (size_t i = 0; i < h->n_cols; i++) {
		enum view_op op = h->view->cols[i].op;
		const struct view_hist *t = view_op_is_time(op) ? &r->hists[view_fold_hist_of(h->fold, i)] : NULL;

		to->values[i] = !t ? r->values[i] : op == VIEW_MAX ? t->max :
				view_hist_percentile(t, op == VIEW_P50 ? 500 : 990);
	}
	return buf_error(&ret->texts);
}

/* Adds the intervals of a level that begin in the range; *from_ns, *to_ns become the edges of all that were added. */
static int add_level(const struct view_history *h, size_t level, uint64_t from_ns, uint64_t to_ns, bool total,
		     struct sums *s, struct view_rows *edges)
{
	const uint64_t step_ns = levels[level].step_ns;
	int r = 0;

	vec_each(n, &h->levels[level].ended) {
		const uint64_t start_ns = n->number * step_ns;

		if (start_ns < from_ns || start_ns >= to_ns)
			continue;
		edges->from_ns = MIN(edges->from_ns, start_ns);
		edges->to_ns = MAX(edges->to_ns, start_ns + step_ns);
		for (size_t k = 0; r >= 0 && k < n->rows.len; k++) {
			struct row like = n->rows.items[k];

			like.id = total ? 1 : like.id;
			r = add_row(s, &like, h->n_cols, h->n_hists);
		}
	}
	return r;
}

static int add_up(const struct view_history *h, uint64_t from_ns, uint64_t to_ns, bool total, struct view_rows *ret)
{
	uint64_t until_ns = to_ns; /* what is not yet covered by shorter intervals */
	struct sums s;
	int r = 0;

	view_rows_reset(ret, h->view);
	ret->from_ns = UINT64_MAX;
	ret->to_ns = 0;
	sums_init(&s);
	for (size_t i = 0; r >= 0 && i < LEVELS; i++) {
		uint64_t next_ns = i + 1 < LEVELS ? levels[i + 1].step_ns : 1, begin_ns = 0;

		if (!h->levels[i].ended.len)
			continue;
		/* until this level forgot one, it has all; then only whole intervals of the next one count */
		if (h->levels[i].ended.len >= levels[i].most)
			begin_ns = ROUND_UP(h->levels[i].ended.items[0].number * levels[i].step_ns, next_ns);
		r = add_level(h, i, MAX(from_ns, begin_ns), until_ns, total, &s, ret);
		until_ns = MIN(until_ns, begin_ns);
	}
	for (size_t i = 0; r >= 0 && i < s.interval.rows.len; i++)
		r = put_row(h, &s.interval.rows.items[i], ret);
	sums_fini(&s, h->n_hists);
	return r;
}

int view_history_rows(const struct view_history *h, uint64_t from_ns, uint64_t to_ns, struct view_rows *ret)
{
	return add_up(h, from_ns, to_ns, false, ret);
}

int view_history_total(const struct view_history *h, uint64_t from_ns, uint64_t to_ns, struct view_rows *ret)
{
	return add_up(h, from_ns, to_ns, true, ret);
}

/* ---- life ---- */

void view_history_free(struct view_history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < LEVELS; i++) {
		while (h->levels[i].ended.len)
			forget_oldest(h, i);
		vec_fini(&h->levels[i].ended);
		sums_fini(&h->levels[i].now, h->n_hists);
	}
	view_fold_free(h->fold);
	free(h);
}

int view_history_new(const struct view *v, size_t max_bytes, struct view_history **ret)
{
	struct view_history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->view = v;
	h->n_cols = view_n_cols(v);
	h->max_bytes = max_bytes ? max_bytes : VIEW_HISTORY_BYTES;
	for (size_t i = 0; i < LEVELS; i++)
		sums_init(&h->levels[i].now);
	if (view_fold_new(v, FOR_EVER_NS, &h->fold) < 0) {
		view_history_free(h);
		return -ENOMEM;
	}
	h->n_hists = view_fold_n_hists(h->fold);
	*ret = h;
	return 0;
}
