/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * An operation on a socket of interest: which protocol, whose turn, which bytes are kept. Hooks find socket, state
 * and registers. Kernel objects are read by BPF_CORE_READ(): at the ends of system calls they are untyped.
 *
 * CALL_OP_OLD: loads on 5.10, so neither callbacks nor pointers as arguments of global functions (both 5.13). Frames
 * of HTTP/2 are not walked, its operations kept whole; requests that follow each other are not measured.
 */
#ifndef CALL_OP_BPF_H
#define CALL_OP_BPF_H

#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/ident.bpf.h"
#include "bpf/ident_sock.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/call/call_wire.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/bpf/call_walk.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifdef CALL_OP_OLD
#define op_protocol call_guess_protocol
#define op_walk(op, b, flags) false
#define op_walks(s) false
#define OP_WALKS false
#define OP_MEASURES false
#else
#define op_protocol call_guess_socket
#define OP_WALKS true
#define OP_MEASURES true
#endif

#define PARTS 4		/* records of an operation that is kept whole, from 6.3 on */
#define RCV_SHUTDOWN 1	/* include/net/sock.h */
#define SRTT_SHIFT 3	/* tcp_sock.srtt_us holds eighths */

UNIT_SHARED const volatile __u32 call_n_ports = 0;		/* 0 = any */
UNIT_SHARED const volatile __u16 call_ports[CALL_PORTS] = { 0 };
UNIT_SHARED const volatile __u16 call_dns_port = 0;		/* beside 53 and 5353 */

UNIT_MAP(call_orders, LRU_HASH, 65536, __u64 /* cookie */, __u8 /* CALL_ORDER_* */);

/*
 * A record under construction, by CPU: too large for a per-CPU map. No program preempts another (preempt.bpf.h).
 */
UNIT_MAP(call_rooms, ARRAY, 1 /* possible CPUs, set at run time */, __u32, struct call_room);

/* The programs at TLS libraries need this helper (5.15). Without them call_tls_insides is empty, or absent (5.11). */
enum bpf_func_id___op { BPF_FUNC_get_attach_cookie___op = 174 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___call {
	unsigned char sk_shutdown;
};

struct tcp_sock___call {
	__u32 srtt_us, copied_seq, rcv_nxt, write_seq, snd_una;
	__u64 bytes_received, bytes_acked;
};

struct unix_sock___call {
	struct sock *peer;
};

#pragma clang attribute pop

struct call_op {
	struct sock *sk;	/* untyped at the ends of system calls */
	struct call_sock *s;	/* bytes: this operation included */
	const struct pt_regs *regs; /* of the system call */
	__u64 start_ns;		/* of the process */
	__u32 tgid, tid;
	__u32 size, dir;
	bool is_32bit;		/* the system call of a 32-bit program */
	bool turn;		/* the first of its turn; set by op_run() */
};

/* ---- TLS ---- */

/* Content types 20 to 23, version 3.x, a length that fits (RFC 8446, section 5.1). */
static __always_inline bool tls_is_record(const __u8 *b)
{
	return b[0] >= 0x14 && b[0] <= 0x17 && b[1] == 3 && b[2] <= 4 && b[3] <= 0x42;
}

static __always_inline bool tls_is_handshake(const __u8 *b)
{
	return b[0] == 0x16 && tls_is_record(b);
}

static __always_inline bool tls_is_hello(const __u8 *b)
{
	return b[0] == 0x16 && b[1] == 3 && b[HELLO_TYPE] == 1;
}

/* The first bytes of a socket's TLS: remembers the client random, if they hold one. */
static __always_inline void tls_hello(__u64 cookie, __u32 tgid, const __u8 *b)
{
	struct call_tls_hello_key key = { .tgid = tgid };
	struct call_tls_hello hello = { .cookie = cookie }, *old;

	__builtin_memcpy(&key.random, b + HELLO_RANDOM, sizeof(key.random));
	old = bpf_map_lookup_elem(&call_tls_hellos, &key);
	if (old && old->cookie != cookie)
		hello.many = 1;
	bpf_map_update_elem(&call_tls_hellos, &key, &hello, BPF_ANY);
}

/* An operation on a socket of TLS. True if the thread is inside of a library. */
static __always_inline bool tls_inside(__u64 cookie)
{
	struct call_tls_inside *in;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___op, BPF_FUNC_get_attach_cookie___op))
		return false;
	in = bpf_task_storage_get(&call_tls_insides, bpf_get_current_task_btf(), NULL, 0);
	if (!in || !in->fn)
		return false;
	if (!in->cookie)
		in->cookie = cookie;
	else if (in->cookie != cookie)
		in->many = 1;
	return true;
}

/* ---- connections ---- */

static __always_inline bool is_dns_port(__u16 port)
{
	return port == 53 || port == 5353 || (call_dns_port && port == call_dns_port);
}

static __always_inline __u16 lport_of(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_num);
}

static __always_inline __u16 rport_of(const struct sock *sk)
{
	return __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
}

static __always_inline bool port_is_wanted(__u16 port)
{
	for (__u32 i = 0; i < CALL_PORTS && i < call_n_ports; i++)
		if (call_ports[i] == port)
			return true;
	return false;
}

/* Did bytes go over the connection before this operation? Counters of TCP may be off by SYN and FIN. */
static __always_inline bool is_midstream(const struct call_op *op)
{
	const struct tcp_sock___call *tp = (const void *)op->sk;
	__u32 unread, unacked;

	if (!op->s->tcp)
		return false;
	unread = BPF_CORE_READ(tp, rcv_nxt) - BPF_CORE_READ(tp, copied_seq);
	unacked = BPF_CORE_READ(tp, write_seq) - BPF_CORE_READ(tp, snd_una);
	return BPF_CORE_READ(tp, bytes_received) - unread + BPF_CORE_READ(tp, bytes_acked) + unacked >
	       (__u64)op->size + 2;
}

/* The first operation on a connection: may it be of interest? */
static __always_inline void conn_begin(const struct call_op *op)
{
	const struct sock *sk = op->sk;
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family), lport = lport_of(sk), rport = rport_of(sk);
	__u16 proto = BPF_CORE_READ(sk, sk_protocol);
	bool inet = family == AF_INET || family == AF_INET6;
	struct call_sock *s = op->s;

	s->class = CLASS_IGNORED;
	s->dir = !op->dir;	/* the first operation begins a turn */
	if (!inet && family != AF_UNIX)
		return;
	if (call_n_ports && (!inet || !(port_is_wanted(lport) || port_is_wanted(rport))))
		return;
	s->tcp = inet && proto == IPPROTO_TCP;
	if (inet && proto == IPPROTO_UDP) {
		if (!(is_dns_port(lport) || is_dns_port(rport)) || !(call_kinds & 1 << CALL_GUESS_DNS))
			return;
		s->class = CLASS_WATCHED;
		s->guess = CALL_GUESS_DNS;
	} else if (BPF_CORE_READ(sk, sk_type) == SOCK_STREAM) {
		s->class = CLASS_GUESSING;
		s->midstream = is_midstream(op);
	}
}

static __always_inline void conn_addresses(struct call_conn_rec *r, const struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	r->proto = family == AF_UNIX ? 0 : BPF_CORE_READ(sk, sk_protocol);
	r->lport = lport_of(sk);
	r->rport = rport_of(sk);
	if (family == AF_INET) {
		r->family = SONDE_IPV4;
		*(__u32 *)r->laddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(__u32 *)r->raddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else if (family == AF_INET6) {
		r->family = SONDE_IPV6;
		BPF_CORE_READ_INTO(&r->laddr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&r->raddr, sk, __sk_common.skc_v6_daddr);
	} else {
		r->family = AF_UNIX;
		r->lport = r->rport = 0;
		r->peer_cookie = BPF_CORE_READ((const struct unix_sock___call *)sk, peer,
					       __sk_common.skc_cookie.counter);
	}
}

/* The bytes before this operation: of TLS its plain text. */
static __always_inline void conn_bytes(struct call_conn_rec *r, const struct call_op *op)
{
	const struct call_sock *s = op->s;
	const struct call_tls_conn *c;

	if (s->class != CLASS_TLS) {
		r->bytes[CALL_RX] = s->bytes[CALL_RX];
		r->bytes[CALL_TX] = s->bytes[CALL_TX];
		r->bytes[op->dir & 1] -= op->size;
		return;
	}
	r->source = CALL_SOURCE_OPENSSL;
	c = bpf_map_lookup_elem(&call_tls_conns, &s->cookie);
	r->bytes[CALL_RX] = c ? c->bytes[CALL_RX] : 0;
	r->bytes[CALL_TX] = c ? c->bytes[CALL_TX] : 0;
}

/* Says who uses the connection, unless the last record said so. */
static __noinline int conn_announce(struct call_op *op)
{
	struct call_sock *s = op->s;
	struct call_conn_rec *r;
	struct sonde_ledger *l;

	if (s->tgid == op->tgid)
		return 0;
	l = ledger_seen(CALL_CLASS_SOCKET);
	r = l ? rec_reserve(l, LANE_BULK, sizeof(*r)) : NULL;
	if (!r)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	rec_init(&r->hdr, l, CALL_REC_CONN, sizeof(*r), CALL_CLASS_SOCKET | SONDE_RF_IDENT);
	ident_task(&r->id, (void *)bpf_get_current_task());
	r->id.sock = r->cookie = s->cookie;
	r->id.owner_how = SONDE_HOW_STORAGE;
	conn_bytes(r, op);
	r->guess = s->guess;
	r->flags = s->midstream ? CALL_CONN_MIDSTREAM : 0;
	conn_addresses(r, op->sk);
	rec_submit(l, LANE_BULK, r);
	s->tgid = op->tgid;
	return 0;
}

/* ---- bytes ---- */

static __always_inline struct call_room *room_get(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&call_rooms, &cpu);
}

/* The buffers of the call. *ret_flags: why there are none. */
static __always_inline void op_bytes(const struct call_op *op, struct call_user_bytes *b, __u8 *ret_flags)
{
	b->base = b->n_iov = 0;
	if (!op->is_32bit)
		call_user_find(b, op->regs, op->s->nth);
	if (!b->base)
		*ret_flags |= CALL_F_NO_REGS;
}

/* Does another probe show the calls of this connection? */
static __always_inline bool is_left(const struct call_op *op)
{
	return call_is_left(op->s->guess, op->tgid);
}

/* The first buffer. */
static __always_inline bool op_first(const struct call_op *op, const struct call_user_bytes *b,
				     struct call_iovec *ret)
{
	ret->base = b->base;
	ret->len = op->size;
	return !b->n_iov || !bpf_probe_read_user(ret, sizeof(*ret), (void *)b->base);
}

/* The connection carries TLS from now on. @from: its first bytes. In a frame beside those of the records. */
static __noinline int tls_begin(struct call_op *op, const void *from, __u64 len)
{
	struct call_sock *s = op->s;
	__u8 b[HELLO_BYTES];

	s->class = CLASS_TLS;
	s->tgid = 0;
	call_tls_conn_get(s->cookie);
	if (len >= sizeof(b) && !bpf_probe_read_user(b, sizeof(b), from) && tls_is_hello(b))
		tls_hello(s->cookie, op->tgid, b);
	return 0;
}

static __noinline int op_guess(struct call_op *op, const struct call_user_bytes *b)
{
	struct call_guess g = { .size = op->size, .dir = op->dir };
	struct call_sock *s = op->s;
	struct call_iovec v;
	__u32 n;

	if (!op_first(op, b, &v))
		return false;
	n = v.len < op->size ? v.len : op->size;
	if (n > CALL_GUESS_BYTES)
		n = CALL_GUESS_BYTES;
	barrier_var(n);		/* the verifier of 6.1 needs the bound next to its use */
	if (n > CALL_GUESS_BYTES || bpf_probe_read_user(g.b, n, (void *)v.base))
		return false;
	if (tls_is_record(g.b)) {
		tls_begin(op, (void *)v.base, v.len);
		return false;
	}
	s->guess = (__u8)op_protocol(&g, is_dns_port(lport_of(op->sk)) || is_dns_port(rport_of(op->sk)));
	if (!s->guess)
		return false;
	s->class = call_kinds & 1 << s->guess && !is_left(op) ? CLASS_WATCHED : CLASS_IGNORED;
	/* Requests and responses end behind the content: by a record of FastCGI, by a frame where none are walked. */
	s->wide = s->guess == CALL_GUESS_FASTCGI || (s->guess == CALL_GUESS_HTTP2 && !OP_WALKS);
	return s->class == CLASS_WATCHED;
}

static __always_inline __u32 op_rtt_us(const struct call_op *op)
{
#ifdef CALL_OP_OLD
	const struct tcp_sock___call *tp = (const void *)op->sk;

	return op->s->tcp ? BPF_CORE_READ(tp, srtt_us) >> SRTT_SHIFT : 0;
#else
	const struct tcp_sock___call *tp = (const void *)bpf_skc_to_tcp_sock(op->sk);

	return tp ? tp->srtt_us >> SRTT_SHIFT : 0;
#endif
}

/* Bytes to keep: of each turn the first, of a wide connection and of heads of HTTP/1 all. */
static __always_inline __u32 op_budget(const struct call_op *op, const struct call_user_bytes *b)
{
	struct call_sock *s = op->s;
	__u32 most = op->size;
	bool whole;

	if (op->turn || call_guess_is_unanswered(s->guess))
		s->left = s->wide ? CALL_HEAD_MAX : call_head;
	whole = s->wide || (most > s->left && s->guess == CALL_GUESS_HTTP && b->base && !b->n_iov &&
			    call_user_ends_head((void *)b->base, op->size));
	if (!whole && most > s->left)
		most = s->left;
	if (most > CALL_HEAD_MAX)
		most = CALL_HEAD_MAX;
	s->left -= most < s->left ? most : s->left;
	return most;
}

/* The record of @size bytes of the operation, of which @kept are in the room behind it. */
static __always_inline void record_init(struct call_data_rec *r, const struct sonde_ledger *l,
					const struct call_op *op, __u32 size, __u32 kept)
{
	rec_init_keys(&r->hdr, l, CALL_REC_DATA, sizeof(*r) + kept, CALL_CLASS_SOCKET, op->tgid, op->tid,
		      op->start_ns);
	r->cookie = op->s->cookie;
	r->size = size;
	r->kept = kept;
	r->dir = op->dir;
	r->guess = op->s->guess;
	r->source = CALL_SOURCE_SOCKET;
	r->tls_by = 0;
}

/* Bytes of the operation that go into a record of their own: the status of a database's answer stands last. */
static __always_inline __u32 op_tail_bytes(const struct call_op *op, const struct call_user_bytes *b, __u32 most)
{
	__u32 rest = op->size - most;

	if (!call_guess_is_late(op->s->guess) || b->n_iov || !b->base)
		return 0;
	return rest < CALL_TAIL_BYTES ? rest : CALL_TAIL_BYTES;
}

/* With --show queue, at the first read of a turn: how long its bytes waited; else the round-trip time. */
static __always_inline void record_time(struct call_data_rec *r, const struct call_op *op)
{
	__u64 ready_ns = op->s->ready_ns, us;

	r->rtt_us = op->turn ? op_rtt_us(op) : 0;
	if (op->dir != CALL_RX || !ready_ns)
		return;
	op->s->ready_ns = 0;
	if (!op->turn || ready_ns > r->hdr.ts_ns)
		return;
	us = (r->hdr.ts_ns - ready_ns) / 1000;
	r->rtt_us = us > 0xffffffff ? 0xffffffff : us;
	r->flags |= CALL_F_QUEUE;
}

static __noinline int op_tail(struct call_op *op, const struct call_user_bytes *b, __u32 size)
{
	struct call_room *room = room_get();
	struct sonde_ledger *l = ledger_seen(CALL_CLASS_SOCKET);
	struct call_data_rec *r;

	if (!room || !l || !size || size > CALL_TAIL_BYTES)
		return 0;
	r = &room->rec;
	record_init(r, l, op, size, size);
	r->offset = op->s->bytes[op->dir & 1] - size;
	r->rtt_us = 0;
	r->flags = 0;
	if (bpf_probe_read_user(room->bytes, size, (void *)(b->base + op->size - size))) {
		r->flags = CALL_F_FAULT;
		r->kept = 0;
		r->hdr.len = sizeof(*r);
		call_output(l, r, sizeof(*r));
		return 0;
	}
	call_output(l, r, sizeof(*r) + size);
	return 0;
}

/* Is it a client's, of a database? The end of a statement is worth as much as its start. */
static __always_inline bool op_asks(const struct call_op *op, const __u8 *b)
{
	if (op->s->guess == CALL_GUESS_MYSQL)
		return !b[3];
	return op->s->guess == CALL_GUESS_POSTGRESQL && (b[0] == 'P' || b[0] == 'B' || b[0] == 'Q');
}

/*
 * Is the operation to be kept whole? The room holds what was copied. If requests or messages follow the first one in
 * it, the next operations are kept whole, too.
 */
static __always_inline bool op_widens(const struct call_op *op, struct call_room *room, __u32 kept)
{
	struct call_sock *s = op->s;

	if (!OP_MEASURES || s->wide)
		return false;
	if (call_guess_is_unanswered(s->guess) || call_guess_is_late(s->guess)) {
		s->wide = kept < op->size && call_pipeline_messages(s->guess, room, kept, op->size);
		return s->wide || (kept < op->size && op_asks(op, room->bytes));
	}
	s->wide = op->turn && call_may_pipeline(s->guess, CALL_GUESS_HTTP, &s->turns) &&
		  (call_pipeline_heads(room, kept) || call_heads_may_follow(room, kept, op->size));
	return s->wide;
}

static __always_inline __u32 op_copy(const struct call_user_bytes *b, __u8 *to, __u32 most)
{
	__u32 kept;

	if (!OP_MEASURES) {
		kept = call_user_copy(b, to, most);
	} else if (b->n_iov) {
		kept = call_walk_gather(b, to, most);
	} else {
		barrier_var(most);
		kept = most > CALL_HEAD_MAX || bpf_probe_read_user(to, most, (void *)b->base) ? 0 : most;
	}
	return kept < CALL_HEAD_MAX ? kept : CALL_HEAD_MAX;
}

/* The part of an operation from @from on, as a record of its own. The last one stands for what follows, too. */
static __noinline int op_part(struct call_op *op, const struct call_user_bytes *b, __u32 from)
{
	struct call_room *room = room_get();
	__u32 rest = op->size - from, kept = rest < CALL_HEAD_MAX ? rest : CALL_HEAD_MAX;
	struct sonde_ledger *l;
	struct call_data_rec *r;

	if (op->size <= from || !room)
		return 0;
	l = ledger_seen(CALL_CLASS_SOCKET);
	if (!l)
		return 0;
	r = &room->rec;
	barrier_var(kept);
	record_init(r, l, op, from == (PARTS - 1) * CALL_HEAD_MAX ? rest : kept, kept);
	r->offset = op->s->bytes[op->dir & 1] - rest;
	r->rtt_us = r->flags = 0;
	if (kept > CALL_HEAD_MAX || bpf_probe_read_user(room->bytes, kept, (void *)(b->base + from))) {
		r->flags = CALL_F_FAULT;
		r->hdr.len = sizeof(*r);
		r->kept = kept = 0;
	}
	call_output(l, r, sizeof(*r) + kept);
	return 0;
}

#ifndef CALL_OP_OLD
/* Are heads and frames found in its operations? */
static __always_inline bool op_walks(const struct call_sock *s)
{
	return s->guess == CALL_GUESS_HTTP2 || (s->guess == CALL_GUESS_HTTP && s->wide);
}

/* False if their place is unknown. */
static __noinline int op_walk(struct call_op *op, struct call_user_bytes *b, __u8 flags)
{
	struct call_room *room = room_get();
	struct sonde_ledger *l = ledger_row(CALL_CLASS_SOCKET);

	if (!room || !l)
		return 0;
	record_init(&room->rec, l, op, 0, 0);
	room->rec.flags = flags | (op->turn ? CALL_F_TURN : 0);
	record_time(&room->rec, op);
	room->walk.offset = op->s->bytes[op->dir & 1] - op->size;
	room->walk.size = op->size;
	room->walk.dir = op->dir;
	room->walk.class = CALL_CLASS_SOCKET;
	if (op->s->guess == CALL_GUESS_HTTP)
		return call_heads_send(room, &op->s->heads, b, op->turn);
	return call_frames_send(room, &op->s->frames, b, op->turn);
}
#endif

/* Records an operation, or begins to walk it: its head, of databases the tail too, as far as the budget allows. */
static __noinline int op_record(struct call_op *op, struct call_user_bytes *b, __u8 flags)
{
	struct call_room *room = room_get();
	struct sonde_ledger *l = ledger_row(CALL_CLASS_SOCKET);
	struct call_data_rec *r;
	__u32 most, tail, kept = 0;
	bool parts;

	if (!room || !l)
		return 0;
	r = &room->rec;
	if (OP_MEASURES && op->turn && !op->s->wide && b->base && !b->n_iov &&
	    call_may_pipeline(op->s->guess, CALL_GUESS_REDIS, &op->s->turns))
		op->s->wide = call_user_pipelines((void *)b->base, op->size);
	most = op_budget(op, b);
	if (b->base && most)
		kept = op_copy(b, room->bytes, most);
	if (kept && op_widens(op, room, kept)) {
		if (op_walks(op->s) && op_walk(op, b, flags))
			return 0;
		most = op->size < CALL_HEAD_MAX ? op->size : CALL_HEAD_MAX;
		if (kept < most)
			kept = op_copy(b, room->bytes, most);
	}
	l->seen++;
	tail = op_tail_bytes(op, b, most);
	if (b->base && kept < most)
		flags |= CALL_F_FAULT;
	parts = OP_MEASURES && op->s->wide && !b->n_iov && kept == CALL_HEAD_MAX && op->size > CALL_HEAD_MAX;
	record_init(r, l, op, parts ? CALL_HEAD_MAX : op->size - tail, kept);
	r->offset = op->s->bytes[op->dir & 1] - op->size;
	r->flags = flags | (op->turn ? CALL_F_TURN : 0);
	record_time(r, op);
	call_output(l, r, sizeof(*r) + kept);
	if (!parts)
		return tail ? op_tail(op, b, tail) : 0;
	for (__u32 i = 1; i < PARTS; i++)
		op_part(op, b, i * CALL_HEAD_MAX);
	return 0;
}

/* ---- an operation ---- */

#define BEFORE_TLS 8192	/* more bytes than pass before */

/* Databases ask for TLS in their own protocol. */
static __always_inline bool may_start_tls(const struct call_sock *s)
{
	return s->guess == CALL_GUESS_POSTGRESQL || s->guess == CALL_GUESS_MYSQL;
}

/*
 * Is it the hello of either side? Servers read the record's header first; with MySQL the client's hello follows its
 * request without a turn.
 */
static __noinline int op_starts_tls(struct call_op *op, const struct call_user_bytes *b)
{
	const struct call_sock *s = op->s;
	struct call_iovec v;
	__u8 head[HELLO_TYPE + 1] = { 0 };

	if (s->bytes[CALL_RX] + s->bytes[CALL_TX] > BEFORE_TLS || !b->base || !op_first(op, b, &v) ||
	    v.len < HELLO_TYPE || bpf_probe_read_user(head, HELLO_TYPE, (void *)v.base) || !tls_is_handshake(head))
		return false;
	if (v.len > HELLO_TYPE && (bpf_probe_read_user(&head[HELLO_TYPE], 1, (void *)v.base + HELLO_TYPE) ||
				   !head[HELLO_TYPE] || head[HELLO_TYPE] > 2))
		return false;
	tls_begin(op, (void *)v.base, v.len);
	return true;
}

static __always_inline void turn_begin(const struct call_op *op)
{
	struct call_sock *s = op->s;

	s->dir = op->dir;
	s->nth = 0;
	if (s->class == CLASS_WATCHED && is_left(op))
		s->class = CLASS_IGNORED;
}

/* Reads the order of user space. */
static __always_inline void order_take(const struct call_op *op)
{
	struct call_sock *s = op->s;
	__u8 *order;

	if (s->class != CLASS_WATCHED || !call_has_orders)
		return;
	order = bpf_map_lookup_elem(&call_orders, &s->cookie);
	if (!order)
		return;
	if (*order != CALL_ORDER_IGNORE)
		s->wide = 1;
	else
		s->class = may_start_tls(s) ? CLASS_GUESSING : CLASS_IGNORED;
}

/* Cipher bytes: they only say which socket a library uses. */
static __always_inline int op_of_tls(struct call_op *op)
{
	tls_inside(op->s->cookie);
	return conn_announce(op);
}

/* An operation of more than 0 bytes on a connection that is not ignored and has its cookie. */
static __noinline int op_run(struct call_op *op)
{
	struct call_sock *s = op->s;
	struct call_user_bytes b;
	__u8 flags = 0;

	if (s->class == CLASS_NEW)
		conn_begin(op);
	op->turn = s->dir != op->dir;
	if (op->turn)
		turn_begin(op);
	if (op->turn || (call_guess_is_unanswered(s->guess) && !s->wide))
		order_take(op);
	if (s->class == CLASS_IGNORED)
		return 0;
	if (s->class == CLASS_TLS)
		return op_of_tls(op);
	op_bytes(op, &b, &flags);
	if (s->class == CLASS_WATCHED && may_start_tls(s) && op_starts_tls(op, &b))
		return op_of_tls(op);
	if (s->class == CLASS_GUESSING) {
		if (!op->turn)
			return 0;
		if (!op_guess(op, &b)) {
			if (s->class == CLASS_TLS)
				op_of_tls(op);
			else if (s->class == CLASS_GUESSING && ++s->turns >= GUESS_TURNS)
				s->class = CLASS_IGNORED;
			return 0;
		}
	}
	conn_announce(op);
	if (!op_walks(s) || !op_walk(op, &b, flags))
		op_record(op, &b, flags);
	s->nth = op->dir == CALL_TX ? s->nth + 1 : s->nth;
	return 0;
}

/* A read of 0 bytes: reports that the peer will send nothing more, once. */
static __noinline int op_end(struct call_op *op)
{
	const struct sock___call *sk = (const void *)op->sk;
	struct call_user_bytes none = { 0 };

	if (op->s->class != CLASS_WATCHED || op->s->ended || !(BPF_CORE_READ(sk, sk_shutdown) & RCV_SHUTDOWN))
		return 0;
	op->s->ended = 1;
	op->turn = false;
	return op_record(op, &none, CALL_F_END);
}

#endif
