// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tuples of senders in namespaces without programs at their interfaces: owners of packets that show up elsewhere.
 * Without net_redirect it also counts redirected packets with their flows.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/env.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_spaces.h"

#include "net_sender_tuples.skel.h"

DEFINE_CLEANUP(struct net_sender_tuples_bpf *, net_sender_tuples_bpf__destroy)

static void close_senders(void *part)
{
	net_sender_tuples_bpf__destroy(part);
}

/* The namespace whose tc programs record its senders already, 0 = none. */
static uint32_t recorded_netns(const struct net_parts *all)
{
	return all->setup.flows || all->setup.silent ? 0 : net_spaces_only(all->part[NET_PART_SPACES]);
}

static int open_senders(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(net_sender_tuples_bpf__destroyp) struct net_sender_tuples_bpf *skel = net_sender_tuples_bpf__open();
	int r;

	if (!skel)
		return err_errno(err, -errno, "cannot open the tuple feed");
	skel->rodata->feed_turns = all->setup.flows && !all->part[NET_PART_REDIRECT];
	r = net_setup_turns(&all->setup, skel->maps.net_flow_direction_tables);
	if (r < 0)
		return err_errno(err, r, "cannot size the table of flow tables");
	r = net_setup_apply(&all->setup, all->p, skel->obj, recorded_netns(all), err);
	if (r >= 0)
		r = probe_env_load(all->p->env, skel->obj, err);
	if (r < 0)
		return r;
	net_spaces_share_flows(all, skel->maps.net_flow_direction_tables);
	*ret = TAKE_PTR(skel);
	return 0;
}

static int attach(void *part, struct err *err)
{
	struct net_sender_tuples_bpf *skel = part;

	skel->links.feed_tuple = bpf_program__attach(skel->progs.feed_tuple);
	if (!skel->links.feed_tuple)
		return err_errno(err, -errno, "cannot attach to the tracepoint net_dev_queue");
	return 0;
}

const struct net_part net_sender_tuples_part = { .open = open_senders, .attach = attach, .close = close_senders };
