// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flight recorder: its memory, the drops beside it, and its dumps.
 */
#include "probes/net/recorder/net_recorder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/names.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/recorder/net_recorder_owner.h"
#include "probes/net/recorder/net_recorder_ring.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/packet/net_point.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_tc.h"
#include "probes/net/net_wire.h"

#include "net_recorder.skel.h"

#define SLOTS_MIN 16u
#define SNAP_MAX 65536u
#define DROPS_SHARE 8	 /* share of drops in the memory: 1/8 */
#define GRACE_NS 1000000 /* a packet with an older time stamp is in its slot */

/* A trigger that waits for its dump. */
struct net_mark {
	uint64_t ts_ns;
	uint16_t type, cpu, instance; /* type 0: no record */
};

struct net_kept_drop {
	struct sonde_rec *rec;
}; /* owned */

struct net_recorder {
	struct probe *p;
	const struct net_setup *setup;
	uint64_t keep_ns, after_ns;
	/* memory of the kernel side */
	uint32_t n_rings, n_slots; /* slots: of each ring */
	uint32_t slot_bytes;
	void *slots, *pos; /* mapped, NULL = not yet */
	size_t slots_len, pos_len;
	struct map points; /* netns << 32 | ifindex -> uint8_t[2], NET_POINT_* of in and out */
	/* drops, oldest first, from `first_drop` on */
	VEC(struct net_kept_drop) drops;
	size_t first_drop, drop_bytes, drop_limit;
	/* the pending dump */
	VEC(struct net_mark) marks;
	uint64_t due_ns;		   /* 0 = none */
	struct net_recorder_trigger first; /* of its triggers; `rec` and `on` are unused */
	char on[NET_RECORDER_DUMP_TEXT];
	struct loop_source *timer;
	uint64_t reported_ns; /* end of the time that the last dump covered */
	uint32_t n_dumps;
};

/* ---- memory ---- */

static int share_out(struct net_recorder *k, uint64_t bytes, struct err *err)
{
	uint32_t snap = MAX(k->setup->snaplen[NET_KIND_TRACE], k->setup->undecided_snaplen);
	uint64_t each;

	snap = MIN(snap, SNAP_MAX);
	k->slot_bytes = ROUND_UP((uint32_t)sizeof(struct net_slot) + snap, 8u);
	k->n_rings = probe_env_n_cpus(k->p->env) * NET_RECORDER_DIRS;
	each = bytes / k->n_rings / k->slot_bytes;
	for (k->n_slots = 1; k->n_slots <= each / 2 && k->n_slots < 1u << 30; k->n_slots *= 2)
		;
	if (each < SLOTS_MIN || k->n_slots > INT32_MAX / k->n_rings)
		return err_set(err, -EINVAL,
			       "--memory: %llu bytes hold %llu packets of %u bytes for each CPU and "
			       "direction; expected %u to %u",
			       (unsigned long long)bytes, (unsigned long long)each, snap, SLOTS_MIN,
			       INT32_MAX / k->n_rings);
	k->drop_limit = (size_t)(bytes / DROPS_SHARE);
	return 0;
}

static void close_recorder(void *part)
{
	struct net_recorder *k = part;

	if (!k)
		return;
	loop_remove(k->timer);
	if (k->slots)
		munmap(k->slots, k->slots_len);
	if (k->pos)
		munmap(k->pos, k->pos_len);
	for (size_t i = k->first_drop; i < k->drops.len; i++)
		free(k->drops.items[i].rec);
	vec_fini(&k->drops);
	vec_fini(&k->marks);
	map_fini(&k->points);
	free(k);
}
DEFINE_CLEANUP(struct net_recorder *, close_recorder)

static int open_recorder(struct net_parts *all, void **ret, struct err *err)
{
	const struct net_recorder_conf *c = &((const struct net_conf *)all->p->conf)->keep;
	_cleanup_(close_recorderp) struct net_recorder *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return err_errno(err, -ENOMEM, "cannot set up the recorder");
	k->p = all->p;
	k->setup = &all->setup;
	k->keep_ns = c->keep_ns;
	k->after_ns = c->after_ns;
	map_init(&k->points, sizeof(uint64_t), 2);
	r = share_out(k, c->bytes ? c->bytes : NET_RECORDER_BYTES, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(k);
	return 0;
}

static int map_array(struct net_recorder *k, const char *name, size_t len, void **ret)
{
	int fd = probe_env_instance_map(k->p->env, k->p->instance, name);
	void *at;

	if (fd < 0)
		return fd;
	at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	madvise(at, len, MADV_DONTFORK);
	*ret = at;
	return 0;
}

/* The arrays exist once the first object is loaded. */
static int map_memory(struct net_recorder *k)
{
	int r = 0;

	k->slots_len = (size_t)k->slot_bytes * k->n_slots * k->n_rings;
	k->pos_len = sizeof(struct net_recorder_pos) * k->n_rings;
	if (!k->slots)
		r = map_array(k, "inst_net_recorder_ring", k->slots_len, &k->slots);
	if (r >= 0 && !k->pos)
		r = map_array(k, "inst_net_slot_pos", k->pos_len, &k->pos);
	return r;
}

/* ---- programs ---- */

static void free_skel(void *skel)
{
	net_recorder_bpf__destroy(skel);
}

static int set_sizes(const struct net_recorder *k, struct net_recorder_bpf *skel)
{
	int r = bpf_map__set_value_size(skel->maps.inst_net_recorder_ring, k->slot_bytes);

	if (r >= 0)
		r = bpf_map__set_max_entries(skel->maps.inst_net_recorder_ring, k->n_slots * k->n_rings);
	return r < 0 ? r : bpf_map__set_max_entries(skel->maps.inst_net_slot_pos, k->n_rings);
}

static int load(struct net_recorder *k, uint32_t netns, struct net_recorder_bpf *skel, struct err *err)
{
	uint32_t mask = k->n_slots - 1, snap = k->slot_bytes - (uint32_t)sizeof(struct net_slot);
	int r = set_sizes(k, skel);

	if (r < 0)
		return err_errno(err, r, "cannot size the recorder's memory");
	r = net_setup_apply(k->setup, k->p, skel->obj, netns, err);
	if (r < 0)
		return r;
	probe_rodata_set(skel->obj, "net_recorder_mask", &mask, sizeof(mask));
	probe_rodata_set(skel->obj, "net_recorder_snap", &snap, sizeof(snap));
	r = probe_env_load(k->p->env, skel->obj, err);
	if (r >= 0 && map_memory(k) < 0)
		r = err_errno(err, map_memory(k), "cannot map the recorder's memory");
	return r;
}

int net_recorder_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err)
{
	struct net_recorder *k = all->part[NET_PART_RECORDER];
	struct net_recorder_bpf *skel = net_recorder_bpf__open();
	int r = skel ? load(k, netns, skel, err) : err_errno(err, -errno, "cannot open the recorder's programs");

	if (r < 0) {
		net_recorder_bpf__destroy(skel);
		return r;
	}
	*ret = (struct net_tc_progs){
		.fd = { { bpf_program__fd(skel->progs.sonde_keep_i_l2),
			  bpf_program__fd(skel->progs.sonde_keep_o_l2) },
			{ bpf_program__fd(skel->progs.sonde_keep_i_l3),
			  bpf_program__fd(skel->progs.sonde_keep_o_l3) } },
		.points_fd = -1, .local_fd = bpf_map__fd(skel->maps.inst_net_local), .skel = skel, .free = free_skel,
	};
	return 0;
}

void net_recorder_link(struct net_recorder *k, uint32_t netns, const struct net_link *l)
{
	const struct net_point_row *row = net_point_find(l);
	uint64_t key = names_iface_key(netns, l->ifindex);

	map_put(&k->points, &key, (const uint8_t[2]){ row->in, row->out }); /* if not: a packet without a point */
}

/* ---- drops ---- */

static void forget_first(struct net_recorder *k)
{
	struct sonde_rec *r = k->drops.items[k->first_drop++].rec;

	k->drop_bytes -= r->len;
	free(r);
	if (k->first_drop < k->drops.len / 2 + 1)
		return;
	k->drops.len -= k->first_drop;
	memmove(k->drops.items, k->drops.items + k->first_drop, k->drops.len * sizeof(*k->drops.items));
	k->first_drop = 0;
}

/* Drops out of reach of any dump: a pending one reaches back from its trigger. */
static void forget_old(struct net_recorder *k, uint64_t now_ns)
{
	uint64_t from = (k->due_ns ? k->first.ts_ns : now_ns) - MIN(now_ns, k->keep_ns);

	while (k->first_drop < k->drops.len && k->drops.items[k->first_drop].rec->ts_ns < from)
		forget_first(k);
}

void net_recorder_record(struct net_recorder *k, const struct sonde_rec *r)
{
	struct sonde_rec *copy;

	if ((r->type != NET_EV_DROP && r->type != NET_EV_XDP) || r->instance != k->p->instance ||
	    r->flags & SONDE_RF_KEPT || r->len > k->drop_limit)
		return;
	while (k->drop_bytes + r->len > k->drop_limit)
		forget_first(k);
	if (vec_grow(&k->drops) < 0)
		return;
	copy = malloc(r->len);
	if (!copy)
		return;
	memcpy(copy, r, r->len);
	k->drops.items[k->drops.len++].rec = copy;
	k->drop_bytes += copy->len;
}

/* ---- a dump: copies of the slots of that time with their owners, and the drops, ordered by time ---- */

struct entry {
	uint64_t ts_ns;
	size_t off; /* of a packet's record in `bytes`; of a drop, its index */
	bool is_drop, marked;
};

struct dump_run {
	struct net_recorder *k;
	uint64_t from_ns, to_ns;
	struct buf bytes; /* struct net_rec with packet, each at a multiple of 8 */
	VEC(struct entry) entries;
	struct net_recorder_ring_stats stats;
	uint64_t held_from_ns;
	uint64_t packets, drops;
	/* of the current ring */
	uint16_t cpu;
	uint8_t dir;
};

DEFINE_CLEANUP(struct net_owners *, net_recorder_owner_free)

static struct net_rec *rec_at(const struct dump_run *d, const struct entry *e)
{
	void *at = d->bytes.data + e->off;

	return at;
}

static uint8_t point_of(const struct dump_run *d, const struct net_slot *s)
{
	uint64_t key = names_iface_key(s->netns, s->ifindex);
	const uint8_t *points = map_find(&d->k->points, &key);

	return points ? points[d->dir == NET_DIR_OUT] : NET_POINT_NONE;
}

static struct net_rec rec_of(const struct dump_run *d, const struct net_slot *s)
{
	uint16_t class = d->dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS;

	return (struct net_rec){
		.hdr = {
			.ts_ns = s->ts_ns, .type = NET_EV_TRACE, .cpu = d->cpu, .seq = (uint32_t)s->seq,
			.instance = d->k->p->instance, .flags = class | SONDE_RF_KEPT | SONDE_RF_IDENT | s->flags,
			.len = (uint32_t)sizeof(struct net_rec) + s->cap_len,
		},
		.id = { .sock = s->cookie, .netns = s->netns },
		.netns = s->netns, .ifindex = s->ifindex, .orig_len = s->orig_len,
		.cap_len = s->cap_len, .mark = s->mark, .hash = s->hash, .link = s->link,
		.point = point_of(d, s), .dir = d->dir,
	};
}

static int add_packet(void *ctx, const struct net_slot *s)
{
	static const uint8_t zeros[8];
	struct dump_run *d = ctx;
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

static int read_ring(struct dump_run *d, uint32_t ring, struct net_slot *scratch)
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

static int read_rings(struct dump_run *d)
{
	_cleanup_free_ struct net_slot *scratch = malloc(d->k->slot_bytes);
	int r = scratch ? 0 : -ENOMEM;

	for (uint32_t i = 0; r >= 0 && i < d->k->n_rings; i++)
		r = read_ring(d, i, scratch);
	return r;
}

/* Removes packets that the selection excludes. */
static void find_owners(struct dump_run *d, struct net_owners *o)
{
	size_t n = 0;

	for (size_t i = 0; i < d->entries.len; i++)
		net_recorder_owner_learn(o, rec_at(d, &d->entries.items[i]));
	for (size_t i = 0; i < d->entries.len; i++)
		if (net_recorder_owner_find(o, rec_at(d, &d->entries.items[i])))
			d->entries.items[n++] = d->entries.items[i];
	d->entries.len = d->packets = n;
}

/* The kernel has applied the selection, but the packets of the dump may reveal more owners. */
static void query_owner(struct net_owners *o, struct sonde_rec *r)
{
	struct net_rec *drop = (void *)r;

	if (r->type == NET_EV_DROP && r->len >= sizeof(*drop) && !drop->hdr.tgid)
		net_recorder_owner_find(o, drop);
}

static int add_drops(struct dump_run *d, struct net_owners *o)
{
	const struct net_recorder *k = d->k;

	for (size_t i = k->first_drop; i < k->drops.len; i++) {
		uint64_t ts_ns = k->drops.items[i].rec->ts_ns;

		if (ts_ns < d->from_ns || ts_ns > d->to_ns)
			continue;
		query_owner(o, k->drops.items[i].rec);
		if (vec_push(&d->entries, (struct entry){ .ts_ns = ts_ns, .off = i, .is_drop = true }) < 0)
			return -ENOMEM;
		d->drops++;
	}
	return 0;
}

/* By time; at equal times packets first (a packet is seen before its drop), in the order of reading. */
static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return COMPARE(x->ts_ns, y->ts_ns) ?: COMPARE(x->is_drop, y->is_drop) ?: COMPARE(x->off, y->off);
}

/* ---- triggers ---- */

static bool is_marked(const struct dump_run *d, const struct entry *e, const struct net_mark *m)
{
	const struct sonde_rec *r = e->is_drop ? d->k->drops.items[e->off].rec : NULL;

	return r && r->ts_ns == m->ts_ns && r->type == m->type && r->cpu == m->cpu && r->instance == m->instance;
}

/* The record that triggered the dump; without one, the last record at or before the trigger. */
static void mark(struct dump_run *d, const struct net_mark *m)
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

static void emit_head(const struct dump_run *d)
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

static void emit_entry(struct dump_run *d, const struct entry *e)
{
	struct sonde_rec *r = e->is_drop ? d->k->drops.items[e->off].rec : &rec_at(d, e)->hdr;
	uint16_t flags = r->flags;

	r->flags |= SONDE_RF_KEPT | (e->marked ? SONDE_RF_TRIGGER : 0);
	probe_env_inject(d->k->p->env, r, r->len);
	r->flags = flags;
}

static int collect(struct dump_run *d)
{
	_cleanup_(net_recorder_owner_freep) struct net_owners *o = net_recorder_owner_new(d->k->p);
	int r = !o ? -ENOMEM : d->k->slots ? read_rings(d) : 0;

	if (r < 0)
		return r;
	find_owners(d, o);
	return add_drops(d, o);
}

static int make(struct dump_run *d)
{
	struct net_recorder *k = d->k;
	int r = collect(d);

	if (r < 0)
		return r;
	vec_sort(&d->entries, compare);
	for (size_t i = 0; i < k->marks.len; i++)
		mark(d, &k->marks.items[i]);
	k->n_dumps++;
	emit_head(d);
	for (size_t i = 0; i < d->entries.len; i++)
		emit_entry(d, &d->entries.items[i]);
	return 0;
}

static int dump(struct net_recorder *k, uint64_t to_ns)
{
	uint64_t from = k->first.ts_ns > k->keep_ns ? k->first.ts_ns - k->keep_ns : 0;
	struct dump_run d = { .k = k, .from_ns = MAX(from, k->reported_ns + 1), .to_ns = to_ns };
	int r;

	d.held_from_ns = d.from_ns;
	r = make(&d);
	buf_fini(&d.bytes);
	vec_fini(&d.entries);
	return r;
}

/* ---- when ---- */

/* The rings may still hold drops of the last moments, the most important ones. */
static void dump_now(struct net_recorder *k, uint64_t to_ns)
{
	struct err e = { 0 };
	int r;

	probe_env_catch_up(k->p->env);
	k->due_ns = 0;
	r = dump(k, to_ns);
	if (r < 0) {
		err_errno(&e, r, "cannot make a dump");
		probe_env_hook_failed(k->p->env, k->p->instance, "the flight recorder", &e);
	}
	k->marks.len = 0;
	k->reported_ns = to_ns;
}

static int on_due(void *ctx, _unused_ uint64_t now_ns)
{
	struct net_recorder *k = ctx;

	if (k->due_ns)
		dump_now(k, k->due_ns);
	return 0;
}

/* One shot; without a loop, tick() checks. */
static int set_timer(struct net_recorder *k)
{
	if (!k->p->loop)
		return 0;
	if (k->timer)
		return loop_set_timer(k->timer, k->after_ns + GRACE_NS, 0);
	return loop_add_timer(k->p->loop, k->after_ns + GRACE_NS, 0, on_due, k, &k->timer);
}

int net_recorder_trigger(struct net_recorder *k, const struct net_recorder_trigger *t)
{
	int r = vec_grow(&k->marks);

	if (r < 0)
		return r;
	if (!k->due_ns) {
		k->first = *t;
		snprintf(k->on, sizeof(k->on), "%s", t->on ? t->on : "");
		r = set_timer(k);
		if (r < 0)
			return r;
		/* the trigger is older than its detection */
		k->due_ns = clock_boot_ns() + k->after_ns;
	}
	k->marks.items[k->marks.len++] = (struct net_mark){
		.ts_ns = t->ts_ns, .type = t->rec ? t->rec->type : 0,
		.cpu = t->rec ? t->rec->cpu : 0, .instance = t->rec ? t->rec->instance : 0,
	};
	return 0;
}

static void tick(void *part)
{
	struct net_recorder *k = part;
	uint64_t now_ns = clock_boot_ns();

	if (k->due_ns && !k->p->loop && now_ns > k->due_ns + GRACE_NS)
		dump_now(k, k->due_ns);
	forget_old(k, now_ns);
}

/* Makes a pending dump. */
static void finish(void *part)
{
	struct net_recorder *k = part;

	loop_remove(TAKE_PTR(k->timer));
	if (!k->due_ns)
		return;
	dump_now(k, MIN(k->due_ns, clock_boot_ns()));
}

const struct net_part net_recorder_part = {
	.open = open_recorder, .tick = tick, .finish = finish, .close = close_recorder,
};
