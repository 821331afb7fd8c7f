/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of threads in a part of a call. Private to src/trace.
 */
#ifndef TRACE_THREAD_H
#define TRACE_THREAD_H

#include <stdint.h>

struct trace_build;

/* A part of the call's time that a process has, for row @row. */
struct trace_part {
	uint64_t from_ns, to_ns;
	const struct trace_fact *who;	/* any fact of the process */
	uint32_t tid;			/* 0 = which thread ran for the call is not known */
	uint16_t row;
};

/* Paints the waits, system calls and time on CPU of the thread, else of all threads of the process. */
void trace_thread_paint(struct trace_build *p, const struct trace_part *part);

/* Paints the system calls of goroutines that serve the call @number. */
void trace_thread_served(struct trace_build *p, const struct trace_part *part, uint64_t number);

/* When the thread was last woken within its system call @call; without a wait: when the call began. */
uint64_t trace_thread_woken(const struct trace_build *p, const struct trace_fact *call);

/* Kind of the longest wait of the thread, but for messages; 0 = none was longer than half of the part. */
uint32_t trace_thread_busy(const struct trace_build *p, const struct trace_part *part);

/* How long thread @tid of the process was ready to run between the two times. */
uint64_t trace_thread_runq(const struct trace_build *p, const struct trace_part *part);

/* Paints what keeps the thread from its work: no CPU, a stop, the disk, memory, a lock of the kernel. */
void trace_thread_paint_held(struct trace_build *p, const struct trace_part *part);

#endif
