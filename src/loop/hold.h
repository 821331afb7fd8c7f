/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time for which a thread keeps a loop from its events, and the step that took longest. A hold is one handler of the
 * loop, or a job between two points where it passes the turn (loop/coop.h). Names are borrowed and must outlive the
 * last hold of the process: literals, probe names.
 */
#ifndef LOOP_HOLD_H
#define LOOP_HOLD_H

#include <stddef.h>
#include <stdint.h>

/* "attach", "net" */
struct hold_step {
	const char *verb, *object;
};

struct hold {
	uint64_t wall_ns;
	uint64_t cpu_ns;       /* CPU time; the thread slept or was preempted for the rest */
	const char *who;       /* source or job: "client", "subscribe"; NULL = unnamed */
	struct hold_step step; /* longest step; verb NULL = none named */
	const char *from, *to; /* of a job: functions that took and passed the turn; else NULL */
};

/* "subscribe: attach net, from attach_one() to load_aside()" */
void hold_text(const struct hold *h, char *buf, size_t cap);

/* ---- measuring: one meter per thread ---- */

struct hold_meter {
	struct hold now;	  /* source and first function; @step is the current step */
	uint64_t wall_ns, cpu_ns; /* clocks at the start */
	struct hold_step longest;
	uint64_t longest_ns, step_ns; /* duration of the longest step, start of the current one */
};

/* Starts a hold. A job that continues keeps its step. */
void hold_begin(struct hold_meter *m, const char *from);
void hold_step(struct hold_meter *m, const char *verb, const char *object);
/* Ends it in function @to (NULL = a handler returned). */
void hold_end(struct hold_meter *m, const char *to, struct hold *ret);

/* ---- watching ---- */

struct hold_watch {
	struct hold longest; /* by wall_ns, since the start */
	uint64_t above_ns;
	void (*fn)(void *ctx, const struct hold *h); /* called for each hold above above_ns; NULL = none */
	void *ctx;
};

void hold_note(struct hold_watch *w, const struct hold *h);

#endif
