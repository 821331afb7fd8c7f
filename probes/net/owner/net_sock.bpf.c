// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Destinations of sockets at the cgroup hooks where other programs translate them (service to backend and back). An
 * observer: every program returns 1 (allow) and leaves its context unchanged.
 *
 * Each hook has two programs: the first runs ahead of all others in the tree (BPF_F_PREORDER), the second after those
 * of the cgroups below. The second reports only if the address has changed by then, or if the first is missing.
 *
 * These programs run with preemption on: another task may preempt them on the same CPU in the middle of a ledger
 * update. The sums are therefore atomic.
 */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/filter.bpf.h"
#include "bpf/ident.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/net/owner/net_sock_wire.h"
#include "probes/net/net_wire.h"
#include "sonde/notify_wire.h"
#include "sonde/ratelimit.bpf.h"

/* As in net_packet.bpf.h; the values for traces apply here. */
const volatile __u64 net_rate[NET_KIND__MAX], net_burst[NET_KIND__MAX], net_interval_ns[NET_KIND__MAX];

MAP(net_sock_bucket, ARRAY, 1, __u32, struct ratelimit);

/* Context of cgroup/sock_addr programs: struct bpf_sock_addr of include/uapi/linux/bpf.h. */
struct bpf_sock_addr {
	__u32 user_family;
	__u32 user_ip4; /* network order, as are the next two */
	__u32 user_ip6[4];
	__u32 user_port;
	__u32 family;
	__u32 type;
	__u32 protocol;
};

struct sock_before {
	__u8 addr[16];
	__u16 port;
};

/* The address that the first program saw, by task. */
MAP(net_sock_before, LRU_HASH, 8192, __u64, struct sock_before);

static __always_inline struct sonde_ledger *sock_seen(void)
{
	__u32 row = (__u32)sonde_instance * SONDE_CLASSES + NET_CLASS_SOCK;
	struct sonde_ledger *l = bpf_map_lookup_elem(&sonde_ledger, &row);

	if (l)
		__sync_fetch_and_add(&l->seen, 1);
	return l;
}

static __always_inline void sock_output(struct sonde_ledger *l, struct net_sock_rec *r)
{
	void *ring = ring_of_this_cpu(LANE_BULK);

	__sync_fetch_and_add(&l->seq, 1);
	if (!ring || bpf_ringbuf_output(ring, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&l->lost[SONDE_LOST_RING_FULL], 1);
	else
		__sync_fetch_and_add(&l->delivered, 1);
}

static __always_inline bool sock_limited(struct sonde_ledger *l)
{
	struct ratelimit_conf c = {
		.interval_ns = net_interval_ns[NET_KIND_TRACE], .rate = net_rate[NET_KIND_TRACE],
		.burst = net_burst[NET_KIND_TRACE],
	};
	__u32 zero = 0;
	struct ratelimit *b;

	if (!c.rate)
		return false;
	b = bpf_map_lookup_elem(&net_sock_bucket, &zero);
	if (!b || ratelimit_pass(b, &c, bpf_ktime_get_ns()))
		return false;
	__sync_fetch_and_add(&l->sampled, 1);
	return true;
}

static __always_inline void sock_emit(void *ctx, struct net_sock_rec *r)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct sonde_ledger *l = sock_seen();
	struct sonde_owner o;

	if (!l)
		return;
	owner_from_task(&o, task);
	if (is_excluded(o.tgid) || !select_owner(&o)) {
		__sync_fetch_and_add(&l->filtered, 1);
		return;
	}
	if (sock_limited(l))
		return;
	rec_init_keys(&r->hdr, l, NET_EV_SOCK, sizeof(*r), NET_CLASS_SOCK | SONDE_RF_IDENT, o.tgid,
		      BPF_CORE_READ(task, pid), o.start_ns);
	ident_task(&r->id, task);
	r->cookie = r->id.sock = bpf_get_socket_cookie(ctx);
	r->cgroup_id = o.cgroup_id;
	sock_output(l, r);
}

/* True if the first program saw the same address: the second has nothing to report. */
static __always_inline bool sock_same(const struct net_sock_rec *r)
{
	__u64 task = bpf_get_current_task();
	struct sock_before *b = bpf_map_lookup_elem(&net_sock_before, &task);
	const __u32 *have = b ? (const __u32 *)b->addr : NULL, *now = (const __u32 *)r->addr;
	bool same;

	if (!b)
		return false;
	same = b->port == r->port && have[0] == now[0] && have[1] == now[1] && have[2] == now[2] &&
	       have[3] == now[3];
	bpf_map_delete_elem(&net_sock_before, &task);
	return same;
}

static __always_inline void sock_store(const struct net_sock_rec *r)
{
	__u64 task = bpf_get_current_task();
	struct sock_before b = { .port = r->port };

	__builtin_memcpy(b.addr, r->addr, sizeof(b.addr));
	bpf_map_update_elem(&net_sock_before, &task, &b, BPF_ANY);
}

static __always_inline void sock_init(struct bpf_sock_addr *ctx, struct net_sock_rec *r, __u8 hook, __u8 point)
{
	__builtin_memset(r, 0, sizeof(*r));
	r->port = bpf_ntohs((__u16)ctx->user_port);
	r->hook = hook;
	r->point = point;
	r->proto = ctx->protocol;
}

static __always_inline int sock4(struct bpf_sock_addr *ctx, __u8 hook, __u8 point, bool first)
{
	struct net_sock_rec r;
	__u32 ip = ctx->user_ip4;

	sock_init(ctx, &r, hook, point);
	r.family = SONDE_IPV4;
	__builtin_memcpy(r.addr, &ip, sizeof(ip));
	if (first)
		sock_store(&r);
	else if (sock_same(&r))
		return 1;
	sock_emit(ctx, &r);
	return 1;
}

static __always_inline int sock6(struct bpf_sock_addr *ctx, __u8 hook, __u8 point, bool first)
{
	struct net_sock_rec r;
	__u32 ip[4] = { ctx->user_ip6[0], ctx->user_ip6[1], ctx->user_ip6[2], ctx->user_ip6[3] };

	sock_init(ctx, &r, hook, point);
	r.family = SONDE_IPV6;
	__builtin_memcpy(r.addr, ip, sizeof(ip));
	if (first)
		sock_store(&r);
	else if (sock_same(&r))
		return 1;
	sock_emit(ctx, &r);
	return 1;
}

PROGRAM("cgroup/connect4", connect4_first, sock4(ctx, NET_SOCK_CONNECT, SONDE_SOCK_PRE_FWD, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/connect4", connect4_last, sock4(ctx, NET_SOCK_CONNECT, SONDE_SOCK_POST_FWD, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/connect6", connect6_first, sock6(ctx, NET_SOCK_CONNECT, SONDE_SOCK_PRE_FWD, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/connect6", connect6_last, sock6(ctx, NET_SOCK_CONNECT, SONDE_SOCK_POST_FWD, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/sendmsg4", sendmsg4_first, sock4(ctx, NET_SOCK_SENDMSG, SONDE_SOCK_PRE_FWD, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/sendmsg4", sendmsg4_last, sock4(ctx, NET_SOCK_SENDMSG, SONDE_SOCK_POST_FWD, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/sendmsg6", sendmsg6_first, sock6(ctx, NET_SOCK_SENDMSG, SONDE_SOCK_PRE_FWD, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/sendmsg6", sendmsg6_last, sock6(ctx, NET_SOCK_SENDMSG, SONDE_SOCK_POST_FWD, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/recvmsg4", recvmsg4_first, sock4(ctx, NET_SOCK_RECVMSG, SONDE_SOCK_PRE_REV, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/recvmsg4", recvmsg4_last, sock4(ctx, NET_SOCK_RECVMSG, SONDE_SOCK_POST_REV, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/recvmsg6", recvmsg6_first, sock6(ctx, NET_SOCK_RECVMSG, SONDE_SOCK_PRE_REV, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/recvmsg6", recvmsg6_last, sock6(ctx, NET_SOCK_RECVMSG, SONDE_SOCK_POST_REV, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/getpeername4", getpeername4_first, sock4(ctx, NET_SOCK_GETPEERNAME, SONDE_SOCK_PRE_REV, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/getpeername4", getpeername4_last, sock4(ctx, NET_SOCK_GETPEERNAME, SONDE_SOCK_POST_REV, false),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/getpeername6", getpeername6_first, sock6(ctx, NET_SOCK_GETPEERNAME, SONDE_SOCK_PRE_REV, true),
	struct bpf_sock_addr *ctx)
PROGRAM("cgroup/getpeername6", getpeername6_last, sock6(ctx, NET_SOCK_GETPEERNAME, SONDE_SOCK_POST_REV, false),
	struct bpf_sock_addr *ctx)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
