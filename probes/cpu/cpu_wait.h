/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kind of a wait, from a closed list.
 */
#ifndef CPU_WAIT_H
#define CPU_WAIT_H

struct event;

enum cpu_wait_kind {
	CPU_WAIT_UNKNOWN, CPU_WAIT_CPU /* it was ready to run */, CPU_WAIT_SOCKET_READ, CPU_WAIT_SOCKET_WRITE,
	CPU_WAIT_ACCEPT, CPU_WAIT_CONNECT, CPU_WAIT_POLL, CPU_WAIT_FUTEX, CPU_WAIT_PIPE_READ, CPU_WAIT_PIPE_WRITE,
	CPU_WAIT_DISK, CPU_WAIT_FAULT, CPU_WAIT_TIMER, CPU_WAIT_CHILD, CPU_WAIT_LOCK, CPU_WAIT_SIGNAL,
	CPU_WAIT_STOPPED, CPU_WAIT_OTHER /* none of these */, CPU_WAIT_THROTTLED, CPU_WAIT_RECLAIM, CPU_WAIT__MAX,
};

/* Source of the kind, or the reason why it is unknown. */
enum cpu_wait_by {
	CPU_BY_STATE, CPU_BY_STACK, CPU_BY_CALL,
	CPU_BY_NO_STACK,	/* unknown: it takes a kernel stack with names to tell */
	CPU_BY_NO_FILE,		/* unknown: the descriptor was not readable */
	CPU_BY_NOT_RECORDED,	/* unknown: neither a stack nor the system call was recorded */
	CPU_BY__MAX,
};

struct cpu_verdict {
	enum cpu_wait_kind kind;
	enum cpu_wait_by by;
};

extern const struct xlat cpu_wait_kind_xlat, cpu_wait_by_xlat;

/* @ev: a cpu.block. */
struct cpu_verdict cpu_wait_judge(const struct event *ev);

#endif
