/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What was found out about a connection of gRPC's transport, so that its next request need not: the way from the
 * transport to the socket is ten reads. All requests of a connection pass through one goroutine. It is forgotten when
 * the transport is closed, before the program can use the object's memory again; where that cannot be seen nothing is
 * remembered.
 *
 * And whose connection a Framer of the web writes to, which nothing in it says.
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

#define NEAR_SLOTS 16		/* a power of two */

/*
 * The same at hand: what a request's record says of its connection, for each CPU its own. It holds as long as no
 * connection of the process was closed since.
 */
struct gorpc_near {
	__u64 addr, g;
	__u32 born, tgid, closed, ports;
	__u64 sk;
	struct gorpc_frame_rec rec;	/* without what is the frame's own */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NEAR_SLOTS);
	__type(key, __u32);
	__type(value, struct gorpc_near);
} gorpc_near SEC(".maps");

/* NULL where another hit could come in between. */
static __always_inline struct gorpc_near *near_at(__u64 addr)
{
	__u32 slot = slot_of(addr) & (NEAR_SLOTS - 1);

	return bpf_preempt_disable ? bpf_map_lookup_elem(&gorpc_near, &slot) : NULL;
}

/* The socket is looked at: it may have got a cookie. */
static __always_inline bool is_near(struct gorpc_scratch *s, const struct gorpc_layout *l, struct gorpc_near *n,
				    __u64 addr)
{
	if (n->addr != addr || n->g != s->g || n->born != l->born || n->tgid != s->tgid || n->closed != l->closed ||
	    !read_sock(s, (void *)n->sk) || sock_ports(s) != n->ports)
		return false;
	n->rec.cookie = SOCK(s, __u64, skc_cookie);
	return true;
}

/* What the record says of its connection, to @to. */
static __always_inline void copy_origin(struct gorpc_frame_rec *to, const struct gorpc_frame_rec *from)
{
	to->conn = from->conn;
	to->goid = from->goid;
	to->parent_goid = from->parent_goid;
	to->cookie = from->cookie;
	to->fd = from->fd;
	to->netns = from->netns;
	to->family = from->family;
	to->lport = from->lport;
	to->rport = from->rport;
	to->flags |= from->flags & GORPC_F_SOCK;
	__builtin_memcpy(to->laddr, from->laddr, sizeof(to->laddr) + sizeof(to->raddr));
}

static __always_inline struct gorpc_object object_at(const struct gorpc_scratch *s, const struct gorpc_layout *l,
						     __u64 addr)
{
	return (struct gorpc_object){ .addr = addr, .born = l->born, .tgid = s->tgid };
}

/* The whole origin of a request, and the key of its connection. */
static __always_inline bool recall(struct gorpc_scratch *s, const struct gorpc_layout *l, __u64 addr)
{
	__u32 closed = *(volatile const __u32 *)&l->closed;	/* before the connection is looked for */
	struct gorpc_object key = object_at(s, l, addr);
	struct gorpc_known *k = bpf_map_lookup_elem(&gorpc_conns, &key);
	struct gorpc_near *n = near_at(addr);
	struct gorpc_frame_rec *r = &s->rec;

	if (!k || k->g != s->g || !read_sock(s, (void *)k->sk) || sock_ports(s) != k->ports)
		return false;
	r->conn = k->conn;
	r->goid = k->goid;
	r->parent_goid = k->parent_goid;
	r->fd = k->fd;
	take_sock(s, k->netns);
	if (*(volatile __u64 *)&k->addr != addr)
		return false;
	if (n) {
		n->addr = addr;
		n->g = s->g;
		n->born = l->born;
		n->tgid = s->tgid;
		n->closed = closed;
		n->ports = sock_ports(s);
		n->sk = k->sk;
		copy_origin(&n->rec, r);
	}
	return true;
}

/* What is near of the connection at @addr, or NULL. */
static __always_inline const struct gorpc_near *nearby(struct gorpc_scratch *s, const struct gorpc_layout *l,
						       __u64 addr)
{
	struct gorpc_near *n = near_at(addr);

	if (!n || !is_near(s, l, n, addr))
		return NULL;
	s->rec.conn = n->rec.conn;
	return n;
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

static __always_inline void forget_conn(const struct gorpc_scratch *s, struct gorpc_layout *l, __u64 addr)
{
	struct gorpc_object key = object_at(s, l, addr);

	bpf_map_delete_elem(&gorpc_conns, &key);
	__sync_fetch_and_add(&l->closed, 1);
}

struct gorpc_web_conn {
	__u64 conn;		/* the object that is the key of its calls */
	__u64 side;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct gorpc_object);
	__type(value, struct gorpc_web_conn);
} gorpc_framers SEC(".maps");

/* Told with each request: memory that is another connection's Framer by then is known as that. */
static __always_inline void remember_framer(const struct gorpc_scratch *s, const struct gorpc_layout *l, __u64 framer)
{
	struct gorpc_object key = object_at(s, l, framer);
	struct gorpc_web_conn c = { .conn = s->rec.conn, .side = s->rec.side };

	if (framer)
		bpf_map_update_elem(&gorpc_framers, &key, &c, BPF_ANY);
}

static __always_inline const struct gorpc_web_conn *conn_of_framer(const struct gorpc_scratch *s,
								   const struct gorpc_layout *l, __u64 framer)
{
	struct gorpc_object key = object_at(s, l, framer);

	return bpf_map_lookup_elem(&gorpc_framers, &key);
}

#endif
