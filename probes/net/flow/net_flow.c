// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/flow/net_flow.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/flow/net_flow_table_wire.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_tc.h"
#include "probes/net/net_wire.h"

#include "net_flow.skel.h"

#define LINGER_NS 1000000000ull		/* last acknowledgements follow the FIN of both sides */
#define LOW_INTERVAL_NS 1000000000ull	/* of --aggregation low */
#define LATE_NS 100000000ull		/* a packet counts its flow's time once per tick; drops follow */
#define BATCH 256
#define SLOTS_BYTES (NET_FLOW_SLOTS * sizeof(struct net_flow_slot))

struct net_flows {
	struct probe *p;
	uint64_t idle_ns;
	uint64_t sums_ns;	/* between reports of live flows; 0 = packets cause them */
	uint64_t summed_ns;	/* when the last ones were made */
	bool due;		/* they are due in this walk */
	uint32_t netns;
	int fd;		/* net_flows */
	struct net_flow_bpf *skel;	/* owned */
	struct net_flow_slot *slots;	/* NET_FLOW_SLOTS, shared with the programs; NULL = not mapped yet */
	int query_fd;			/* sonde_flow_ask; -1 = this kernel cannot run it */
};

static void free_flows(void *flows)
{
	struct net_flows *f = flows;

	if (f->slots)
		munmap(f->slots, SLOTS_BYTES);
	net_flow_bpf__destroy(f->skel);
	free(f);
}
DEFINE_CLEANUP(struct net_flows *, free_flows)

/* bpf_for_each_map_elem() exists since 5.13; before 5.18 programs cannot query connection tracking. */
static bool can_query(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_for_each_map_elem, NULL) == 1;
}

static int load(struct probe *p, const struct net_setup *s, uint32_t netns, bool query, struct net_flow_bpf *skel,
		struct err *err)
{
	const struct net_flow_conf *c = &((const struct net_conf *)p->conf)->flow;
	uint32_t level = c->level, dns = c->dns, quick = level != NET_AGGREGATE_NONE;
	uint64_t interval = level == NET_AGGREGATE_LOW ? LOW_INTERVAL_NS : c->interval_ns;
	int r = net_setup_apply(s, p, skel->obj, netns, err);

	if (r < 0)
		return r;
	bpf_program__set_autoload(skel->progs.sonde_flow_ask, query);
	probe_rodata_set(skel->obj, "net_flow_level", &level, sizeof(level));
	probe_rodata_set(skel->obj, "net_flow_dns", &dns, sizeof(dns));
	probe_rodata_set(skel->obj, "net_flow_short", &quick, sizeof(quick));
	probe_rodata_set(skel->obj, "net_flow_interval_ns", &interval, sizeof(interval));
	r = bpf_map__set_max_entries(skel->maps.net_flows, c->max);
	return r < 0 ? err_errno(err, r, "cannot size the table of flows") : probe_env_load(p->env, skel->obj, err);
}

/* A kernel whose verifier rejects the query program runs without it. */
static int open_and_load(struct probe *p, const struct net_setup *s, uint32_t netns, struct net_flow_bpf **ret,
			 struct err *err)
{
	int r = -ENOMEM;

	for (int query = can_query(); query >= 0; query--) {
		struct net_flow_bpf *skel = net_flow_bpf__open();

		if (!skel)
			return err_errno(err, -ENOMEM, "cannot open the programs for flows");
		r = load(p, s, netns, query, skel, err);
		if (r >= 0) {
			*ret = skel;
			return 0;
		}
		net_flow_bpf__destroy(skel);
	}
	return r;
}

int net_flow_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err)
{
	_cleanup_(free_flowsp) struct net_flows *f = calloc(1, sizeof(*f));
	const struct net_flow_bpf *skel;
	struct probe *p = all->p;
	void *slots;
	int r;

	if (!f)
		return err_errno(err, -ENOMEM, "cannot count flows");
	r = open_and_load(p, &all->setup, netns, &f->skel, err);
	if (r < 0)
		return r;
	skel = f->skel;
	slots = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(skel->maps.net_flow_slots), 0);
	if (slots == MAP_FAILED)
		return err_errno(err, -errno, "cannot map the slots of flows");
	f->slots = slots;
	f->p = p;
	f->idle_ns = ((const struct net_conf *)p->conf)->flow.idle_ns;
	f->sums_ns = all->setup.sums ? ((const struct net_conf *)p->conf)->flow.interval_ns : 0;
	f->netns = netns;
	f->fd = bpf_map__fd(skel->maps.net_flows);
	f->query_fd = bpf_program__fd(skel->progs.sonde_flow_ask);
	*ret = (struct net_tc_progs){
		.fd = { { bpf_program__fd(skel->progs.sonde_flow_i_l2),
			  bpf_program__fd(skel->progs.sonde_flow_o_l2) },
			{ bpf_program__fd(skel->progs.sonde_flow_i_l3),
			  bpf_program__fd(skel->progs.sonde_flow_o_l3) } },
		.points_fd = bpf_map__fd(skel->maps.net_points),
		.local_fd = bpf_map__fd(skel->maps.inst_net_local),
		.flows = f, .skel = f, .free = free_flows,
	};
	TAKE_PTR(f);
	return 0;
}

int net_flow_fd(const struct net_flows *f)
{
	return f->fd;
}

/* ---- slots ---- */

/* The slot of one direction, live or shut; NULL = it has none. */
static struct net_flow_slot *slot_of(const struct net_flows *f, const struct net_flow_entry *e, uint32_t ifindex,
				     unsigned way)
{
	struct net_flow_slot_key k;
	struct net_flow_slot *s;

	if (!net_flow_slot_key_of(e, ifindex, way, &k))
		return NULL;
	s = &f->slots[net_flow_slot_index(&k)];
	return net_flow_slot_owned(s, &k) ? s : NULL;
}

static bool is_live(const struct net_flow_slot *s)
{
	return (s->key.what & 0xff) == NET_FLOW_SLOT_LIVE;
}

/* Shuts the flow's slots, or reopens them. True if any changed. */
static bool slots_turn(const struct net_flows *f, const struct net_flow_entry *e, uint32_t ifindex, bool shut)
{
	bool turned = false;

	for (unsigned way = 0; way < 2; way++) {
		struct net_flow_slot *s = slot_of(f, e, ifindex, way);

		if (!s || is_live(s) != shut)
			continue;
		__atomic_fetch_xor(&s->key.what, NET_FLOW_SLOT_LIVE ^ NET_FLOW_SLOT_SHUT, __ATOMIC_SEQ_CST);
		turned = true;
	}
	return turned;
}

/* Adds the counts of the slots to a flow. */
struct slot_sums {
	struct { uint64_t packets, bytes; } way[2];
	uint64_t last_ns;
};

static struct slot_sums slots_sum(const struct net_flows *f, const struct net_flow_entry *e, uint32_t ifindex)
{
	struct slot_sums sums = { 0 };

	for (unsigned way = 0; way < 2; way++) {
		const struct net_flow_slot *s = slot_of(f, e, ifindex, way);

		if (!s)
			continue;
		sums.way[way].packets = s->packets;
		sums.way[way].bytes = s->bytes;
		sums.last_ns = MAX(sums.last_ns, s->last_ns);
	}
	return sums;
}

static void add_sums(struct net_flow *flow, const struct slot_sums *sums)
{
	for (unsigned way = 0; way < 2; way++) {
		flow->way[way].packets += sums->way[way].packets;
		flow->way[way].bytes += sums->way[way].bytes;
	}
	flow->last_ns = MAX(flow->last_ns, sums->last_ns);
}

/* Releases them: packets no longer write to them. */
static void slots_free(const struct net_flows *f, const struct net_flow_entry *e, uint32_t ifindex)
{
	for (unsigned way = 0; way < 2; way++) {
		struct net_flow_slot *s = slot_of(f, e, ifindex, way);

		if (!s)
			continue;
		__atomic_store_n(&s->key.what, 0, __ATOMIC_SEQ_CST);
		s->packets = s->bytes = s->last_ns = 0;
		s->tick = 0;
		__atomic_fetch_sub(&s->claims, 1, __ATOMIC_SEQ_CST);
	}
}

/* ---- reports ---- */

static void set_points(const struct net_flows *f, struct net_flow_rec *r)
{
	const bool out = r->flow.dir == NET_DIR_OUT, loops = r->ifindex == 1;
	struct { uint8_t in, out; } point;

	if (!f->sums_ns || bpf_map_lookup_elem(bpf_map__fd(f->skel->maps.net_points), &r->ifindex, &point) < 0)
		return;
	r->point = out ? point.out : point.in;
	r->other_point = (out && !loops ? point.in : point.out) + 1;
}

/* Created in user space, so the pipeline counts it as injected, not the kernel's ledger. */
static void report(struct net_flows *f, const struct net_flow_key *key, const struct net_flow *flow, uint8_t why)
{
	struct net_flow_rec r = {
		.hdr = { .type = NET_EV_FLOW, .instance = f->p->instance, .flags = NET_CLASS_FLOW | SONDE_RF_IDENT,
			 .tgid = flow->owner_tgid, .start_ns = flow->owner_start_ns },
		.id = { .cgroup_id = flow->cgroup_id, .sock = flow->cookie, .netns = f->netns,
			.owner_how = flow->owner & NET_FLOW_HOW_MASK },
		.netns = f->netns, .ifindex = key->ifindex, .why = why, .point = NET_POINT_NONE, .flow = *flow,
	};

	set_points(f, &r);
	probe_env_inject(f->p->env, &r.hdr, sizeof(r));
}

/* Cause of @flow's end; 0 = it lives. */
static uint8_t ended(const struct net_flows *f, const struct net_flow *flow, uint64_t now_ns)
{
	if (flow->last_ns > now_ns)
		return 0;
	if (flow->closed_ns && now_ns - flow->last_ns > LINGER_NS)
		return NET_FLOW_CLOSED;
	return f->idle_ns && now_ns - flow->last_ns > f->idle_ns ? NET_FLOW_IDLE : 0;
}

/* 0 if the entry was removed; in one step where the kernel can (5.14), because packets arrive in between. */
static int take_out(const struct net_flows *f, const struct net_flow_key *key, struct net_flow *ret)
{
	struct net_flow_entry e;

	if (bpf_map_lookup_and_delete_elem(f->fd, key, &e) < 0) {
		if (errno == ENOENT || bpf_map_lookup_elem(f->fd, key, &e) < 0 ||
		    bpf_map_delete_elem(f->fd, key) < 0)
			return -ENOENT;
	}
	net_flow_of(&e, ret);
	return 0;
}

/*
 * Live, with packets since its last report. A closed flow is about to end; the records of the process of a flow
 * that has just begun may still be in the ring buffer.
 */
static bool is_due(const struct net_flows *f, const struct net_flow *flow, uint64_t now_ns)
{
	return f->due && !flow->closed_ns && !flow->refused && flow->last_ns + LATE_NS >= f->summed_ns &&
	       flow->first_ns + LATE_NS <= now_ns;
}

/* A flow that may be about to end: its slots are shut now, so that all packets have left them a tick later. */
static bool nearly_ended(const struct net_flows *f, const struct net_flow *flow, uint64_t now_ns)
{
	return flow->closed_ns || (f->idle_ns && flow->last_ns < now_ns && now_ns - flow->last_ns > f->idle_ns / 2);
}

static void take_one(struct net_flows *f, const struct net_flow_key *key, const struct net_flow_entry *e,
		     uint64_t now_ns, bool all)
{
	const struct slot_sums sums = slots_sum(f, e, key->ifindex);
	struct net_flow last;
	uint8_t why;

	net_flow_of(e, &last);
	add_sums(&last, &sums);
	why = ended(f, &last, now_ns);
	if (!all && !why && is_due(f, &last, now_ns))
		report(f, key, &last, NET_FLOW_ACTIVE);
	if (!all && slots_turn(f, e, key->ifindex, nearly_ended(f, &last, now_ns)))
		return;
	if (!why && !all)
		return;
	slots_free(f, e, key->ifindex);
	if (take_out(f, key, &last) < 0 || last.refused)
		return;
	add_sums(&last, &sums);
	if (!all && !ended(f, &last, now_ns)) /* it woke up: its next packet restarts it */
		why = NET_FLOW_ACTIVE;
	report(f, key, &last, why ? why : NET_FLOW_END);
}

static void walk(struct net_flows *f, bool all)
{
	LIBBPF_OPTS(bpf_map_batch_opts, o);
	_cleanup_free_ struct net_flow_key *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_free_ struct net_flow_entry *flows = calloc(BATCH, sizeof(*flows));
	uint64_t now_ns = clock_boot_ns();
	uint32_t at = 0, n;
	void *from = NULL;
	int r = 0;

	f->due = f->sums_ns && now_ns - f->summed_ns >= f->sums_ns;
	while (keys && flows && r == 0) {
		n = BATCH;
		r = bpf_map_lookup_batch(f->fd, from, &at, keys, flows, &n, &o);
		if (r < 0 && r != -ENOENT)
			return;
		for (uint32_t i = 0; i < n; i++)
			take_one(f, &keys[i], &flows[i], now_ns, all);
		from = &at;
	}
	if (f->due)
		f->summed_ns = now_ns;
}

int net_flow_query(void *ctx)
{
	const struct net_flows *f = ctx;
	uint8_t packet[64] = { 0 }; /* the kernel requires a packet */
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = packet, .data_size_in = sizeof(packet));

	return f->query_fd < 0 ? 0 : bpf_prog_test_run_opts(f->query_fd, &o);
}

void net_flow_sweep(struct net_flows *f)
{
	walk(f, false);
}

void net_flow_end(struct net_flows *f)
{
	walk(f, true);
}
