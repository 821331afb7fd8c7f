/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What was found out about a connection of gRPC's transport, so that its next request need not: the way from the
 * transport to the socket is ten reads. All requests of a connection pass through one goroutine. It is forgotten when
 * the transport is closed, before the program can use the object's memory again; where that cannot be seen nothing is
 * remembered.
 */
#ifndef GORPC_CONNS_BPF_H
#define GORPC_CONNS_BPF_H

#include "probes/gorpc/gorpc_sock.bpf.h"
#include "probes/gorpc/gorpc_state.bpf.h"

struct gorpc_object {
	__u64 addr;		/* of the server's transport; of a client the connection's */
	__u32 born, tgid;	/* of its process */
};

struct gorpc_known {
	__u64 addr;		/* that of the key, first: an element that is used again meanwhile shows by it */
	__u64 g;
	__u64 conn, goid, parent_goid;
	__u64 sk;		/* of the kernel: read, never followed */
	__u32 netns, ports;
	__s32 fd;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct gorpc_object);
	__type(value, struct gorpc_known);
} gorpc_conns SEC(".maps");

static __always_inline struct gorpc_object object_at(const struct gorpc_scratch *s, const struct gorpc_layout *l,
						     __u64 addr)
{
	return (struct gorpc_object){ .addr = addr, .born = l->born, .tgid = s->tgid };
}

/* The whole origin of a request, and the key of its connection. The socket is looked at: it may have got a cookie. */
static __always_inline bool recall(struct gorpc_scratch *s, const struct gorpc_layout *l, __u64 addr)
{
	struct gorpc_object key = object_at(s, l, addr);
	struct gorpc_known *k = bpf_map_lookup_elem(&gorpc_conns, &key);
	struct gorpc_frame_rec *r = &s->rec;

	if (!k || k->g != s->g || !read_sock(s, (void *)k->sk) || sock_ports(s) != k->ports)
		return false;
	r->conn = k->conn;
	r->goid = k->goid;
	r->parent_goid = k->parent_goid;
	r->fd = k->fd;
	take_sock(s, k->netns);
	return *(volatile __u64 *)&k->addr == addr;
}

/* s->sock is that of @sk. */
static __always_inline void remember(struct gorpc_scratch *s, const struct gorpc_layout *l, __u64 addr,
				     const struct sock *sk, enum gorpc_place close)
{
	struct gorpc_object key = object_at(s, l, addr);
	struct gorpc_known k;

	if (!sk || l->args[close][0] == GORPC_ARG_NONE)
		return;
	k = (struct gorpc_known){
		.addr = addr, .g = s->g, .conn = s->rec.conn, .goid = s->rec.goid,
		.parent_goid = s->rec.parent_goid, .sk = (__u64)sk, .netns = s->rec.netns,
		.ports = sock_ports(s), .fd = s->rec.fd,
	};
	bpf_map_update_elem(&gorpc_conns, &key, &k, BPF_ANY);
}

static __always_inline void forget_conn(const struct gorpc_scratch *s, const struct gorpc_layout *l, __u64 addr)
{
	struct gorpc_object key = object_at(s, l, addr);

	bpf_map_delete_elem(&gorpc_conns, &key);
}

#endif
