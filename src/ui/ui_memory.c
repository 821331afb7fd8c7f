// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"
#include "sonde/scap_wire.h"
#include "view/view_history.h"
#include "view/view_kept.h"

#define LOSSES_MAX 65536u /* then neighbours are joined */
#define QUIET_CALLS 2u	  /* without an event between them: the stream is idle, not late */

int ui_memory_init(struct ui_memory *m, size_t max_bytes)
{
	*m = (struct ui_memory){ .read_permille = -1 };
	return view_kept_new(max_bytes, &m->kept);
}

void ui_memory_fini(struct ui_memory *m)
{
	view_kept_free(m->kept);
	m->kept = NULL;
	free(m->views);
	vec_fini(&m->losses);
	for (size_t i = 0; i < m->n_pasts; i++)
		view_history_free(m->pasts[i].history);
	m->n_pasts = 0;
}

/* ---- several hosts ---- */

int ui_memory_join_hosts(struct ui_memory *m)
{
	static const struct view_key host = { .head = "HOST", .field = "host", .width = 12 };

	m->views = calloc(view_n, sizeof(*m->views));
	for (size_t i = 0; m->views && i < view_n; i++) {
		struct view *v = &m->views[i];

		*v = views[i];
		memmove(v->keys + 1, v->keys, (VIEW_KEYS - 1) * sizeof(*v->keys));
		v->keys[0] = host;
	}
	return m->views ? 0 : -ENOMEM;
}

int ui_memory_sort(struct ui_memory *m)
{
	m->changes++;
	return m->views ? view_kept_sort(m->kept) : 0;
}

const struct view *ui_memory_views(const struct ui_memory *m)
{
	return m->views ? m->views : views;
}

size_t ui_memory_host(const struct ui_memory *m, const struct event *ev)
{
	struct ui_host h = { 0 };

	for (size_t i = 1; i < m->facts.n_hosts; i++) {
		m->facts.host(m->facts.ctx, i, &h);
		if (h.names == ev->names)
			return i;
	}
	return 0;
}

struct sym *ui_memory_sym(const struct ui_memory *m, const struct event *ev)
{
	struct ui_host h = { 0 };

	if (m->facts.host)
		m->facts.host(m->facts.ctx, ui_memory_host(m, ev), &h);
	return h.sym;
}

/* Those of the overview and of the first table of each page. */
int ui_memory_keep_past(struct ui_memory *m)
{
	static const char *const names[UI_PASTS] = {
		"host", "processes", "syscalls", "calls", "talkers", "drops", "waits",
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < UI_PASTS; i++) {
		struct ui_past *p = &m->pasts[m->n_pasts++];

		p->view = view_find(names[i]);
		r = view_history_new(p->view, 0, &p->history);
	}
	return r;
}

const struct ui_past *ui_memory_past(const struct ui_memory *m, const struct view *v)
{
	return FIND_ITEM(it, m->pasts, m->n_pasts, it->view == v);
}

int ui_memory_until(struct ui_memory *m, uint64_t now_ns)
{
	int r = 0;

	m->quiet = m->quiet_since == m->changes ? m->quiet + 1 : 0;
	m->quiet_since = m->changes;
	if (m->quiet < QUIET_CALLS)
		return 0;
	for (size_t i = 0; r >= 0 && i < m->n_pasts; i++)
		r = view_history_until(m->pasts[i].history, now_ns);
	return r;
}

static int take_past(struct ui_memory *m, const struct event *ev)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < m->n_pasts; i++)
		r = view_history_take(m->pasts[i].history, ev);
	return r;
}

/* Halves the list: what two neighbours lost counts at the time of the second. */
static void join_losses(struct ui_memory *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->losses.len; i++) {
		struct ui_loss *l = &m->losses.items[i];

		if (i + 1 < m->losses.len && l->cause == l[1].cause && !(i & 1))
			l[1].count += l->count;
		else
			m->losses.items[n++] = *l;
	}
	m->losses.len = n;
}

static int take_loss(struct ui_memory *m, const struct event *ev)
{
	const struct core_lost *lost = ev->body;
	const struct ui_loss l = { .ns = event_wall_ns(ev), .count = lost->count, .cause = lost->cause };
	struct ui_loss *last = m->losses.len ? &m->losses.items[m->losses.len - 1] : NULL;

	if (l.cause >= SONDE_LOST__MAX || !l.count)
		return 0;
	m->changes++;
	m->lost_by[l.cause] += l.count;
	if (last && last->cause == l.cause && last->ns == l.ns) {
		last->count += l.count;
		return 0;
	}
	if (m->losses.len >= LOSSES_MAX)
		join_losses(m);
	return vec_push(&m->losses, l);
}

int ui_memory_take(struct ui_memory *m, const struct event *ev)
{
	if (ev->desc->type == SONDE_EV_LOST)
		return take_loss(m, ev);
	if (ev->desc->class != EVENT_DATA)
		return 0;
	m->changes++;
	m->seq++;
	m->probes |= 1ull << (ev->desc->type >> 8 & 63);
	m->end_ns = MAX(m->end_ns, event_wall_ns(ev) + 1);
	m->clock_offset_ns = ev->clock_offset_ns;
	if (m->views) {
		struct event numbered = *ev;

		numbered.seq = m->seq;
		return view_kept_add(m->kept, &numbered);
	}
	return take_past(m, ev) < 0 ? -ENOMEM : view_kept_add(m->kept, ev);
}

bool ui_memory_is_capture(const struct ui_memory *m)
{
	return m->probes >> (SONDE_EV_SCAP >> 8 & 63) & 1;
}

uint64_t ui_memory_now(void)
{
	return (uint64_t)clock_boot_offset_ns() + clock_boot_ns();
}

uint64_t ui_memory_end(const struct ui_memory *m)
{
	return m->facts.live ? ui_memory_now() : m->end_ns;
}

uint64_t ui_memory_lost(const struct ui_memory *m, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->losses.len; i++)
		if (m->losses.items[i].ns >= from_ns && m->losses.items[i].ns < to_ns)
			n += m->losses.items[i].count;
	return n;
}
