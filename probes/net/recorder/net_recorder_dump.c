// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A dump: copies of the slots of that time, with the owners of the packets, and the drops of it, put into the stream
 * in the order of their times.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "event/names.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/recorder/net_recorder_impl.h"
#include "probes/net/recorder/net_recorder_owner.h"
#include "probes/net/recorder/net_recorder_ring.h"
#include "probes/net/net_wire.h"

struct entry {
	uint64_t ts_ns;
	size_t off;		/* of a packet's record in `bytes`; with a drop, its index */
	bool is_drop, marked;
};

struct dump {
	struct net_recorder *k;
	uint64_t from_ns, to_ns;
	struct buf bytes;	/* struct net_rec with packet, each at a multiple of 8 */
	VEC(struct entry) entries;
	struct net_recorder_ring_stats stats;
	uint64_t held_from_ns;
	uint64_t packets, drops;
	/* of the ring that is read */
	uint16_t cpu;
	uint8_t dir;
};

DEFINE_CLEANUP(struct net_owners *, net_recorder_owner_free)

static struct net_rec *rec_at(const struct dump *d, const struct entry *e)
{
	void *at = d->bytes.data + e->off;

	return at;
}

static uint8_t point_of(const struct dump *d, const struct net_slot *s)
{
	uint64_t key = names_iface_key(s->netns, s->ifindex);
	const uint8_t *points = map_find(&d->k->points, &key);

	return points ? points[d->dir == NET_DIR_OUT] : NET_POINT_NONE;
}

static struct net_rec rec_of(const struct dump *d, const struct net_slot *s)
{
	uint16_t class = d->dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS;

	return (struct net_rec){
		.hdr = {
			.ts_ns = s->ts_ns, .type = NET_EV_TRACE, .cpu = d->cpu, .seq = (uint32_t)s->seq,
			.instance = d->k->p->instance, .flags = class | SONDE_RF_KEPT | s->flags,
			.len = (uint32_t)sizeof(struct net_rec) + s->cap_len,
		},
		.cookie = s->cookie, .netns = s->netns, .ifindex = s->ifindex, .orig_len = s->orig_len,
		.cap_len = s->cap_len, .mark = s->mark, .hash = s->hash, .link = s->link,
		.point = point_of(d, s), .dir = d->dir,
	};
}

static int add_packet(void *ctx, const struct net_slot *s)
{
	static const uint8_t zeros[8];
	struct dump *d = ctx;
	const struct net_rec r = rec_of(d, s);
	size_t off = d->bytes.len;

	if (vec_grow(&d->entries) < 0)
		return -ENOMEM;
	buf_add(&d->bytes, &r, sizeof(r));
	buf_add(&d->bytes, s->data, s->cap_len);
	buf_add(&d->bytes, zeros, (8 - s->cap_len % 8) % 8);
	if (buf_error(&d->bytes) < 0)
		return -ENOMEM;
	d->entries.items[d->entries.len++] = (struct entry){ .ts_ns = s->ts_ns, .off = off };
	return 0;
}

static int read_ring(struct dump *d, uint32_t ring, struct net_slot *scratch)
{
	const struct net_recorder *k = d->k;
	const struct net_recorder_ring s = {
		.slots = (const uint8_t *)k->slots + (size_t)ring * k->n_slots * k->slot_bytes,
		.slot_bytes = k->slot_bytes,
		.n = k->n_slots,
		.pos = (const struct net_recorder_pos *)k->pos + ring,
	};
	struct net_recorder_ring_stats st = { 0 };
	int r;

	d->cpu = (uint16_t)(ring / NET_RECORDER_DIRS);
	d->dir = ring % NET_RECORDER_DIRS ? NET_DIR_OUT : NET_DIR_IN;
	r = net_recorder_ring_read(&s, d->from_ns, d->to_ns, scratch, add_packet, d, &st);
	d->stats.torn += st.torn;
	if (st.lapped && st.oldest_ns > d->held_from_ns)
		d->held_from_ns = st.oldest_ns;
	return r;
}

static int read_rings(struct dump *d)
{
	_cleanup_free_ struct net_slot *scratch = malloc(d->k->slot_bytes);
	int r = scratch ? 0 : -ENOMEM;

	for (uint32_t i = 0; r >= 0 && i < d->k->n_rings; i++)
		r = read_ring(d, i, scratch);
	return r;
}

/* Whom the selection leaves out goes. */
static void find_owners(struct dump *d, struct net_owners *o)
{
	size_t n = 0;

	for (size_t i = 0; i < d->entries.len; i++)
		net_recorder_owner_learn(o, rec_at(d, &d->entries.items[i]));
	for (size_t i = 0; i < d->entries.len; i++)
		if (net_recorder_owner_find(o, rec_at(d, &d->entries.items[i])))
			d->entries.items[n++] = d->entries.items[i];
	d->entries.len = d->packets = n;
}

/* The selection was made in the kernel; but the packets of the dump may know more than the kernel did. */
static void ask_owner(struct net_owners *o, struct sonde_rec *r)
{
	struct net_rec *drop = (void *)r;

	if (r->type == NET_EV_DROP && r->len >= sizeof(*drop) && drop->owner_by == NET_OWNER_NONE)
		net_recorder_owner_find(o, drop);
}

static int add_drops(struct dump *d, struct net_owners *o)
{
	const struct net_recorder *k = d->k;

	for (size_t i = k->first_drop; i < k->drops.len; i++) {
		uint64_t ts_ns = k->drops.items[i].rec->ts_ns;

		if (ts_ns < d->from_ns || ts_ns > d->to_ns)
			continue;
		ask_owner(o, k->drops.items[i].rec);
		if (vec_grow(&d->entries) < 0)
			return -ENOMEM;
		d->entries.items[d->entries.len++] = (struct entry){ .ts_ns = ts_ns, .off = i, .is_drop = true };
		d->drops++;
	}
	return 0;
}

/* By time; of one time packets first (one is seen before it is dropped), in the order in which they were read. */
static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x->is_drop != y->is_drop)
		return x->is_drop ? 1 : -1;
	return (x->off > y->off) - (x->off < y->off);
}

/* ---- triggers ---- */

static bool is_marked(const struct dump *d, const struct entry *e, const struct net_mark *m)
{
	const struct sonde_rec *r = e->is_drop ? d->k->drops.items[e->off].rec : NULL;

	return r && r->ts_ns == m->ts_ns && r->type == m->type && r->cpu == m->cpu &&
	       r->instance == m->instance;
}

/* The record that set it off; for anything else the last one that is not later. */
static void mark(struct dump *d, const struct net_mark *m)
{
	struct entry *before = NULL;

	for (size_t i = 0; i < d->entries.len && d->entries.items[i].ts_ns <= m->ts_ns; i++) {
		before = &d->entries.items[i];
		if (is_marked(d, before, m))
			break;
	}
	if (before)
		before->marked = true;
}

/* ---- into the stream ---- */

static void tell_head(const struct dump *d)
{
	const struct net_recorder *k = d->k;
	struct net_recorder_dump_rec r = {
		.hdr = { .ts_ns = k->first.ts_ns,
			 .type = NET_EV_DUMP,
			 .instance = k->p->instance,
			 .flags = SONDE_RF_KEPT },
		.from_ns = d->from_ns,
		.to_ns = d->to_ns,
		.held_from_ns = d->held_from_ns,
		.packets = d->packets,
		.drops = d->drops,
		.torn = d->stats.torn,
		.number = k->n_dumps,
		.by = k->first.by,
	};

	snprintf(r.on, sizeof(r.on), "%s", k->on);
	probe_env_inject(k->p->env, &r.hdr, sizeof(r));
}

static void tell(struct dump *d, const struct entry *e)
{
	struct sonde_rec *r = e->is_drop ? d->k->drops.items[e->off].rec : &rec_at(d, e)->hdr;
	uint16_t flags = r->flags;

	r->flags |= SONDE_RF_KEPT | (e->marked ? SONDE_RF_TRIGGER : 0);
	probe_env_inject(d->k->p->env, r, r->len);
	r->flags = flags;
}

static int collect(struct dump *d)
{
	_cleanup_(net_recorder_owner_freep) struct net_owners *o = net_recorder_owner_new(d->k->p);
	int r = !o ? -ENOMEM : d->k->slots ? read_rings(d) : 0;

	if (r < 0)
		return r;
	find_owners(d, o);
	return add_drops(d, o);
}

static int make(struct dump *d)
{
	struct net_recorder *k = d->k;
	int r = collect(d);

	if (r < 0)
		return r;
	if (d->entries.len)
		qsort(d->entries.items, d->entries.len, sizeof(*d->entries.items), compare);
	for (size_t i = 0; i < k->marks.len; i++)
		mark(d, &k->marks.items[i]);
	k->n_dumps++;
	tell_head(d);
	for (size_t i = 0; i < d->entries.len; i++)
		tell(d, &d->entries.items[i]);
	return 0;
}

int net_recorder_dump(struct net_recorder *k, uint64_t to_ns)
{
	uint64_t from = k->first.ts_ns > k->keep_ns ? k->first.ts_ns - k->keep_ns : 0;
	struct dump d = { .k = k, .from_ns = MAX(from, k->told_ns + 1), .to_ns = to_ns };
	int r;

	d.held_from_ns = d.from_ns;
	r = make(&d);
	buf_fini(&d.bytes);
	vec_fini(&d.entries);
	return r;
}
