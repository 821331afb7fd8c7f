// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/net_flow.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/net_flow_wire.h"
#include "probes/net/net_setup.h"
#include "probes/net/net_tc.h"
#include "probes/net/net_wire.h"

#include "net_flow.skel.h"

#define LINGER_NS 1000000000ull	/* last acknowledgements come after both sides said FIN */
#define LOW_INTERVAL_NS 1000000000ull	/* of --aggregation low */
#define BATCH 256

struct net_flows {
	struct probe *p;
	uint64_t idle_ns;
	uint32_t netns;
	int fd;		/* net_flows */
	int ask_fd;	/* sonde_flow_ask; -1 = this kernel cannot run it */
};

static void free_skel(void *skel)
{
	net_flow_bpf__destroy(skel);
}

/* bpf_for_each_map_elem() came with 5.13; before 5.18 there is nobody to ask. */
static bool can_ask(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_for_each_map_elem, NULL) == 1;
}

static int load(struct probe *p, const struct net_setup *s, uint32_t netns, bool ask, struct net_flow_bpf *skel,
		struct err *err)
{
	const struct net_flow_conf *c = &((const struct net_conf *)p->conf)->flow;
	uint32_t level = c->level, dns = c->dns;
	uint64_t interval = level == NET_AGGREGATE_LOW ? LOW_INTERVAL_NS : c->interval_ns;
	int r = net_setup_apply(s, p, skel->obj, netns, err);

	if (r < 0)
		return r;
	bpf_program__set_autoload(skel->progs.sonde_flow_ask, ask);
	probe_set_rodata(skel->obj, "net_flow_level", &level, sizeof(level));
	probe_set_rodata(skel->obj, "net_flow_dns", &dns, sizeof(dns));
	probe_set_rodata(skel->obj, "net_flow_interval_ns", &interval, sizeof(interval));
	r = bpf_map__set_max_entries(skel->maps.net_flows, c->max);
	return r < 0 ? err_errno(err, r, "cannot size the table of flows") : probe_env_load(p->env, skel->obj, err);
}

/* A kernel whose verifier does not want the program that asks does without it. */
static int open_and_load(struct probe *p, const struct net_setup *s, uint32_t netns, struct net_flow_bpf **ret,
			 struct err *err)
{
	int r = -ENOMEM;

	for (int ask = can_ask(); ask >= 0; ask--) {
		struct net_flow_bpf *skel = net_flow_bpf__open();

		if (!skel)
			return err_errno(err, -ENOMEM, "cannot open the programs for flows");
		r = load(p, s, netns, ask, skel, err);
		if (r >= 0) {
			*ret = skel;
			return 0;
		}
		net_flow_bpf__destroy(skel);
	}
	return r;
}

int net_flows_load(struct probe *p, const struct net_setup *s, uint32_t netns, struct net_flows **ret,
		   struct net_tc_progs *ret_progs, struct err *err)
{
	_cleanup_free_ struct net_flows *f = calloc(1, sizeof(*f));
	struct net_flow_bpf *skel = NULL;
	int r;

	if (!f)
		return err_errno(err, -ENOMEM, "cannot count flows");
	r = open_and_load(p, s, netns, &skel, err);
	if (r < 0)
		return r;
	*ret_progs = (struct net_tc_progs){
		.fd = { { bpf_program__fd(skel->progs.sonde_flow_i_l2),
			  bpf_program__fd(skel->progs.sonde_flow_o_l2) },
			{ bpf_program__fd(skel->progs.sonde_flow_i_l3),
			  bpf_program__fd(skel->progs.sonde_flow_o_l3) } },
		.points_fd = bpf_map__fd(skel->maps.net_points),
		.local_fd = bpf_map__fd(skel->maps.inst_net_local),
		.skel = skel, .free = free_skel,
	};
	*f = (struct net_flows){
		.p = p, .idle_ns = ((const struct net_conf *)p->conf)->flow.idle_ns, .netns = netns,
		.fd = bpf_map__fd(skel->maps.net_flows), .ask_fd = bpf_program__fd(skel->progs.sonde_flow_ask),
	};
	*ret = TAKE_PTR(f);
	return 0;
}

void net_flows_free(struct net_flows *f)
{
	free(f);
}

/* ---- ends ---- */

/* Made here, so no ledger of the kernel's knows it: the pipeline counts it as injected. */
static void tell(struct net_flows *f, const struct net_flow_key *key, const struct net_flow *flow, uint8_t why)
{
	struct net_flow_rec r = {
		.hdr = { .type = NET_EV_FLOW, .instance = f->p->instance, .flags = NET_CLASS_FLOW,
			 .tgid = flow->owner_tgid, .start_ns = flow->owner_start_ns },
		.netns = f->netns, .ifindex = key->ifindex, .why = why, .point = NET_POINT_NONE, .flow = *flow,
	};

	probe_inject(f->p->env, &r.hdr, sizeof(r));
}

/* Why @flow has ended; 0 = it has not. */
static uint8_t ended(const struct net_flows *f, const struct net_flow *flow, uint64_t now_ns)
{
	if (flow->last_ns > now_ns)
		return 0;
	if (flow->closed_ns && now_ns - flow->last_ns > LINGER_NS)
		return NET_FLOW_CLOSED;
	return f->idle_ns && now_ns - flow->last_ns > f->idle_ns ? NET_FLOW_IDLE : 0;
}

/* 0 when it was taken out; in one step where the kernel has it (5.14), for packets come in between. */
static int take_out(const struct net_flows *f, const struct net_flow_key *key, struct net_flow *ret)
{
	if (!bpf_map_lookup_and_delete_elem(f->fd, key, ret))
		return 0;
	if (errno == ENOENT || bpf_map_lookup_elem(f->fd, key, ret) < 0)
		return -ENOENT;
	return bpf_map_delete_elem(f->fd, key) < 0 ? -ENOENT : 0;
}

static void take_one(struct net_flows *f, const struct net_flow_key *key, const struct net_flow *flow,
		     uint64_t now_ns, bool all)
{
	uint8_t why = ended(f, flow, now_ns);
	struct net_flow last;

	if (!why && !all)
		return;
	if (take_out(f, key, &last) < 0 || last.refused)
		return;
	if (!all && !ended(f, &last, now_ns))	/* it woke up: its next packet begins it anew */
		why = NET_FLOW_ACTIVE;
	tell(f, key, &last, why ? why : NET_FLOW_END);
}

static void walk(struct net_flows *f, bool all)
{
	LIBBPF_OPTS(bpf_map_batch_opts, o);
	_cleanup_free_ struct net_flow_key *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_free_ struct net_flow *flows = calloc(BATCH, sizeof(*flows));
	uint64_t now_ns = clock_boot_ns();
	uint32_t at = 0, n;
	void *from = NULL;
	int r = 0;

	while (keys && flows && r == 0) {
		n = BATCH;
		r = bpf_map_lookup_batch(f->fd, from, &at, keys, flows, &n, &o);
		if (r < 0 && r != -ENOENT)
			return;
		for (uint32_t i = 0; i < n; i++)
			take_one(f, &keys[i], &flows[i], now_ns, all);
		from = &at;
	}
}

int net_flows_ask(void *ctx)
{
	const struct net_flows *f = ctx;
	uint8_t packet[64] = { 0 };	/* the kernel insists on one */
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = packet, .data_size_in = sizeof(packet));

	return f->ask_fd < 0 ? 0 : bpf_prog_test_run_opts(f->ask_fd, &o);
}

void net_flows_sweep(struct net_flows *f)
{
	walk(f, false);
}

void net_flows_end(struct net_flows *f)
{
	walk(f, true);
}
