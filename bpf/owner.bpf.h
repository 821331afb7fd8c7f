/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Owners of sockets: maps shared by all probes, and look-ups in them.
 *
 *   sonde_sock_owner    socket cookie -> process
 *   sonde_tuple_cookie  (network namespace, protocol, addresses, ports) -> socket cookie
 *
 * Filled by the proc probe (socket creation, bind, connect, listen, accept; sockets that existed before, by
 * iterators) and by programs that see a socket with its packet (net, at tc egress: tuple_set()). Used by any probe
 * that looks for the process of a packet or a socket.
 *
 * Look-ups go in this order, stop at the first hit, and report its step:
 *   1. the receiving socket that the kernel gave with the event	owner_by_cookie()
 *   2. the socket of the packet (skb->sk)				owner_by_cookie()
 *   3. the exact tuple							tuple_cookie(): OWNER_BY_TUPLE
 *   4. a listening or unconnected socket on that local port		tuple_cookie(): OWNER_BY_LISTENER
 *   5. unknown. The current task is never used: softirqs run in the context of any task.
 *
 * Tuples are from the socket's view: "local" is the address it is bound to, the source of outgoing and the
 * destination of incoming packets. IPv4-mapped IPv6 addresses are stored as IPv4.
 */
#ifndef BPF_OWNER_BPF_H
#define BPF_OWNER_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sonde/owner_wire.h"

/* LRU: a full map evicts the least recently used entry. Sizes are set at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct sonde_owner);
} sonde_sock_owner UNIT_SHARED SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct sonde_tuple);
	__type(value, __u64);
} sonde_tuple_cookie UNIT_SHARED SEC(".maps");

/* Ports that a socket of any namespace was ever bound to: saves the look-up of a listener for most packets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} sonde_bound_ports UNIT_SHARED SEC(".maps");

static __always_inline bool port_was_bound(__u16 port)
{
	__u32 key = port;
	__u8 *bound = bpf_map_lookup_elem(&sonde_bound_ports, &key);

	return bound && *bound;
}

static __always_inline void port_set_bound(__u16 port)
{
	__u32 key = port;
	__u8 *bound = bpf_map_lookup_elem(&sonde_bound_ports, &key);

	if (bound && !*bound)
		*bound = 1;
}

enum owner_how { OWNER_UNKNOWN, OWNER_BY_TUPLE, OWNER_BY_LISTENER };

static __always_inline struct sonde_owner *owner_by_cookie(__u64 cookie)
{
	return cookie ? bpf_map_lookup_elem(&sonde_sock_owner, &cookie) : NULL;
}

/* Cookie of the socket that @t belongs to, or 0; *ret_how says how it was found. */
static __always_inline __u64 tuple_cookie(const struct sonde_tuple *t, enum owner_how *ret_how)
{
	struct sonde_tuple key = *t;
	__u64 *cookie;

	*ret_how = OWNER_BY_TUPLE;
	cookie = bpf_map_lookup_elem(&sonde_tuple_cookie, &key);
	if (cookie)
		return *cookie;

	*ret_how = OWNER_UNKNOWN;
	if (!port_was_bound(t->lport))
		return 0;
	*ret_how = OWNER_BY_LISTENER;
	key.rport = 0;
	__builtin_memset(key.raddr, 0, sizeof(key.raddr));
	cookie = bpf_map_lookup_elem(&sonde_tuple_cookie, &key);
	if (cookie)
		return *cookie;
	__builtin_memset(key.laddr, 0, sizeof(key.laddr));
	cookie = bpf_map_lookup_elem(&sonde_tuple_cookie, &key);
	if (cookie)
		return *cookie;

	*ret_how = OWNER_UNKNOWN;
	return 0;
}

/* The process of @task as an owner. */
static __always_inline void owner_from_task(struct sonde_owner *o, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	__builtin_memset(o, 0, sizeof(*o));
	o->tgid = BPF_CORE_READ(task, tgid);
	o->uid = BPF_CORE_READ(task, cred, euid.val);
	o->start_ns = BPF_CORE_READ(leader, start_boottime);
	o->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	BPF_CORE_READ_STR_INTO(&o->comm, leader, comm);
}

/* Makes the process of @task the owner of @cookie. */
static __always_inline void owner_set(__u64 cookie, struct task_struct *task)
{
	struct sonde_owner o;

	if (!cookie)
		return;
	owner_from_task(&o, task);
	bpf_map_update_elem(&sonde_sock_owner, &cookie, &o, BPF_ANY);
}

/*
 * Maps @t to @cookie. Writes only changes: a look-up costs a third of an update, and packet paths call this for every
 * packet.
 */
static __always_inline void tuple_set(const struct sonde_tuple *t, __u64 cookie)
{
	__u64 *have;

	if (!cookie)
		return;
	if (!t->rport)
		port_set_bound(t->lport);
	have = bpf_map_lookup_elem(&sonde_tuple_cookie, t);
	if (have && *have == cookie)
		return;
	bpf_map_update_elem(&sonde_tuple_cookie, t, &cookie, BPF_ANY);
}

#define TUPLE_FEED_NS 1000000000ULL

/* A cheap hash that distinguishes the tuples of a socket. */
static __always_inline __u64 tuple_hash(const struct sonde_tuple *t)
{
	const __u32 *l = (const __u32 *)t->laddr, *r = (const __u32 *)t->raddr;
	__u64 h = (__u64)t->lport << 16 | t->rport;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		h = (h ^ l[i]) * 0x9e3779b97f4a7c15ULL;
		h = (h ^ r[i]) * 0x9e3779b97f4a7c15ULL;
	}
	return h;
}

/*
 * True if the maps need an update for a packet of this socket: not within a second of an update for the same tuple. A
 * socket usually sends to one peer, and an update costs as much as the packet.
 */
static __always_inline bool tuple_feed_due(struct sonde_owner *o, __u64 hash, __u64 now_ns)
{
	if (o->fed_hash == hash && now_ns - o->fed_ns < TUPLE_FEED_NS)
		return false;
	o->fed_hash = hash;
	o->fed_ns = now_ns;
	return true;
}

/* Removes @t if it still maps to @cookie. */
static __always_inline void tuple_unset(const struct sonde_tuple *t, __u64 cookie)
{
	__u64 *have = bpf_map_lookup_elem(&sonde_tuple_cookie, t);

	if (have && *have == cookie)
		bpf_map_delete_elem(&sonde_tuple_cookie, t);
}

/* Converts a pair of IPv4-mapped IPv6 addresses to IPv4. Call with family 6, after laddr and raddr are set. */
static __always_inline void tuple_unmap_v4(struct sonde_tuple *t)
{
	__u32 *l = (__u32 *)t->laddr, *r = (__u32 *)t->raddr;
	const __u32 mapped = 0xffff0000; /* bytes 00 00 ff ff, little endian */
	int l_mapped = !l[0] && !l[1] && l[2] == mapped;
	int r_mapped = !r[0] && !r[1] && r[2] == mapped;

	if (!l_mapped && !r_mapped)
		return;
	t->family = 4;
	l[0] = l_mapped ? l[3] : 0;
	r[0] = r_mapped ? r[3] : 0;
	l[1] = l[2] = l[3] = 0;
	r[1] = r[2] = r[3] = 0;
}

#endif
