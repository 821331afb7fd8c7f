/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second thread that takes turns with an event loop. Both share all data without locks, because only the thread
 * that has the turn runs. It passes the turn at named places only:
 *
 *   - the loop while it waits for events,
 *   - the second thread between jobs, and around calls that block and touch no shared data (coop_leave()).
 *
 * So the code of a job reads like that of a handler, and the loop goes on while the job waits for the kernel. Shared
 * data that a job read before coop_leave() may have changed after coop_return().
 */
#ifndef BASE_COOP_H
#define BASE_COOP_H

#include <stdbool.h>

struct coop;
struct loop;

enum coop_state { COOP_IDLE, COOP_QUEUED, COOP_RUNNING, COOP_ENDED, COOP__MAX };

/* Zeroed but for the first five members; lives until it is idle again. */
struct coop_job {
	const char *name;		/* for holds of the loop (loop/hold.h); NULL = none */
	void (*run)(void *ctx);		/* on the second thread */
	void (*done)(void *ctx);	/* on the loop's thread afterwards; the job is idle then. May be NULL */
	void *ctx;
	bool plain;			/* runs without the rights of coop_set_guard(): it handles input of others */
	enum coop_state state;
	struct coop_job *next;
};

/* Starts the thread, with all signals blocked. The caller is the thread of @l and has the turn. 0 or -errno. */
int coop_new(struct loop *l, struct coop **ret);
void coop_free(struct coop *c);		/* NULL is fine; stops it and joins the thread */

/* Called on the second thread: (ctx, true) before a job that is not plain, (ctx, false) after it. */
void coop_set_guard(struct coop *c, void (*fn)(void *ctx, bool raised), void *ctx);

/*
 * Queues @job; jobs run one at a time in this order. A queued job keeps its place; a running one runs once more
 * afterwards (not allowed with done()). Without a second thread (@c is NULL or was stopped) it runs at once on the
 * caller's thread.
 */
void coop_submit(struct coop *c, struct coop_job *job);
/* Takes @job out of the queue, where done() is not called. A running job is cancelled and goes on. */
void coop_withdraw(struct coop *c, struct coop_job *job);

/*
 * Cancels the running job, waits for its end and drops the queue; later jobs run on the loop's thread. The second
 * thread stays until coop_free(): children that it forked may be bound to its life. NULL is fine.
 */
void coop_stop(struct coop *c);

/* Is the caller a job on the second thread? */
bool coop_inside(const struct coop *c);
bool coop_cancelled(const struct coop *c);	/* the running job is to end as soon as it can */

/*
 * Passes the turn, if the caller is a job; coop_return() takes it back, given what coop_leave() returned.
 * -ECANCELED when the job is to end, else 0. A hold of the loop is named by the functions that call these.
 */
#define coop_leave(c) coop_leave_at(c, __func__)
#define coop_return(c, left) coop_return_at(c, left, __func__)
bool coop_leave_at(struct coop *c, const char *where);
int coop_return_at(struct coop *c, bool left, const char *where);

/*
 * Called between the parts of a long piece of work: passes the turn when the job has had it for some milliseconds.
 * Returns like coop_return().
 */
#define coop_yield(c) coop_yield_at(c, __func__)
int coop_yield_at(struct coop *c, const char *where);

/* Names the current step of the job, or else of the handler: "attach", "net". @c may be NULL. */
void coop_step(struct coop *c, const char *verb, const char *object);

#endif
