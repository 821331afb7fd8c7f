// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * XDP verdicts that could not be carried out: aborted or unknown actions, failed transmissions, failed redirects.
 * These tracepoints do not pass the packet.
 */
#include "bpf/kernel.h"

#include "probes/net/count/net_count.bpf.h"
#include "probes/net/packet/net_packet.bpf.h"

#define XDP_ACTION_REDIRECT 4

static __always_inline int exception(struct net_device *dev, struct bpf_prog *prog, __u32 action, int error)
{
	struct sonde_ledger *l = ledger_seen(NET_CLASS_XDP);
	struct net_count_key key = {};
	struct net_rec r;

	if (!l)
		return 0;
	if (!select_netns(dev_netns(dev)) || selects_process()) {
		rec_filtered(l);
		return 0;
	}
	key.netns = dev_netns(dev);
	key.ifindex = dev->ifindex;
	key.reason = action;
	key.kind = NET_COUNT_XDP;
	key.dir = NET_DIR_IN;
	key.point = NET_POINT_NONE;
	if (net_counting && count_is_new(&key))
		count_name(key.netns, key.ifindex, dev);
	if (net_counting && count_add(&key, 0))
		return 0;
	if (!rate_pass(l, NET_KIND_XDP))
		return 0;
	__builtin_memset(&r, 0, sizeof(r));
	rec_init_keys(&r.hdr, l, NET_EV_XDP, sizeof(r), NET_CLASS_XDP | SONDE_RF_IDENT, 0, 0, 0);
	rec_set_task(&r);
	r.netns = r.id.netns = dev_netns(dev);
	r.ifindex = dev->ifindex;
	r.reason = action;
	r.prog_id = prog->aux->id;
	r.point = NET_POINT_NONE;
	r.dir = NET_DIR_IN;
	r.error = error < -128 ? 0 : error;
	rec_output(l, LANE_BULK, &r.hdr, sizeof(r));
	return 0;
}

/* void (dev, prog, action) */
PROGRAM("tp_btf/xdp_exception", xdp_exception,
	exception((struct net_device *)ctx[0], (struct bpf_prog *)ctx[1], ctx[2], 0), __u64 *ctx)

/* void (dev, prog, target, error, ...) */
PROGRAM("tp_btf/xdp_redirect_err", xdp_redirect_err,
	exception((struct net_device *)ctx[0], (struct bpf_prog *)ctx[1], XDP_ACTION_REDIRECT, ctx[3]), __u64 *ctx)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
