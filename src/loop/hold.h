/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a thread keeps a loop from its events, and in which step: one handler of the loop, or the stretch of a job
 * between two places where it passes the turn (loop/coop.h). All names are borrowed and must outlive the process's
 * last hold: literals, names of probes.
 */
#ifndef BASE_HOLD_H
#define BASE_HOLD_H

#include <stddef.h>
#include <stdint.h>

/* "attach", "net" */
struct hold_step {
	const char *verb, *object;
};

struct hold {
	uint64_t wall_ns;
	uint64_t cpu_ns;       /* of it on a processor; for the rest the thread slept or was preempted */
	const char *who;       /* source or job: "client", "subscribe"; NULL = unnamed */
	struct hold_step step; /* the longest one in it; verb NULL = none was named */
	const char *from, *to; /* of a job: functions that took the turn and passed it; else NULL */
};

/* "subscribe: attach net, from attach_one() to load_aside()" */
void hold_text(const struct hold *h, char *buf, size_t cap);

/* ---- measuring: one meter per thread ---- */

struct hold_meter {
	struct hold now;	  /* who, from; step is the current one */
	uint64_t wall_ns, cpu_ns; /* clocks when it began */
	struct hold_step longest;
	uint64_t longest_ns, step_ns; /* length of the longest step; clock when the current one began */
};

/* The hold begins. The step stays that of before, for a job that goes on. */
void hold_begin(struct hold_meter *m, const char *from);
void hold_step(struct hold_meter *m, const char *verb, const char *object);
/* It ends, in function @to (NULL = a handler returned). */
void hold_end(struct hold_meter *m, const char *to, struct hold *ret);

/* ---- watching ---- */

struct hold_watch {
	struct hold longest; /* by wall_ns, since the start */
	uint64_t above_ns;
	void (*fn)(void *ctx, const struct hold *h); /* called with each longer than above_ns; NULL = none */
	void *ctx;
};

void hold_note(struct hold_watch *w, const struct hold *h);

#endif
