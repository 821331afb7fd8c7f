// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/owner/net_sender_tuples.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_setup.h"

#include "net_sender_tuples.skel.h"

struct net_sender_tuples {
	struct net_sender_tuples_bpf *skel;
};

DEFINE_CLEANUP(struct net_sender_tuples *, net_sender_tuples_close)

void net_sender_tuples_close(struct net_sender_tuples *f)
{
	if (!f)
		return;
	net_sender_tuples_bpf__destroy(f->skel);
	free(f);
}

int net_sender_tuples_open(struct probe *p, const struct net_setup *s, uint32_t netns, bool turns,
			   struct net_sender_tuples **ret, struct err *err)
{
	_cleanup_(net_sender_tuples_closep) struct net_sender_tuples *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_errno(err, -ENOMEM, "cannot load the tuple feed");
	f->skel = net_sender_tuples_bpf__open();
	if (!f->skel)
		return err_errno(err, -errno, "cannot open the tuple feed");
	f->skel->rodata->feed_turns = turns;
	r = net_setup_turns(s, f->skel->maps.net_flow_direction_tables);
	if (r < 0)
		return err_errno(err, r, "cannot size the table of flow tables");
	r = net_setup_apply(s, p, f->skel->obj, netns, err);
	if (r >= 0)
		r = probe_env_load(p->env, f->skel->obj, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

int net_sender_tuples_flows(struct net_sender_tuples *f, uint32_t netns, int flows_fd)
{
	return bpf_map_update_elem(bpf_map__fd(f->skel->maps.net_flow_direction_tables), &netns, &flows_fd, BPF_ANY);
}

int net_sender_tuples_attach(struct net_sender_tuples *f, struct err *err)
{
	f->skel->links.feed_tuple = bpf_program__attach(f->skel->progs.feed_tuple);
	if (!f->skel->links.feed_tuple)
		return err_errno(err, -errno, "cannot attach to the tracepoint net_dev_queue");
	return 0;
}
