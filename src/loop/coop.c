// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The turn is a ticket lock with a condition variable: first come, first served, so that a busy loop cannot starve a
 * job. Only the thread that has the turn accesses the members, except those of the lock.
 */
#include "loop/coop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process/thread.h"
#include "loop/hold.h"
#include "loop/loop.h"
#include "base/macros.h"

#define YIELD_NS 2000000ULL /* longest hold of the loop by a job that may pass the turn */

struct job_list {
	struct coop_job *first, **end;
};

struct coop {
	pthread_mutex_t lock;		/* protects the next two lines */
	uint64_t next, serving;		/* tickets; the holder's is `serving` */
	bool busy;			/* a job runs */
	pthread_cond_t changed;

	struct loop *loop;		/* borrowed */
	struct loop_source *io;		/* source of ended_fd */
	int wake_fd, ended_fd;		/* eventfds: jobs to run, jobs that ended */
	pthread_t thread;
	bool started;
	bool stopped;			/* run jobs at once, on the loop's thread */
	bool quit;
	bool inside;			/* the second thread has the turn */
	bool cancelled;			/* running job */
	struct hold_meter meter;	/* of the second thread's turn */
	struct job_list queue, ended;
	void (*guard)(void *ctx, bool raised);
	void *guard_ctx;
};

/* ---- the turn ---- */

static void take(struct coop *c, bool inside)
{
	uint64_t ticket;

	pthread_mutex_lock(&c->lock);
	ticket = c->next++;
	while (c->serving != ticket)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	c->inside = inside;
}

static void pass(struct coop *c)
{
	pthread_mutex_lock(&c->lock);
	c->serving++;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

bool coop_inside(const struct coop *c)
{
	return c && c->inside;
}

bool coop_cancelled(const struct coop *c)
{
	return coop_inside(c) && c->cancelled;
}

/* Ends the second thread's turn, which held the loop. */
static void take_inside(struct coop *c, const char *where)
{
	take(c, true);
	hold_begin(&c->meter, where);
}

static void pass_inside(struct coop *c, const char *where)
{
	struct hold h;

	hold_end(&c->meter, where, &h);
	loop_held(c->loop, &h);
	pass(c);
}

bool coop_leave_at(struct coop *c, const char *where)
{
	if (!coop_inside(c))
		return false;
	pass_inside(c, where);
	return true;
}

int coop_return_at(struct coop *c, bool left, const char *where)
{
	if (left)
		take_inside(c, where);
	return coop_cancelled(c) ? -ECANCELED : 0;
}

int coop_yield_at(struct coop *c, const char *where)
{
	bool due = coop_inside(c) && clock_boot_ns() - c->meter.wall_ns >= YIELD_NS;

	return coop_return_at(c, due && coop_leave_at(c, where), where);
}

void coop_step(struct coop *c, const char *verb, const char *object)
{
	if (coop_inside(c))
		hold_step(&c->meter, verb, object);
	else if (c)
		loop_step(c->loop, verb, object);
}

/* The loop is about to wait for events, or has returned with some. */
static void on_wait(void *ctx, bool waits)
{
	if (waits)
		pass(ctx);
	else
		take(ctx, false);
}

/* ---- jobs ---- */

static void push(struct job_list *l, struct coop_job *job)
{
	job->next = NULL;
	*l->end = job;
	l->end = &job->next;
}

static struct coop_job *pop(struct job_list *l)
{
	struct coop_job *job = l->first;

	if (job)
		l->first = job->next;
	if (job && !l->first)
		l->end = &l->first;
	return job;
}

static void withdraw(struct job_list *l, struct coop_job *job)
{
	struct coop_job **at = &l->first;

	while (*at && *at != job)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = job->next;
	if (!job->next)
		l->end = at;
}

static void ring(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));	/* a saturated counter also wakes */
}

static void run_job(struct coop *c, struct coop_job *job)
{
	job->state = COOP_RUNNING;
	c->cancelled = false;
	c->meter.now.who = job->name;
	c->meter.now.step = (struct hold_step){ 0 };
	if (c->guard)
		c->guard(c->guard_ctx, !job->plain);
	job->run(job->ctx);
	if (c->guard)
		c->guard(c->guard_ctx, false);
	if (job->state != COOP_RUNNING)	/* submitted again while it ran */
		return;
	job->state = job->done ? COOP_ENDED : COOP_IDLE;
	if (job->done) {
		push(&c->ended, job);
		ring(c->ended_fd);
	}
}

static void set_busy(struct coop *c, bool busy)
{
	pthread_mutex_lock(&c->lock);
	c->busy = busy;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void *run_thread(void *ctx)
{
	struct coop *c = ctx;
	bool quit = false;

	while (!quit) {
		struct coop_job *job;
		uint64_t n;

		(void)!read(c->wake_fd, &n, sizeof(n));
		do {
			take_inside(c, __func__);
			quit = c->quit;
			job = pop(&c->queue);
			if (job) {
				set_busy(c, true);
				run_job(c, job);
				set_busy(c, false);
			}
			pass_inside(c, __func__);
		} while (job);
	}
	return NULL;
}

void coop_submit(struct coop *c, struct coop_job *job)
{
	if (job->state == COOP_QUEUED)
		return;
	if (!c || c->stopped) {
		job->run(job->ctx);
		if (job->done)
			job->done(job->ctx);
		return;
	}
	job->state = COOP_QUEUED;
	push(&c->queue, job);
	ring(c->wake_fd);
}

void coop_withdraw(struct coop *c, struct coop_job *job)
{
	if (job->state == COOP_RUNNING) {
		c->cancelled = true;
		return;
	}
	if (job->state == COOP_QUEUED)
		withdraw(&c->queue, job);
	else if (job->state == COOP_ENDED)
		withdraw(&c->ended, job);
	job->state = COOP_IDLE;
}

static int on_ended(void *ctx, int fd, _unused_ uint32_t events)
{
	struct coop *c = ctx;
	struct coop_job *job;
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
	while ((job = pop(&c->ended))) {
		job->state = COOP_IDLE;
		job->done(job->ctx);
	}
	return 0;
}

/* ---- life ---- */

static int start_thread(struct coop *c)
{
	int r = thread_start(&c->thread, run_thread, c);

	c->started = r == 0;
	return r;
}

static void drop_all(struct job_list *l)
{
	struct coop_job *job;

	while ((job = pop(l)))
		job->state = COOP_IDLE;
}

void coop_stop(struct coop *c)
{
	if (!c || c->stopped)
		return;
	drop_all(&c->queue);
	c->stopped = c->cancelled = true;
	pass(c);
	pthread_mutex_lock(&c->lock);
	while (c->busy)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	take(c, false);
	drop_all(&c->queue);
	drop_all(&c->ended);
}

static void join_thread(struct coop *c)
{
	if (!c->started)
		return;
	coop_stop(c);
	loop_set_wait(c->loop, NULL, NULL);
	c->quit = true;
	ring(c->wake_fd);
	pass(c);
	pthread_join(c->thread, NULL);
}

void coop_free(struct coop *c)
{
	if (!c)
		return;
	join_thread(c);
	loop_remove(c->io);
	cleanup_close(&c->wake_fd);
	cleanup_close(&c->ended_fd);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
DEFINE_CLEANUP(struct coop *, coop_free)

int coop_new(struct loop *l, struct coop **ret)
{
	_cleanup_(coop_freep) struct coop *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->loop = l;
	c->wake_fd = c->ended_fd = -1;
	c->queue.end = &c->queue.first;
	c->ended.end = &c->ended.first;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->wake_fd = eventfd(0, EFD_CLOEXEC);
	c->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake_fd < 0 || c->ended_fd < 0)
		return -errno;
	r = loop_add_io(l, c->ended_fd, EPOLLIN, on_ended, c, &c->io);
	if (r < 0)
		return r;
	loop_set_plain(c->io);
	take(c, false);
	r = start_thread(c);
	if (r < 0)
		return r;
	loop_set_wait(l, on_wait, c);
	*ret = TAKE_PTR(c);
	return 0;
}

void coop_set_guard(struct coop *c, void (*fn)(void *ctx, bool raised), void *ctx)
{
	c->guard = fn;
	c->guard_ctx = ctx;
}
