/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second thread that takes turns with an event loop. Only the thread that has the turn runs, so both share all data
 * without locks. The turn passes at known points only:
 *
 *   - from the loop while it waits for events,
 *   - from the second thread between jobs, and around blocking calls that touch no shared data (coop_leave()).
 *
 * A job is written like a handler, and the loop runs while the job waits for the kernel. Shared data that a job read
 * before coop_leave() may have changed after coop_return().
 */
#ifndef LOOP_COOP_H
#define LOOP_COOP_H

#include <stdbool.h>

struct coop;
struct loop;

enum coop_state { COOP_IDLE, COOP_QUEUED, COOP_RUNNING, COOP_ENDED, COOP__MAX };

/* Zeroed except for the first five members; lives until it is idle again. */
struct coop_job {
	const char *name;		/* for holds of the loop (loop/hold.h); NULL = none */
	void (*run)(void *ctx);		/* on the second thread */
	void (*done)(void *ctx);	/* on the loop's thread after run(), when the job is idle; may be NULL */
	void *ctx;
	bool plain;			/* runs without the rights of coop_set_guard(): it handles client data */
	enum coop_state state;
	struct coop_job *next;
};

/* Starts the thread with all signals blocked. The caller is the thread of @l and has the turn. 0 or -errno. */
int coop_new(struct loop *l, struct coop **ret);
void coop_free(struct coop *c);		/* NULL is fine; stops it and joins the thread */

/* Called on the second thread: (ctx, true) before a job that is not plain, (ctx, false) after it. */
void coop_set_guard(struct coop *c, void (*fn)(void *ctx, bool raised), void *ctx);

/*
 * Queues @job; jobs run one at a time in order. A queued job keeps its position; a running one runs once more (not
 * allowed with done()). Without a second thread (@c is NULL or stopped) it runs at once on the caller's thread.
 */
void coop_submit(struct coop *c, struct coop_job *job);
/* Removes @job from the queue without calling done(). A running job is cancelled, and runs to its end. */
void coop_withdraw(struct coop *c, struct coop_job *job);

/*
 * Cancels the running job, waits for its end and drops the queue; later jobs run on the loop's thread. The second
 * thread stays until coop_free(), since its forked children may be bound to its life (PR_SET_PDEATHSIG). NULL is
 * fine.
 */
void coop_stop(struct coop *c);

/* Is the caller a job on the second thread? */
bool coop_inside(const struct coop *c);
bool coop_cancelled(const struct coop *c);	/* the running job should end soon */

/*
 * Passes the turn if the caller is a job; coop_return() takes it back, given the result of coop_leave(). -ECANCELED
 * if the job should end, else 0. Holds of the loop name the functions that call these.
 */
#define coop_leave(c) coop_leave_at(c, __func__)
#define coop_return(c, left) coop_return_at(c, left, __func__)
bool coop_leave_at(struct coop *c, const char *where);
int coop_return_at(struct coop *c, bool left, const char *where);

/*
 * For long work, between its parts: passes the turn if the job had it for some milliseconds. Result as coop_return().
 */
#define coop_yield(c) coop_yield_at(c, __func__)
int coop_yield_at(struct coop *c, const char *where);

/* Names the current step of the job, or of the handler: "attach", "net". @c may be NULL. */
void coop_step(struct coop *c, const char *verb, const char *object);

#endif
