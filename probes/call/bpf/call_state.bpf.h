/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * State of the programs at sockets that those at TLS libraries read and write, too.
 */
#ifndef CALL_STATE_BPF_H
#define CALL_STATE_BPF_H

#include "bpf/go_http2.bpf.h"
#include "bpf/kernel.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define GUESS_TURNS 4	/* then the connection is ignored */
#define PIPE_TURNS 8	/* of Redis and HTTP/1 whose requests are measured; later on user space sees it */

UNIT_SHARED const volatile __u32 call_head = CALL_HEAD_BYTES;
UNIT_SHARED const volatile __u32 call_kinds = ~0u;	/* bit CALL_GUESS_*: watched */
/* Set by user space with the first order: until then the look-up is saved. */
UNIT_SHARED volatile __u32 call_has_orders = 0;

UNIT_SHARED const volatile bool call_leave_go = false;	/* HTTP/2 of programs that gohttp2 watches */

/* Does another probe show the calls of a connection with this CALL_GUESS_*? */
static __always_inline bool call_is_left(__u32 guess, __u32 tgid)
{
	return call_leave_go && guess == CALL_GUESS_HTTP2 && is_go_http2(tgid);
}

enum call_class { CLASS_NEW, CLASS_GUESSING, CLASS_WATCHED, CLASS_TLS, CLASS_IGNORED };

/*
 * That requests follow each other is found in two places, since neither suffices. The parsers find it for every
 * protocol and kernel, whatever operations hold (call_conn_most()), but their order comes some 50 ms later, when the
 * connection of a script or a benchmark has ended. The programs find it at the first byte: of Redis, whose lengths
 * stand in front, within one buffer, and not before 6.3, whose verifiers do not follow the lines; of HTTP/1 and of
 * protocols with lengths or lines among the bytes that were copied. @guess: of the connection; @of: whose turn it is;
 * @turns: so far.
 */
static __always_inline bool call_may_pipeline(__u32 guess, __u32 of, __u8 *turns)
{
	if (guess != of || *turns >= GUESS_TURNS + PIPE_TURNS)
		return false;
	++*turns;
	return true;
}

/* Where in the frames of HTTP/2 a connection is, by direction: call_frames.bpf.c. */
struct call_frames {
	__u32 left[2];		/* bytes of the current frame that are to come */
	__u32 head[2];		/* length and type of the next one, as far as they came */
	__u8 n_head[2];		/* bytes of its header that came */
	__u8 whole[2];		/* the current frame is kept */
	__u8 lost[2];		/* where the next frame begins is unknown */
};

/* Where in the messages of HTTP/1 a connection is, by direction: call_heads.bpf.c. */
struct call_heads {
	struct call_head {
		__u64 left;	/* content to come; of a line of digits their number so far */
		__u32 word;	/* hash of the line's last word so far */
		__u8 phase;	/* enum head_phase; 0 = unknown */
		__u8 field;	/* enum head_field of the line */
		__u8 filled;	/* the line has bytes */
		__u8 answers : 1; /* a response */
		__u8 chunked : 1;
	} dir[2];
};

enum head_phase { PHASE_UNKNOWN, PHASE_HEAD, PHASE_CONTENT_MAYBE, PHASE_CONTENT, PHASE_CHUNK, PHASE_TRAILER };
#define HEAD_LEFT_REST (~0ull)	/* until the end of the stream, unless a response follows */

static __always_inline void call_head_begin(struct call_head *h)
{
	h->phase = PHASE_HEAD;
	h->left = h->answers ? HEAD_LEFT_REST : 0;
	h->chunked = 0;
}

/* Passes over @n bytes. False if they are not content alone. */
static __always_inline bool call_head_pass(struct call_head *h, __u64 n)
{
	if (h->phase == PHASE_CONTENT_MAYBE && !h->chunked)
		h->phase = PHASE_CONTENT;
	if (h->phase != PHASE_CONTENT || h->left < n)
		return false;
	h->left -= h->left == HEAD_LEFT_REST ? 0 : n;
	if (!h->left && h->chunked)
		h->phase = PHASE_CHUNK;
	else if (!h->left)
		call_head_begin(h);
	return true;
}

/* A connection at its socket. */
struct call_sock {
	__u64 bytes[2];		/* by direction */
	__u64 cookie;
	__u64 ready_ns;		/* --show queue: arrival of the first bytes since the last read; 0 = none */
	__u32 tgid;		/* process of the last connection record; 0 = to be sent */
	__u32 left;		/* bytes that this turn may still keep */
	__u8 class;		/* enum call_class */
	__u8 guess;		/* CALL_GUESS_* */
	__u8 dir;		/* of the current turn */
	__u8 turns;		/* while guessing, and of Redis */
	__u8 wide;
	__u8 ended;		/* the end of the stream was reported */
	__u8 midstream;
	__u8 tcp;
	__u8 nth;		/* datagrams sent in this turn */
	__u8 counted;		/* @at is compared */
	__u8 local;		/* a stream to a socket of this host's */
	__u8 pad[5];
	__u32 at[2];		/* sequence numbers of TCP behind the last operation, by direction */
	union {
		struct call_frames frames;
		struct call_heads heads;
	};
};

/* ---- TLS ---- */

#define RANDOM_BYTES 16		/* of 32; enough to tell two of a process apart */

/* A record, then a message (RFC 8446, sections 5.1 and 4.1.2). */
#define HELLO_TYPE 5
#define HELLO_RANDOM 11
#define HELLO_BYTES (HELLO_RANDOM + RANDOM_BYTES)

struct call_tls_random {
	__u64 half[2];
};

/* A thread's running function. */
struct call_tls_inside {
	__u64 sp, object, buffer, done;
	__u64 cookie;		/* of the socket that the thread used; 0 = none so far */
	__u32 fn;		/* CALL_TLS_*; 0 = none */
	__u32 many;		/* it used several sockets */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_tls_inside);
} call_tls_insides UNIT_SHARED SEC(".maps");

struct call_tls_hello_key {
	struct call_tls_random random;
	__u64 tgid;
};

struct call_tls_hello {
	__u64 cookie;
	__u32 many;		/* both ends are in the process, or the hello was sent again elsewhere */
	__u32 pad;
};

UNIT_MAP(call_tls_hellos, LRU_HASH, 16384, struct call_tls_hello_key, struct call_tls_hello);

/* Plain text of a connection. Made when its socket begins to carry TLS. */
struct call_tls_conn {
	__u64 bytes[2];		/* by direction */
	__u32 left;		/* bytes that this turn may still keep */
	__u8 class;		/* enum call_class */
	__u8 guess;		/* CALL_GUESS_* */
	__u8 dir;		/* of the current turn, + 1 */
	__u8 turns;		/* while guessing, and of Redis */
	__u8 wide;
	__u8 pad[7];
	struct call_frames frames;
};

UNIT_MAP(call_tls_conns, LRU_HASH, 65536, __u64 /* cookie of the socket */, struct call_tls_conn);

/* NULL: no room. */
static __always_inline struct call_tls_conn *call_tls_conn_get(__u64 cookie)
{
	struct call_tls_conn *c = bpf_map_lookup_elem(&call_tls_conns, &cookie);
	struct call_tls_conn none = { 0 };

	if (c)
		return c;
	bpf_map_update_elem(&call_tls_conns, &cookie, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&call_tls_conns, &cookie);
}

#endif
