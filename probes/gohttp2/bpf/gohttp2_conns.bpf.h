/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * From a net.Conn in the program's memory to the kernel's socket: unwraps TLS and other wrappers by the table that
 * src/gobin makes of the program's types, then looks up the descriptor in the task's files. A connection that leads
 * to no socket counts as a miss with its type, and its call has no peer.
 *
 * gRPC's connections are cached, since the way from transport to socket takes ten reads; one goroutine handles all
 * requests of a connection. An entry is dropped when the transport closes, before the program can reuse the object's
 * memory; where closing cannot be probed nothing is cached.
 *
 * A second table maps Framers of net/http and x/net to their connections, which a Framer does not reference.
 */
#ifndef GOHTTP2_CONNS_BPF_H
#define GOHTTP2_CONNS_BPF_H

#include "bpf/task_file.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_cpu.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct socket___gohttp2 {
	struct file___fd *file;
};

struct sock___gohttp2 {
	struct socket___gohttp2 *sk_socket;
};

#pragma clang attribute pop

struct gohttp2_iface {
	__u64 itab, data;
};

/* Dynamic type of a non-empty interface: itab._type. The itab itself may be created at run time. */
static __always_inline __u64 iface_type(const struct gohttp2_iface *c)
{
	return word_at(c->itab, 8);
}

UNIT_MAP_FLAGS(gohttp2_conn_types, HASH, BPF_F_NO_PREALLOC, 16384, struct gohttp2_type_key,
	       struct gohttp2_conn_type);

/* How often a type led to no socket. Type 0: it could not be read. */
UNIT_MAP(gohttp2_conn_ends, LRU_HASH, 256, struct gohttp2_type_key, __u64);

enum inside { INSIDE_NONE, INSIDE_CONN, INSIDE_FD, INSIDE_FAULT };

static __always_inline struct gohttp2_type_key conn_key(const struct gohttp2_layout *l, __u64 type)
{
	return (struct gohttp2_type_key){ .type = type ? type - l->bias : 0, .module = l->module };
}

/* The interface at @addr: INSIDE_NONE if it is nil, or if @maybe and its type is not in the table. */
static __always_inline enum inside through_iface(struct gohttp2_scratch *s, const struct gohttp2_layout *l,
						 __u64 addr, bool maybe)
{
	struct gohttp2_type_key key;
	struct gohttp2_iface c;
	__u64 type;

	if (read_user(&c, sizeof(c), addr)) {
		MISS(conn_inner);
		return INSIDE_FAULT;
	}
	if (!c.itab || !c.data)
		return INSIDE_NONE;
	type = iface_type(&c);
	key = conn_key(l, type);
	if (maybe && !bpf_map_lookup_elem(&gohttp2_conn_types, &key))
		return INSIDE_NONE;
	s->conn_itab = c.itab;
	s->conn_type = type;
	s->conn = c.data;
	return INSIDE_CONN;
}

static __always_inline enum inside through_pointer(struct gohttp2_scratch *s, const struct gohttp2_layout *l,
						   const struct gohttp2_conn_type *t, __u32 way)
{
	__u64 to = t->direct ? s->conn : word_at(s->conn, t->off[way]);

	if (!to)
		return INSIDE_NONE;
	s->conn = to;
	if (t->how[way] == GOHTTP2_CONN_FD)
		return INSIDE_FD;
	s->conn_itab = 0;
	s->conn_type = t->inner[way] + l->bias;
	return INSIDE_CONN;
}

/* From the connection s->conn of type s->conn_type to the one inside, by the first way that is not nil. */
static __noinline int step_inside(struct gohttp2_scratch *s, struct gohttp2_layout *l)
{
	struct gohttp2_type_key key = conn_key(l, s->conn_type);
	const struct gohttp2_conn_type *t = bpf_map_lookup_elem(&gohttp2_conn_types, &key);
	enum inside r = INSIDE_NONE;

	if (!t)
		return INSIDE_NONE;
#pragma unroll
	for (__u32 i = 0; i < GOHTTP2_CONN_WAYS; i++) {
		__u8 how = t->how[i];

		if (r != INSIDE_NONE || !how)
			break;
		if (how == GOHTTP2_CONN_FD && s->conn_itab && t->off[i] == l->conn_fd)
			l->tcp_itab = s->conn_itab;
		if (how == GOHTTP2_CONN_FD || how == GOHTTP2_CONN_POINTER)
			r = through_pointer(s, l, t, i);
		else
			r = through_iface(s, l, s->conn + t->off[i], how == GOHTTP2_CONN_MAYBE);
	}
	return r;
}

static __always_inline void count_end(const struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	struct gohttp2_type_key key = conn_key(l, s->conn_type);
	__u64 *n = bpf_map_lookup_elem(&gohttp2_conn_ends, &key), one = 1;

	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&gohttp2_conn_ends, &key, &one, BPF_ANY);
}

struct unwrap {
	struct gohttp2_scratch *s;
	struct gohttp2_layout *l;
	int inside;	/* what the last step met */
};

static long unwrap_once(__u32 i, void *ctx)
{
	struct unwrap *u = ctx;

	u->inside = step_inside(u->s, u->l);
	return u->inside != INSIDE_CONN;
}

/* Unwraps s->conn down to its net.netFD. */
static __noinline int unwrap_conn(struct gohttp2_scratch *s, struct gohttp2_layout *l)
{
	struct unwrap u = { s, l, INSIDE_NONE };

	if (loops_there())	/* the verifier walks one step in place of all */
		bpf_loop(GOHTTP2_CONN_DEEP + 1, unwrap_once, &u, 0);
	else
		for (__u32 i = 0; i <= GOHTTP2_CONN_DEEP; i++)
			if (unwrap_once(i, &u))
				break;
	if (u.inside == INSIDE_NONE || u.inside == INSIDE_CONN) {
		MISS(conn_type);
		count_end(s, l);
	}
	return u.inside == INSIDE_FD;
}

static __always_inline int conn_fd(struct gohttp2_scratch *s, struct gohttp2_layout *l,
				   const struct gohttp2_iface *outer)
{
	__u64 netfd;
	__s32 fd = -1;

	if (outer->itab && outer->itab == l->tcp_itab) {
		netfd = word_at(outer->data, l->conn_fd);
	} else {
		s->conn_itab = outer->itab;
		s->conn_type = iface_type(outer);
		s->conn = outer->data;
		if (!unwrap_conn(s, l))
			return -1;
		netfd = s->conn;
	}
	if (!netfd || read_user(&fd, sizeof(fd), netfd + l->sysfd))
		MISS(fd);
	return fd;
}

/* Converts IPv4-mapped IPv6 to IPv4, as everywhere in sonde. */
static __always_inline void unmap(struct gohttp2_frame_rec *r)
{
	__u32 *l = (__u32 *)r->laddr, *p = (__u32 *)r->raddr;
	const __u32 mapped = 0xffff0000;	/* bytes 00 00 ff ff */

	if (l[0] || l[1] || l[2] != mapped)
		return;
	r->family = SONDE_IPV4;
	l[0] = l[3];
	p[0] = p[3];
	l[1] = l[2] = l[3] = 0;
	p[1] = p[2] = p[3] = 0;
}

/* A member of the sock_common in s->sock, at the running kernel's offset. */
static __always_inline const void *in_sock(const struct gohttp2_scratch *s, __u32 off)
{
	return &s->sock[off < SOCK_BYTES - 16 ? off : 0];
}
#define SOCK(s, type, member) \
	(*(const type *)in_sock(s, bpf_core_field_offset(struct sock_common, member)))

/* One read for all members: each read costs as much as a map look-up. */
static __always_inline bool read_sock(struct gohttp2_scratch *s, const void *sk)
{
	return !bpf_probe_read_kernel(s->sock, sizeof(s->sock), sk);
}

/* Both ports in one word, byte orders as in the kernel. */
static __always_inline __u32 ports_of(__u16 local, __u16 remote)
{
	return (__u32)local << 16 | remote;
}

static __always_inline __u32 sock_ports(const struct gohttp2_scratch *s)
{
	return ports_of(SOCK(s, __u16, skc_num), SOCK(s, __u16, skc_dport));
}

/*
 * The key of a unix socket, as in identity blocks: the number of its inode, whether or not a query of the kernel's
 * sockets gave it a cookie. 0 = it is closed.
 */
static __always_inline __u64 inode_key(const void *sk)
{
	__u64 ino = BPF_CORE_READ((const struct sock___gohttp2 *)sk, sk_socket, file, f_inode, i_ino);

	return ino ? SONDE_ID_SOCK_INODE | ino : 0;
}

/* Fills the record from s->sock, which holds the start of @sk. */
static __always_inline void take_sock(struct gohttp2_scratch *s, const void *sk, __u32 netns)
{
	struct gohttp2_frame_rec *r = &s->rec;
	__u16 family = SOCK(s, __u16, skc_family);

	r->cookie = SOCK(s, __u64, skc_cookie);
	r->netns = netns;
	r->lport = SOCK(s, __u16, skc_num);
	r->rport = __builtin_bswap16(SOCK(s, __u16, skc_dport));
	if (family == AF_INET) {
		r->family = SONDE_IPV4;
		*(__u32 *)r->laddr = SOCK(s, __u32, skc_rcv_saddr);
		*(__u32 *)r->raddr = SOCK(s, __u32, skc_daddr);
	} else if (family == AF_INET6) {
		r->family = SONDE_IPV6;
		*(struct in6_addr *)r->laddr = SOCK(s, struct in6_addr, skc_v6_rcv_saddr);
		*(struct in6_addr *)r->raddr = SOCK(s, struct in6_addr, skc_v6_daddr);
		unmap(r);
	} else if (family == AF_UNIX) {
		r->family = AF_UNIX;
		r->cookie = inode_key(sk);
		r->lport = r->rport = 0;
	} else {
		return;
	}
	r->flags |= GOHTTP2_F_SOCK;
}

/* The socket of the connection; NULL if not found. */
static __always_inline const struct sock *take_conn(struct gohttp2_scratch *s, struct gohttp2_layout *l,
						    const struct gohttp2_iface *conn)
{
	struct gohttp2_frame_rec *r = &s->rec;
	const struct net *net;
	struct sock *sk;

	r->fd = conn_fd(s, l, conn);
	if (r->fd < 0)
		return NULL;
	sk = task_file_sock(r->fd);
	if (!sk) {
		MISS(not_socket);
		return NULL;
	}
	if (!read_sock(s, sk))
		return NULL;
	net = (const struct net *)SOCK(s, __u64, skc_net);
	take_sock(s, sk, BPF_CORE_READ(net, ns.inum));
	return sk;
}

/* ---- cached connections ---- */

struct gohttp2_object {
	__u64 addr;		/* of the server's transport, or of a client's connection */
	__u32 born, tgid;	/* of the process */
};

struct gohttp2_known {
	__u64 addr;		/* as in the key; comes first, so that a reused element is detected */
	__u64 g;
	__u64 conn, goid, parent_goid;
	__u64 sk;		/* kernel address: compared and read, never trusted */
	__u32 netns, ports;
	__s32 fd;
	__u32 pad;
};

UNIT_MAP(gohttp2_conns, LRU_HASH, 4096, struct gohttp2_object, struct gohttp2_known);

/* NULL = not cached. Preemption must be off. */
static __always_inline struct gohttp2_near *near_in(struct gohttp2_cpu *cpu, __u64 addr)
{
	if (!HAS_TYPE(sock) || !cpu)
		return NULL;
	return &cpu->near[slot_of(addr) & (NEAR_SLOTS - 1)];
}

/* Re-reads the socket, which may have been assigned a cookie since. */
static __always_inline bool is_near(struct gohttp2_near *n, const struct gohttp2_layout *l, __u32 tgid, __u64 g,
				    __u64 addr)
{
	const struct sock *sk;
	__u64 cookie;

	if (n->addr != addr || n->g != g || n->born != l->born || n->tgid != tgid || n->closed != l->closed)
		return false;
	sk = TYPED(n->sk, sock);
	if (ports_of(sk->__sk_common.skc_num, sk->__sk_common.skc_dport) != n->ports)
		return false;
	cookie = sk->__sk_common.skc_cookie.counter;
	if (cookie && n->rec.family != AF_UNIX)
		n->rec.cookie = cookie;
	return true;
}

/* Copies the members that describe the connection. */
static __always_inline void copy_origin(struct gohttp2_frame_rec *to, const struct gohttp2_frame_rec *from)
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
	to->flags |= from->flags & GOHTTP2_F_SOCK;
	__builtin_memcpy(to->laddr, from->laddr, sizeof(to->laddr) + sizeof(to->raddr));
}

static __always_inline struct gohttp2_object object_at(const struct gohttp2_scratch *s,
						       const struct gohttp2_layout *l, __u64 addr)
{
	return (struct gohttp2_object){ .addr = addr, .born = l->born, .tgid = s->who.tgid };
}

/* Fills the origin of a request and the key of its connection from the cache. */
static __always_inline bool recall(struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u64 addr)
{
	__u32 closed = *(volatile const __u32 *)&l->closed;	/* read before the look-up */
	struct gohttp2_object key = object_at(s, l, addr);
	struct gohttp2_known *k = bpf_map_lookup_elem(&gohttp2_conns, &key);
	struct gohttp2_near *n = preempt_disable ? near_in(my_cpu(), addr) : NULL;
	struct gohttp2_frame_rec *r = &s->rec;

	if (!k || k->g != s->regs.g || !read_sock(s, (void *)k->sk) || sock_ports(s) != k->ports)
		return false;
	r->conn = k->conn;
	r->goid = k->goid;
	r->parent_goid = k->parent_goid;
	r->fd = k->fd;
	take_sock(s, (const void *)k->sk, k->netns);
	if (*(volatile __u64 *)&k->addr != addr)
		return false;
	if (n) {
		n->addr = addr;
		n->g = s->regs.g;
		n->born = l->born;
		n->tgid = s->who.tgid;
		n->closed = closed;
		n->ports = sock_ports(s);
		n->sk = k->sk;
		copy_origin(&n->rec, r);
	}
	return true;
}

/* First-level entry of the connection at @addr, or NULL. */
static __always_inline const struct gohttp2_near *nearby(struct gohttp2_scratch *s, const struct gohttp2_layout *l,
							 __u64 addr)
{
	struct gohttp2_near *n = preempt_disable ? near_in(my_cpu(), addr) : NULL;

	if (!n || !is_near(n, l, s->who.tgid, s->regs.g, addr))
		return NULL;
	s->rec.conn = n->rec.conn;
	return n;
}

/* Caches the connection at @addr. s->sock holds @sk. */
static __always_inline void remember(struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u64 addr,
				     const struct sock *sk, enum gohttp2_site close)
{
	struct gohttp2_object key = object_at(s, l, addr);
	struct gohttp2_known k;

	if (!sk || l->args[close][0] == GOHTTP2_ARG_NONE)
		return;
	k = (struct gohttp2_known){
		.addr = addr,
		.g = s->regs.g,
		.conn = s->rec.conn,
		.goid = s->rec.goid,
		.parent_goid = s->rec.parent_goid,
		.sk = (__u64)sk,
		.netns = s->rec.netns,
		.ports = sock_ports(s),
		.fd = s->rec.fd,
	};
	bpf_map_update_elem(&gohttp2_conns, &key, &k, BPF_ANY);
}

static __always_inline void forget_conn(const struct gohttp2_scratch *s, struct gohttp2_layout *l, __u64 addr)
{
	struct gohttp2_object key = object_at(s, l, addr);

	bpf_map_delete_elem(&gohttp2_conns, &key);
	__sync_fetch_and_add(&l->closed, 1);
}

struct gohttp2_web_conn {
	__u64 conn;		/* connection object, the key of its calls */
	__u64 side;
};

UNIT_MAP(gohttp2_framers, LRU_HASH, 4096, struct gohttp2_object, struct gohttp2_web_conn);

/* Updated with each request, so that memory reused for another connection's Framer maps to that connection. */
static __always_inline void remember_framer(const struct gohttp2_scratch *s, const struct gohttp2_layout *l,
					    __u64 framer)
{
	struct gohttp2_object key = object_at(s, l, framer);
	struct gohttp2_web_conn c = { .conn = s->rec.conn, .side = s->rec.side };

	if (framer)
		bpf_map_update_elem(&gohttp2_framers, &key, &c, BPF_ANY);
}

static __always_inline const struct gohttp2_web_conn *conn_of_framer(const struct gohttp2_scratch *s,
								     const struct gohttp2_layout *l, __u64 framer)
{
	struct gohttp2_object key = object_at(s, l, framer);

	return bpf_map_lookup_elem(&gohttp2_framers, &key);
}

/* ---- gohttp2_send.bpf.c ---- */

/*
 * Sends a frame of a gRPC server whose headers lie where those of an earlier frame did, or are not needed. Reads to
 * the stack and writes to the plain ring: after the work of a call scratch memory is not in the cache. False if this
 * shortcut does not apply. Preemption must be off.
 */
bool gohttp2_send_repeat(struct bpf_user_regs *regs, struct gohttp2_layout *layout, const struct task_struct *task,
			 __u32 site, struct sonde_ledger *l) __hidden;

/*
 * Reads the headers of a frame and sends its record. @n: origin that a request still lacks, NULL = complete. @alone:
 * preemption is off, so records that fit go to the plain ring, which needs no call into the kernel.
 */
int gohttp2_send(struct gohttp2_scratch *s, struct gohttp2_layout *layout, const struct gohttp2_near *n,
		 struct sonde_ledger *l, bool alone) __hidden;

#endif
