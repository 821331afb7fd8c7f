// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/packet/net_tc.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/coop.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "probe/closer.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/packet/net_clsact.h"
#include "probes/net/packet/net_guard.h"
#include "probes/net/packet/net_iface.h"
#include "probes/net/packet/net_point.h"
#include "probes/net/net_part.h"
#include "probes/net/net_wire.h"

#include "net_tc.skel.h"

/* linux/bpf.h of 6.6; older headers lack them. */
#define TCX_INGRESS 46	/* enum bpf_attach_type, BPF_TCX_INGRESS */
#define TCX_EGRESS 47
#define TCX_FIRST (1u << 3) /* BPF_F_BEFORE without a relative: ahead of all others */
#define LINKS_FIRST 16	/* interfaces with links; more get filters */
#define LINKS_MANY 32	    /* to close at once; another process does it */

/* Attachments of one interface. Closing a link detaches it; filters are removed by the recorded values. */
struct attached {
	int link[2];		/* -1 = none */
	struct net_filter filter[2];
	uint16_t type; /* ARPHRD_*, to notice that the device changed its type */
	bool filters;  /* not links */
	bool clsact;   /* this process added the qdisc */
};

struct net_tc {
	struct net_tc_progs progs;
	uint32_t netns;
	struct map attached;	/* ifindex -> struct attached */
	const struct net_conf *conf;	/* borrowed */
	struct coop *coop;		/* borrowed; NULL = none */
	bool no_tcx;			/* set by the user or found by trying */
	struct net_guard *guard;	/* of filters on a kernel with tcx; NULL = none so far */
};

static void free_skel(void *skel)
{
	net_tc_bpf__destroy(skel);
}

int net_tc_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err)
{
	struct net_tc_bpf *skel = net_tc_bpf__open();
	const struct net_conf *c = all->p->conf;
	bool query = !c->once && !(c->count.on && !c->count.events);
	int r;

	if (!skel)
		return err_errno(err, -errno, "cannot open the tc programs");
	probe_rodata_set(skel->obj, "net_query_state", &query, sizeof(query));
	r = query ? 0 : bpf_map__set_max_entries(skel->maps.inst_net_convs, 1);
	if (r >= 0)
		r = net_setup_apply(&all->setup, all->p, skel->obj, netns, err);
	if (r >= 0)
		r = probe_env_load(all->p->env, skel->obj, err);
	if (r < 0) {
		net_tc_bpf__destroy(skel);
		return r;
	}
	*ret = (struct net_tc_progs){
		.fd = { { bpf_program__fd(skel->progs.sonde_in_l2), bpf_program__fd(skel->progs.sonde_out_l2) },
			{ bpf_program__fd(skel->progs.sonde_in_l3), bpf_program__fd(skel->progs.sonde_out_l3) } },
		.points_fd = bpf_map__fd(skel->maps.net_points),
		.local_fd = bpf_map__fd(skel->maps.inst_net_local),
		.skel = skel, .free = free_skel,
	};
	return 0;
}

int net_tc_open(struct probe *p, const struct net_tc_progs *progs, uint32_t netns, struct net_tc **ret,
		struct err *err)
{
	struct net_tc *t = calloc(1, sizeof(*t));

	if (!t) {
		progs->free(progs->skel);
		return err_errno(err, -ENOMEM, "cannot load the tc programs");
	}
	map_init(&t->attached, sizeof(uint32_t), sizeof(struct attached));
	t->progs = *progs;
	t->netns = netns;
	t->conf = p->conf;
	t->coop = probe_env_coop(p->env);
	t->no_tcx = t->conf->attach == NET_ATTACH_CLSACT;
	*ret = t;
	return 0;
}

/* ---- one direction ---- */

/* A link descriptor, or a negative errno. The kernel waits for an RCU grace period; the loop continues meanwhile. */
static int link_tcx(struct coop *coop, int fd, uint32_t ifindex, int dir)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = TCX_FIRST);
	bool left = coop_leave(coop);
	int link = bpf_link_create(fd, (int)ifindex, dir ? TCX_EGRESS : TCX_INGRESS, &o);
	int r = link < 0 ? -errno : link;

	coop_return(coop, left);
	return r;
}

static void close_link(struct coop *coop, int *link)
{
	bool left = coop_leave(coop);

	cleanup_close(link);
	coop_return(coop, left);
	*link = -1;
}

/* The kernel does not know tcx: it misreads or ignores the attach type. */
static bool means_no_tcx(int r)
{
	return r == -EINVAL || r == -EOPNOTSUPP;
}

static bool has_tcx(uint32_t ifindex, int dir)
{
	LIBBPF_OPTS(bpf_prog_query_opts, o);

	return bpf_prog_query_opts((int)ifindex, dir ? TCX_EGRESS : TCX_INGRESS, &o) < 0 || o.count;
}

/*
 * A link takes a grace period, with the lock that all interfaces share; a filter takes none. So of many interfaces
 * the first get links, and the others too if they have programs there: these would run ahead of a filter. Rules are
 * enforced by links only.
 */
static bool takes_filters(const struct net_tc *t, uint32_t ifindex)
{
	if (t->no_tcx || t->conf->attach != NET_ATTACH_AUTO || t->conf->policy.text)
		return t->no_tcx;
	return t->attached.len > LINKS_FIRST && !has_tcx(ifindex, 0) && !has_tcx(ifindex, 1);
}

static int add_filter(struct net_tc *t, struct attached *a, uint32_t ifindex, int fd, int dir)
{
	if (dir == 0)
		net_clsact_sweep(ifindex, 0);
	if (!t->no_tcx && !t->guard)
		t->guard = net_guard_start();
	return net_clsact_add(ifindex, dir, fd, &a->filter[dir], &a->clsact);
}

static int attach_dir(struct net_tc *t, struct attached *a, uint32_t ifindex, uint32_t start, int dir)
{
	int fd = t->progs.fd[start == SONDE_LINK_RAW][dir], r = -EINVAL;

	if (!a->filters) {
		r = link_tcx(t->coop, fd, ifindex, dir);
		if (r >= 0)
			a->link[dir] = r;
		else if (means_no_tcx(r) && t->conf->attach == NET_ATTACH_AUTO)
			a->filters = t->no_tcx = true;
	}
	return a->filters ? add_filter(t, a, ifindex, fd, dir) : MIN(r, 0);
}

/* ---- interfaces ---- */

static bool wants_dir(const struct net_conf *c, const struct net_link *l, int dir)
{
	if (c->direction)
		return c->direction == (dir ? NET_DIR_OUT : NET_DIR_IN);
	return dir || !c->once || l->type != ARPHRD_LOOPBACK;
}

static int set_points(struct net_tc *t, const struct net_link *l)
{
	const struct net_point_row *row = net_point_find(l);
	const uint8_t points[2] = { row->in, row->out };

	if (t->progs.points_fd < 0) /* programs without the map */
		return 0;
	return bpf_map_update_elem(t->progs.points_fd, &l->ifindex, points, BPF_ANY) < 0 ? -errno : 0;
}

static void detach_one(const struct net_tc *t, uint32_t ifindex, struct attached *a, bool gone)
{
	for (int dir = 0; dir < 2; dir++) {
		if (a->link[dir] >= 0)
			close_link(t->coop, &a->link[dir]);
		if (!gone)
			net_clsact_remove(ifindex, dir, &a->filter[dir]);
	}
	if (a->clsact && !gone)
		net_clsact_release(ifindex);
}

void net_tc_detach(struct net_tc *t, uint32_t ifindex, bool gone)
{
	struct attached *a = map_find(&t->attached, &ifindex);

	if (!a)
		return;
	detach_one(t, ifindex, a, gone);
	map_remove(&t->attached, &ifindex);
	if (t->progs.points_fd >= 0)
		bpf_map_delete_elem(t->progs.points_fd, &ifindex);
}

int net_tc_attach(struct net_tc *t, const struct net_link *l, struct err *err)
{
	struct attached *a = map_find(&t->attached, &l->ifindex);
	uint32_t start = net_point_link_start(l);
	int r;

	if (a && a->type == l->type)
		return 0;
	if (!start)
		return 0; /* a link type that cannot be dissected */
	net_tc_detach(t, l->ifindex, false);
	r = set_points(t, l);
	a = r < 0 ? NULL : map_add(&t->attached, &l->ifindex, NULL);
	if (!a)
		return err_errno(err, r < 0 ? r : -ENOMEM, "cannot keep track of interface %s", l->name);
	*a = (struct attached){ .link = { -1, -1 }, .type = l->type, .filters = takes_filters(t, l->ifindex) };
	for (int dir = 0; r >= 0 && dir < 2; dir++)
		if (wants_dir(t->conf, l, dir))
			r = attach_dir(t, a, l->ifindex, start, dir);
	if (a->filters)
		net_guard_add(t->guard, l->ifindex, a->clsact);
	if (r >= 0)
		return 0;
	net_tc_detach(t, l->ifindex, false);
	/* the interface vanished meanwhile: its message follows, and this is not a failure */
	return r == -ENODEV ? 0 : err_errno(err, r, "cannot attach to interface %s", l->name);
}

/* r0 = -1 (next); exit */
static int load_nothing(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "sonde_nothing", "GPL", insns, 2, NULL);

	return fd < 0 ? -errno : fd;
}

/* Replaces the program of each link by a no-op, which takes no grace period. False if one keeps its program. */
static bool silence(const int *links, size_t n)
{
	_cleanup_close_ int nothing = load_nothing();

	for (size_t i = 0; i < n; i++)
		if (nothing < 0 || bpf_link_update(links[i], nothing, NULL) < 0)
			return false;
	return true;
}

/* Stops reports at once and detaches later: stopping does not wait for a grace period per link. */
static void leave_links(struct net_tc *t)
{
	_cleanup_free_ int *links = calloc(2 * t->attached.len + 1, sizeof(*links));
	void *key, *val;
	size_t pos = 0, n = 0;

	while (links && map_next(&t->attached, &pos, &key, &val)) {
		const struct attached *a = val;

		for (int dir = 0; dir < 2; dir++)
			if (a->link[dir] >= 0)
				links[n++] = a->link[dir];
	}
	if (n < LINKS_MANY || !silence(links, n))
		return;
	closer_run(links, n);
	for (pos = 0; map_next(&t->attached, &pos, &key, &val);)
		((struct attached *)val)->link[0] = ((struct attached *)val)->link[1] = -1;
}

void net_tc_detach_all(struct net_tc *t)
{
	void *key, *val;
	size_t pos = 0;

	leave_links(t);
	while (map_next(&t->attached, &pos, &key, &val))
		detach_one(t, *(uint32_t *)key, val, false);
	map_clear(&t->attached);
	net_guard_end(TAKE_PTR(t->guard));
}

void net_tc_close(struct net_tc *t)
{
	bool left;

	if (!t)
		return;
	net_tc_detach_all(t);
	map_fini(&t->attached);
	left = coop_leave(t->coop);
	t->progs.free(t->progs.skel);
	coop_return(t->coop, left);
	free(t);
}

/* ---- addresses ---- */

void net_tc_addr(struct net_tc *t, const struct net_addr_key *a, bool there)
{
	struct net_addr key = { .netns = t->netns, .family = a->family };
	const uint8_t one = 1;

	memcpy(key.addr, a->addr, sizeof(key.addr));
	/* a full map loses the owner of a few packets, nothing else */
	if (there)
		bpf_map_update_elem(t->progs.local_fd, &key, &one, BPF_ANY);
	else
		bpf_map_delete_elem(t->progs.local_fd, &key);
}

/* ---- doctor ---- */

int net_tc_try(bool tcx, struct err *err)
{
	_cleanup_close_ int prog = load_nothing();
	const uint32_t loopback = 1;	/* of every namespace */
	struct net_filter filter = { 0 };
	bool made = false;
	int r;

	if (prog < 0)
		return err_errno(err, prog, "cannot load a tc program");
	if (tcx) {
		r = link_tcx(NULL, prog, loopback, 0);
		cleanup_close(&r);
		return r < 0 ? err_errno(err, r, "cannot attach a tcx link") : 0;
	}
	r = net_clsact_add(loopback, 0, prog, &filter, &made);
	if (r >= 0)
		net_clsact_remove(loopback, 0, &filter);
	if (made)
		net_clsact_release(loopback);
	return r < 0 ? err_errno(err, r, "the kernel takes no clsact filter") : 0;
}
