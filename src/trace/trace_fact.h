/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts: the part of an event that traces keep, in a fixed size. Events are read by the names of their fields, so a
 * trace takes calls, packets and waits of any probe that has these fields:
 *
 *   a call	 rpc.side rpc.latency rpc.opened rpc.id rpc.name rpc.status rpc.error rpc.parent rpc.kind
 *			 rpc.http_status
 *   a system call  syscall.name syscall.ret syscall.latency syscall.path syscall.args
 *   a wait	 stack.value stack.wait stack.state block.kind block.waker.* block.quota.*
 *   a packet	 SEC_PACKET; with drop.reason a dropped one
 */
#ifndef TRACE_FACT_H
#define TRACE_FACT_H

#include <stdint.h>

#include "event/event.h"

enum trace_fact_kind {
	TRACE_FACT_CALL, TRACE_FACT_SYSCALL, TRACE_FACT_WAIT, TRACE_FACT_PACKET, TRACE_FACT_DROP, TRACE_FACT__MAX,
};

enum trace_side { TRACE_SIDE_UNKNOWN, TRACE_SIDE_CLIENT, TRACE_SIDE_SERVER, TRACE_SIDE__MAX };

/* State of what carries a call: of a thread as in stack.state, or of its bytes. */
enum trace_state {
	TRACE_STATE_UNKNOWN, TRACE_STATE_RUNNING, TRACE_STATE_RUNNABLE, TRACE_STATE_SLEEPING, TRACE_STATE_DISK,
	TRACE_STATE_STOPPED, TRACE_STATE_NETWORK, TRACE_STATE_QUEUE, TRACE_STATE_PEER, TRACE_STATE__MAX,
};

/* Where the time went. */
enum trace_cause {
	TRACE_CAUSE_UNKNOWN,	/* no event says */
	TRACE_CAUSE_CPU,	/* on a CPU in user space */
	TRACE_CAUSE_RUNQ,	/* ready to run, waiting for a CPU */
	TRACE_CAUSE_SYSCALL,	/* in the system call `detail`, running */
	TRACE_CAUSE_WAIT,	/* off CPU; `detail`: block.kind */
	TRACE_CAUSE_IDLE,	/* no thread of the process ran or was ready; `detail`: first wait to end */
	TRACE_CAUSE_NETWORK,	/* between the write and the receiver's sight of the packet */
	TRACE_CAUSE_RETRANSMIT,	/* from the first packet with these bytes to the last; `detail`: drop.reason */
	TRACE_CAUSE_QUEUE,	/* received, not yet read from the socket */
	TRACE_CAUSE_PEER,	/* at a server that is not watched */
	TRACE_CAUSE_THROTTLED,	/* ready to run; the quota of the cgroup was used up; `detail`: which, how much */
	TRACE_CAUSE_STOPPED,	/* by a signal, a tracer or the freezer; `waker`: who ended that */
	TRACE_CAUSE_LOCK,	/* futex that another thread of the process, `waker`, released; `detail`: its wait or
				 * system call meanwhile, 0 = it ran */
	TRACE_CAUSE_KERNEL_LOCK, /* lock of the kernel or of a file; this and the next three: `detail`: system call */
	TRACE_CAUSE_DISK,
	TRACE_CAUSE_FAULT,	/* page fault */
	TRACE_CAUSE_RECLAIM,	/* the kernel frees memory for the thread */
	TRACE_CAUSE_ACCEPT,	/* received, the connection not yet accepted */
	TRACE_CAUSE_CONNECT,	/* handshake of a connection */
	TRACE_CAUSE_DNS,	/* a question to a name server */
	TRACE_CAUSE_WINDOW,	/* written, and held back: the receiver did not read, its window was closed */
	TRACE_CAUSE__MAX,
};

struct trace_call_fact {
	uint64_t id;		/* event_call_id() */
	uint64_t parent;	/* id of the call that it is made for; 0 = not known */
	uint32_t method, status; /* names */
	uint8_t side;		/* enum trace_side */
	uint8_t error;
	uint8_t is_dns;
};

struct trace_syscall_fact {
	int64_t ret;
	uint32_t name, file;	/* names; file: of the descriptor, or the path */
	int32_t fd;		/* -1 = unknown */
};

struct trace_wait_fact {
	uint64_t runq_ns;	/* the last part of the wait: ready to run */
	uint32_t kind;		/* name of block.kind */
	uint32_t waker, waker_tid; /* name of the thread, or of the interrupt (tid 0) */
	uint32_t waker_tgid;
	uint32_t quota;		/* name: cgroup and quota that was used up; 0 = not known */
	uint8_t state;		/* enum trace_state of the rest */
	uint8_t cause;		/* enum trace_cause of the rest */
	uint8_t is_idle;	/* for a message */
};

struct trace_packet_fact {
	uint32_t len, payload;	/* bytes on the wire; of these, of TCP's or UDP's payload */
	uint32_t ifindex;
	uint32_t reason;	/* name; of a drop */
	uint8_t dir;		/* enum packet_direction */
	uint8_t tcp_flags;
	uint8_t window_closed;	/* an acknowledgement whose sender takes no more bytes */
	uint8_t pad;
};

struct trace_fact {
	uint64_t ts_ns, from_ns;	/* end and begin; equal for packets */
	uint64_t num;			/* number of the event in the stream (evt.num) */
	uint64_t start_ns, goid, call, cookie; /* as in struct event and event_keys */
	uint32_t tgid, tid, netns;
	uint32_t comm;			/* name */
	uint32_t seq, seq_len;		/* bytes of the TCP stream; packets: of their payload */
	uint32_t stream;
	uint8_t kind;			/* enum trace_fact_kind */
	uint8_t ident_flags;		/* SONDE_ID_F_* */
	uint8_t pad[2];
	struct conn conn;
	union {
		struct trace_call_fact of_call;
		struct trace_syscall_fact of_syscall;
		struct trace_wait_fact of_wait;
		struct trace_packet_fact of_packet;
	};
};

/* Strings of facts, each once; 0 is the empty one, and any string beyond 65,536 of them. */

struct trace_names *trace_fact_names_new(void); /* NULL without memory */
void trace_fact_names_free(struct trace_names *n);
const char *trace_fact_text(const struct trace_names *n, uint32_t name); /* never NULL */

/* Which fields of which event types facts are read from; filled as types appear. */

struct trace_fact_reader *trace_fact_reader_new(struct trace_names *names); /* borrows @names; NULL without memory */
void trace_fact_reader_free(struct trace_fact_reader *r);

/* 1 and *ret, 0 if the event is none of the kinds, -ENOMEM. */
int trace_fact_read(struct trace_fact_reader *r, const struct event *ev, struct trace_fact *ret);

#endif
