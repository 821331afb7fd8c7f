// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/state_timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define KEEP_CHANGES 8	/* beyond these, settled ones that later ones replace are removed */
#define MAX_CHANGES 64	/* beyond these, unsettled ones as well */

/* ---- losses ---- */

void state_timeline_lost(struct state_losses *l, uint64_t ts_ns)
{
	unsigned i = l->n;

	while (i && l->at_ns[i - 1] > ts_ns)
		i--;
	if (i && l->at_ns[i - 1] == ts_ns)
		return;
	if (l->n == STATE_LOSSES) {
		if (!i)
			return;
		memmove(&l->at_ns[0], &l->at_ns[1], (--l->n) * sizeof(l->at_ns[0]));
		i--;
	}
	memmove(&l->at_ns[i + 1], &l->at_ns[i], (l->n - i) * sizeof(l->at_ns[0]));
	l->at_ns[i] = ts_ns;
	l->n++;
}

/* The last loss up to @ts_ns; 0 = none. */
static uint64_t loss_before(const struct state_losses *l, uint64_t ts_ns)
{
	unsigned i = l->n;

	while (i && l->at_ns[i - 1] > ts_ns)
		i--;
	return i ? l->at_ns[i - 1] : 0;
}

/* ---- answers ---- */

static void forget_answer(struct state_task_at **slot, size_t *bytes)
{
	if (!*slot)
		return;
	*bytes -= sizeof(**slot) + (*slot)->section_len;
	free((void *)(*slot)->section);
	free(*slot);
	*slot = NULL;
}

void state_timeline_forget_answers(struct state_timeline *l, size_t *bytes)
{
	forget_answer(&l->before, bytes);
	for (unsigned i = 0; i < l->n; i++)
		forget_answer(&l->changes[i].answer, bytes);
}

/* Number of changes up to @ts_ns. */
static unsigned changes_until(const struct state_timeline *l, uint64_t ts_ns)
{
	unsigned n = l->n;

	while (n && l->changes[n - 1].at_ns > ts_ns)
		n--;
	return n;
}

struct state_task_at **state_timeline_slot(struct state_timeline *l, uint64_t ts_ns)
{
	unsigned n = changes_until(l, ts_ns);

	return n ? &l->changes[n - 1].answer : &l->before;
}

/* ---- values ---- */

static bool is_event(const struct state_change *c)
{
	return c->source != STATE_SNAPSHOT;
}

/* The latest of the first @n changes with the value @has; of events or of snapshots. NULL = none. */
static const struct state_change *latest(const struct state_timeline *l, unsigned n, uint8_t has, bool event)
{
	while (n--)
		if (l->changes[n].has & has && is_event(&l->changes[n]) == event)
			return &l->changes[n];
	return NULL;
}

/* Was a record lost between the event @e and the snapshot @s? */
static bool is_doubtful(const struct state_change *e, const struct state_change *s,
			const struct state_losses *losses)
{
	return MAX(s->doubt_ns, loss_before(losses, s->at_ns)) > e->at_ns;
}

/*
 * The change with the value @has after the first @n changes. A snapshot also holds for the time before it, back to
 * the last event.
 */
static const struct state_change *find_value(const struct state_timeline *l, unsigned n, uint8_t has,
					     const struct state_losses *losses)
{
	const struct state_change *e = latest(l, n, has, true), *s = latest(l, n, has, false);

	if (e)
		return s && s > e && is_doubtful(e, s, losses) ? s : e;
	if (s)
		return s;
	for (; n < l->n; n++)
		if (l->changes[n].has & has)
			return is_event(&l->changes[n]) ? NULL : &l->changes[n];
	return NULL;
}

void state_timeline_resolve(const struct state_timeline *l, uint64_t ts_ns, const struct state_losses *losses,
			    struct state_change *ret)
{
	unsigned n = changes_until(l, ts_ns);
	const struct state_change *c;

	*ret = (struct state_change){ .at_ns = ts_ns };
	if (ts_ns < l->floor_ns)
		return;
	for (uint8_t has = STATE_HAS_COMM; has <= STATE_HAS_CGROUP; has <<= 1) {
		c = find_value(l, n, has, losses);
		if (!c)
			continue;
		ret->has |= has;
		switch (has) {
		case STATE_HAS_COMM: memcpy(ret->comm, c->comm, sizeof(ret->comm)); break;
		case STATE_HAS_IMAGE: ret->image = c->image; ret->image_number = c->image_number; break;
		case STATE_HAS_IDS: ret->uid = c->uid; ret->gid = c->gid; break;
		case STATE_HAS_PPID: ret->ppid = c->ppid; break;
		case STATE_HAS_CGROUP: ret->cgroup_id = c->cgroup_id; break;
		}
	}
}

bool state_timeline_has_image(const struct state_timeline *l, uint64_t number)
{
	return FIND_ITEM(it, l->changes, l->n, it->image_number == number);
}

/* ---- changes ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By time, then strength, then content, so that equal sets have equal orders. */
static int compare(const struct state_change *a, const struct state_change *b)
{
	const int by[] = {
		compare_numbers(a->at_ns, b->at_ns), compare_numbers(a->source, b->source),
		compare_numbers(a->has, b->has), compare_numbers(a->uid, b->uid), compare_numbers(a->gid, b->gid),
		compare_numbers(a->ppid, b->ppid), compare_numbers(a->cgroup_id, b->cgroup_id),
		compare_numbers(a->image_number, b->image_number),
		memcmp(a->comm, b->comm, sizeof(a->comm)),
	};

	for (size_t i = 0; i < ARRAY_SIZE(by); i++)
		if (by[i])
			return by[i];
	/* the image of a birth is inherited, not part of the fact */
	return a->source == STATE_BIRTH ? 0 : state_image_compare(a->image, b->image);
}

static void remove_change(struct state_timeline *l, unsigned i, struct state_images *images)
{
	state_image_put(images, l->changes[i].image);
	memmove(&l->changes[i], &l->changes[i + 1], (size_t)(l->n - i - 1) * sizeof(l->changes[0]));
	l->n--;
}

/* Index of the change that completes the replacement of @i, all before @settled_ns; l->n = none. */
static unsigned replaced_by(const struct state_timeline *l, unsigned i, uint64_t settled_ns)
{
	uint8_t left = l->changes[i].has;
	unsigned k = i + 1;

	for (; k < l->n && l->changes[k].at_ns < settled_ns; k++) {
		if (is_event(&l->changes[k]) || !is_event(&l->changes[i]))
			left &= (uint8_t)~l->changes[k].has;
		if (!left)
			return k;
	}
	return l->n;
}

/* Removes the first replaced change. The time until its replacement becomes unknown. */
static bool forget_one(struct state_timeline *l, uint64_t settled_ns, struct state_images *images)
{
	for (unsigned i = 0; i < l->n; i++) {
		unsigned k = replaced_by(l, i, settled_ns);

		if (k == l->n)
			continue;
		l->floor_ns = MAX(l->floor_ns, l->changes[k].at_ns);
		remove_change(l, i, images);
		return true;
	}
	return false;
}

static void make_room(struct state_timeline *l, uint64_t settled_ns, struct state_images *images)
{
	while (l->n > KEEP_CHANGES && forget_one(l, settled_ns, images))
		;
	while (l->n > MAX_CHANGES && forget_one(l, UINT64_MAX, images))
		;
}

static int grow(struct state_timeline *l, size_t *bytes)
{
	uint16_t cap = l->cap ? (uint16_t)(l->cap * 2) : 1;
	struct state_change *p;

	if (l->n < l->cap)
		return 0;
	p = realloc(l->changes, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	*bytes += (size_t)(cap - l->cap) * sizeof(*p);
	l->changes = p;
	l->cap = cap;
	return 0;
}

int state_timeline_add(struct state_timeline *l, const struct state_change *c, uint64_t settled_ns,
		       struct state_images *images, const struct state_losses *losses, size_t *bytes)
{
	unsigned i = l->n;
	int order = 1;

	while (i && (order = compare(c, &l->changes[i - 1])) < 0)
		i--;
	if (i && !order) {
		state_image_put(images, c->image);
		return 0;
	}
	if (grow(l, bytes) < 0) {
		state_image_put(images, c->image);
		return -ENOMEM;
	}
	state_timeline_forget_answers(l, bytes);
	memmove(&l->changes[i + 1], &l->changes[i], (size_t)(l->n - i) * sizeof(*c));
	l->changes[i] = *c;
	if (c->source == STATE_SNAPSHOT)
		l->changes[i].doubt_ns = loss_before(losses, c->at_ns);
	l->n++;
	make_room(l, settled_ns, images);
	return 0;
}

void state_timeline_inherit(struct state_timeline *l, struct state_image *image, struct state_images *images,
			    size_t *bytes)
{
	each_item(c, l->changes, l->n) {
		if (c->source != STATE_BIRTH || c->image == image)
			continue;
		state_timeline_forget_answers(l, bytes);
		state_image_put(images, c->image);
		c->image = state_image_get(image);
		c->has = (uint8_t)(image ? c->has | STATE_HAS_IMAGE : c->has & ~STATE_HAS_IMAGE);
	}
}

void state_timeline_fini(struct state_timeline *l, struct state_images *images, size_t *bytes)
{
	state_timeline_forget_answers(l, bytes);
	while (l->n)
		remove_change(l, l->n - 1U, images);
	*bytes -= l->cap * sizeof(l->changes[0]);
	free(l->changes);
	*l = (struct state_timeline){ 0 };
}
