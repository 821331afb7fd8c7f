// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/packet/net_netns.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/coop.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/map.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/flow/net_flow.h"
#include "probes/net/packet/net_iface.h"
#include "probes/net/recorder/net_recorder.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_point.h"
#include "probes/net/packet/net_tc.h"
#include "probes/net/policy/net_policy.h"

struct net_netns {
	struct probe *p;
	struct net_parts *all;
	int fd;				/* of the namespace */
	uint32_t inode;
	struct net_tc *tc;
	struct net_flows *flows;	/* of the tc programs; NULL = each packet is reported */
	struct net_watch *watch;
	struct loop_source *source;
	struct coop_job job;		/* follows the interfaces */
	struct map links;		/* ifindex -> struct net_link */
	uint64_t accepted, refused;	/* attachments so far */
};

DEFINE_CLEANUP(struct net_netns *, net_netns_close)

uint32_t net_netns_inode(const struct net_netns *s)
{
	return s->inode;
}

int net_netns_flows(const struct net_netns *s)
{
	return s->flows ? net_flow_fd(s->flows) : -1;
}

bool net_netns_refused(const struct net_netns *s)
{
	return s->refused && !s->accepted;
}

bool net_netns_has(const struct net_netns *s, const char *iface)
{
	void *key, *val;
	size_t pos = 0;

	while (map_next(&s->links, &pos, &key, &val))
		if (!strcmp(((struct net_link *)val)->name, iface))
			return true;
	return false;
}

/* ---- news of interfaces; all run inside the namespace ---- */

/* For drops of packets that have kept only the number of their device (drop/net_drop.bpf.c). */
static void select_drops(struct net_netns *s, uint32_t ifindex, bool on)
{
	const int fd = probe_env_instance_map(s->p->env, s->p->instance, "inst_net_wanted");
	const uint32_t key[2] = { s->inode, ifindex };
	const uint8_t one = 1;

	/* without drops the map does not exist; a full map affects such packets only */
	if (fd >= 0 && on)
		bpf_map_update_elem(fd, key, &one, BPF_ANY);
	else if (fd >= 0)
		bpf_map_delete_elem(fd, key);
}

static void on_link(void *ctx, const struct net_link *l, bool up)
{
	struct net_netns *s = ctx;
	bool selected = net_setup_iface(&s->all->setup, l->name);
	struct err e = { 0 };

	map_put(&s->links, &l->ifindex, l);
	net_names_iface(&s->all->names, s->inode, l->ifindex, l->name);
	if (s->all->part[NET_PART_RECORDER])
		net_recorder_link(s->all->part[NET_PART_RECORDER], s->inode, l);
	if (s->all->setup.ifaces.len)
		select_drops(s, l->ifindex, selected);
	if (!up || !selected) {
		net_tc_detach(s->tc, l->ifindex, false);
		return;
	}
	if (coop_cancelled(probe_env_coop(s->p->env)))
		return;
	if (net_tc_attach(s->tc, l, &e) >= 0) {
		s->accepted++;
		return;
	}
	s->refused++;
	probe_env_hook_failed(s->p->env, s->p->instance, l->name, &e);
}

static void on_gone(void *ctx, uint32_t ifindex)
{
	struct net_netns *s = ctx;

	net_tc_detach(s->tc, ifindex, true);
	select_drops(s, ifindex, false);
	map_remove(&s->links, &ifindex);
}

static void on_addr(void *ctx, const struct net_addr_key *a, bool there)
{
	struct net_netns *s = ctx;

	net_tc_addr(s->tc, a, there);
}

static const struct net_watch_ops watch_ops = { .link = on_link, .gone = on_gone, .addr = on_addr };

static int open_watch(void *ctx)
{
	struct net_netns *s = ctx;

	return net_iface_open(&watch_ops, s, &s->watch);
}

static int run_watch(void *ctx)
{
	struct net_netns *s = ctx;

	return net_iface_run(s->watch);
}

static int detach_all(void *ctx)
{
	struct net_netns *s = ctx;

	net_tc_detach_all(s->tc);
	return 0;
}

/* ---- life ---- */

static net_tc_load_fn *const loaders[NET_PURPOSE__MAX] = {
	[NET_FOR_PACKETS] = net_tc_load, [NET_FOR_FLOWS] = net_flow_load, [NET_FOR_RECORDER] = net_recorder_load,
	[NET_FOR_POLICY] = net_policy_load,
};

static int load_programs(struct net_netns *s, struct err *err)
{
	struct net_tc_progs progs;
	int r = loaders[s->all->setup.purpose](s->all, s->inode, &progs, err);

	if (r >= 0)
		r = net_tc_open(s->p, &progs, s->inode, &s->tc, err);
	if (r >= 0)
		s->flows = progs.flows;
	return r;
}

int net_netns_open(struct net_parts *all, const char *text, struct net_netns **ret, struct err *err)
{
	_cleanup_(net_netns_closep) struct net_netns *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot watch a network namespace");
	*s = (struct net_netns){ .p = all->p, .all = all, .fd = -1 };
	map_init(&s->links, sizeof(uint32_t), sizeof(struct net_link));
	s->fd = net_ns_open(text, err);
	if (s->fd < 0)
		return s->fd;
	s->inode = net_ns_inode(s->fd);
	r = load_programs(s, err);
	if (r < 0)
		return r == -EINVAL ? -ENOEXEC : r; /* the programs are at fault, not the name */
	*ret = TAKE_PTR(s);
	return 0;
}

/* Attaching waits for the kernel: it runs beside the loop, which does not poll the socket meanwhile. */
static int on_readable(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct net_netns *s = ctx;

	loop_set_events(s->source, 0);
	coop_submit(probe_env_coop(s->p->env), &s->job);
	return 0;
}

/* Reads which interfaces appeared and disappeared. */
static void net_netns_run(struct net_netns *s)
{
	struct err e = { 0 };
	int r = s->watch ? net_ns_call(s->fd, run_watch, s) : 0;

	if (r < 0) {
		err_errno(&e, r, "cannot watch the interfaces");
		probe_env_hook_failed(s->p->env, s->p->instance, "interfaces (netlink)", &e);
	}
}

static void run_job(void *ctx)
{
	struct net_netns *s = ctx;

	net_netns_run(s);
	if (s->source)
		loop_set_events(s->source, EPOLLIN);
}

int net_netns_start(struct net_netns *s, struct err *err)
{
	int r = net_ns_call(s->fd, open_watch, s);

	if (r >= 0)
		r = net_ns_call(s->fd, run_watch, s);
	s->job = (struct coop_job){ .name = "interfaces", .run = run_job, .ctx = s };
	if (coop_cancelled(probe_env_coop(s->p->env)))
		return err_errno(err, -ECANCELED, "cannot attach to the interfaces");
	if (r >= 0 && s->p->loop)
		r = loop_add_io(s->p->loop, net_iface_fd(s->watch), EPOLLIN, on_readable, s, &s->source);
	if (s->source)
		loop_name(s->source, "interfaces");
	if (r < 0)
		return err_errno(err, r, "cannot watch the interfaces");
	return 0;
}

void net_netns_tick(struct net_netns *s)
{
	if (s->job.state == COOP_IDLE)
		coop_submit(probe_env_coop(s->p->env), &s->job);
	if (!s->flows)
		return;
	net_ns_call(s->fd, net_flow_query, s->flows);
	net_flow_sweep(s->flows);
}

void net_netns_stop(struct net_netns *s)
{
	if (s->job.state != COOP_IDLE)
		coop_withdraw(probe_env_coop(s->p->env), &s->job);
	loop_remove(TAKE_PTR(s->source));
	net_iface_close(TAKE_PTR(s->watch));
	if (s->tc)
		net_ns_call(s->fd, detach_all, s);
}

void net_netns_finish(struct net_netns *s)
{
	if (!s->flows)
		return;
	net_ns_call(s->fd, net_flow_query, s->flows);
	net_flow_end(s->flows);
}

void net_netns_close(struct net_netns *s)
{
	if (!s)
		return;
	net_netns_stop(s);
	net_tc_close(s->tc);
	map_fini(&s->links);
	cleanup_close(&s->fd);
	free(s);
}
