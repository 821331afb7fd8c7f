// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recorder's memory: how it is shared out, the drops beside it, and when a dump is due.
 */
#include "probes/net/recorder/net_recorder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "event/names.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/recorder/net_recorder_impl.h"
#include "probes/net/packet/net_point.h"
#include "probes/net/net_setup.h"
#include "probes/net/packet/net_tc.h"
#include "probes/net/net_wire.h"

#include "net_recorder.skel.h"

#define SLOTS_MIN 16u
#define SNAP_MAX 65536u
#define DROPS_SHARE 8		/* of the memory, for drops: one part in so many */
#define GRACE_NS 1000000	/* a packet that got its time so long ago is in its slot */

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
		return err_set(err, -EINVAL, "--memory: %llu bytes hold %llu packets of %u bytes for each CPU and "
			       "direction; between %u and %u are wanted", (unsigned long long)bytes,
			       (unsigned long long)each, snap, SLOTS_MIN, INT32_MAX / k->n_rings);
	k->drop_limit = (size_t)(bytes / DROPS_SHARE);
	return 0;
}

int net_recorder_new(struct probe *p, const struct net_setup *s, struct net_recorder **ret, struct err *err)
{
	const struct net_recorder_conf *c = &((const struct net_conf *)p->conf)->keep;
	struct net_recorder *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return err_errno(err, -ENOMEM, "cannot set up the recorder");
	k->p = p;
	k->setup = s;
	k->keep_ns = c->keep_ns;
	k->after_ns = c->after_ns;
	map_init(&k->points, sizeof(uint64_t), 2);
	r = share_out(k, c->bytes ? c->bytes : NET_RECORDER_BYTES, err);
	if (r < 0) {
		net_recorder_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void net_recorder_free(struct net_recorder *k)
{
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

/* The arrays are there once the first object is loaded. */
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

int net_recorder_load(struct net_recorder *k, uint32_t netns, struct net_tc_progs *ret, struct err *err)
{
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
	uint8_t *points = map_add(&k->points, &key, NULL);

	if (!points)	/* a packet without a point */
		return;
	points[0] = row->in;
	points[1] = row->out;
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

/* Those that no dump can ask for any more: one that is due reaches back from its trigger. */
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

/* ---- when ---- */

/* Drops come by the rings, and those of the last moments, which matter most, may still wait there. */
static void dump_now(struct net_recorder *k, uint64_t to_ns)
{
	struct err e = { 0 };
	int r;

	probe_env_catch_up(k->p->env);
	k->due_ns = 0;
	r = net_recorder_dump(k, to_ns);
	if (r < 0) {
		err_errno(&e, r, "there is no memory for a dump");
		probe_env_hook_failed(k->p->env, "the flight recorder", &e);
	}
	k->marks.len = 0;
	k->told_ns = to_ns;
}

static int on_due(void *ctx, uint64_t now_ns)
{
	struct net_recorder *k = ctx;

	(void)now_ns;
	if (k->due_ns)
		dump_now(k, k->due_ns);
	return 0;
}

/* One shot; where there is no loop, net_recorder_tick() looks. */
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
		/* the trigger is older than the moment when it was noticed */
		k->due_ns = clock_boot_ns() + k->after_ns;
	}
	k->marks.items[k->marks.len++] = (struct net_mark){
		.ts_ns = t->ts_ns, .type = t->rec ? t->rec->type : 0,
		.cpu = t->rec ? t->rec->cpu : 0, .instance = t->rec ? t->rec->instance : 0,
	};
	return 0;
}

void net_recorder_tick(struct net_recorder *k)
{
	uint64_t now_ns = clock_boot_ns();

	if (k->due_ns && !k->p->loop && now_ns > k->due_ns + GRACE_NS)
		dump_now(k, k->due_ns);
	forget_old(k, now_ns);
}

void net_recorder_end(struct net_recorder *k)
{
	loop_remove(TAKE_PTR(k->timer));
	if (!k->due_ns)
		return;
	dump_now(k, MIN(k->due_ns, clock_boot_ns()));
}
