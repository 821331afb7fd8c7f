// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ring that doubles up to its budget and stays sorted.
 */
#include "trace/trace_window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/macros.h"
#include "trace/trace_fact.h"

#define FIRST_CAP 1024u

struct trace_window {
	struct trace_fact *ring; /* owned; @cap, a power of two */
	size_t cap, max_cap, head, len;
	uint64_t evicted, evicted_ns;
};

struct trace_window *trace_window_new(size_t budget_bytes)
{
	struct trace_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->max_cap = FIRST_CAP;
	while (w->max_cap * 2 * sizeof(struct trace_fact) <= budget_bytes)
		w->max_cap *= 2;
	return w;
}

void trace_window_free(struct trace_window *w)
{
	if (!w)
		return;
	free(w->ring);
	free(w);
}

static struct trace_fact *slot(const struct trace_window *w, size_t i)
{
	return &w->ring[(w->head + i) & (w->cap - 1)];
}

static int grow(struct trace_window *w)
{
	size_t cap = w->cap ? w->cap * 2 : FIRST_CAP;
	struct trace_fact *ring = calloc(cap, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < w->len; i++)
		ring[i] = *slot(w, i);
	free(w->ring);
	w->ring = ring;
	w->cap = cap;
	w->head = 0;
	return 0;
}

static bool is_later(const struct trace_fact *a, const struct trace_fact *b)
{
	return a->ts_ns != b->ts_ns ? a->ts_ns > b->ts_ns : a->num > b->num;
}

int trace_window_add(struct trace_window *w, const struct trace_fact *f)
{
	size_t i;

	if (w->len == w->cap && w->cap < w->max_cap && grow(w) < 0)
		return -ENOMEM;
	if (w->len == w->cap) {
		w->evicted++;
		if (!is_later(f, slot(w, 0))) {
			w->evicted_ns = MAX(w->evicted_ns, f->ts_ns);
			return 0;
		}
		w->evicted_ns = MAX(w->evicted_ns, slot(w, 0)->ts_ns);
		w->head = (w->head + 1) & (w->cap - 1);
		w->len--;
	}
	for (i = w->len++; i && is_later(slot(w, i - 1), f); i--)
		*slot(w, i) = *slot(w, i - 1);
	*slot(w, i) = *f;
	return 0;
}

size_t trace_window_len(const struct trace_window *w)
{
	return w->len;
}

const struct trace_fact *trace_window_at(const struct trace_window *w, size_t i)
{
	return slot(w, i);
}

size_t trace_window_find(const struct trace_window *w, uint64_t ts_ns)
{
	return BISECT(i, w->len, slot(w, i)->ts_ns < ts_ns);
}

uint64_t trace_window_evicted(const struct trace_window *w)
{
	return w->evicted;
}

uint64_t trace_window_evicted_ns(const struct trace_window *w)
{
	return w->evicted_ns;
}
