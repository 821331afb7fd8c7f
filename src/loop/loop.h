/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event loop of one thread: epoll, timers, signals. Handlers run one at a time, and may add and remove sources, their
 * own included.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_source;

/* @events: EPOLLIN, EPOLLOUT, EPOLLHUP...; a negative return stops the loop with that value. */
typedef int (*loop_io_fn)(void *ctx, int fd, uint32_t events);
typedef int (*loop_timer_fn)(void *ctx, uint64_t now_ns);	/* CLOCK_BOOTTIME */
typedef int (*loop_signal_fn)(void *ctx, int signo);

struct loop *loop_new(void);	/* NULL with errno: memory or descriptors */
void loop_free(struct loop *l);			/* NULL is fine; frees the sources, leaves callers' fds open */

/* -EPERM: @fd is a regular file, which epoll refuses. @ret may be NULL. */
int loop_add_io(struct loop *l, int fd, uint32_t events, loop_io_fn fn, void *ctx, struct loop_source **ret);
int loop_set_events(struct loop_source *s, uint32_t events);

/* First expires @first_ns from now, then every @period_ns (0 = once). */
int loop_add_timer(struct loop *l, uint64_t first_ns, uint64_t period_ns, loop_timer_fn fn, void *ctx,
		   struct loop_source **ret);
int loop_set_timer(struct loop_source *s, uint64_t first_ns, uint64_t period_ns); /* 0, 0 disarms */

/*
 * Blocks @signo for the thread and delivers it here (signalfd). Removal discards pending signals and restores the
 * mask. Children created by fork inherit the mask.
 */
int loop_add_signal(struct loop *l, int signo, loop_signal_fn fn, void *ctx, struct loop_source **ret);

/* Before the descriptor is closed: else it is kept until loop_free(). NULL is fine. */
void loop_remove(struct loop_source *s);

/*
 * For a process that holds rights only while it works: @fn(ctx, true) before a handler, @fn(ctx, false) before the
 * loop waits and before the handler of a plain source. Called on changes only.
 */
void loop_set_guard(struct loop *l, void (*fn)(void *ctx, bool raised), void *ctx);
void loop_set_plain(struct loop_source *s);	/* plain: it handles client data */

/* @fn(ctx, true) right before the loop waits for events, @fn(ctx, false) right after; NULL ends that. */
void loop_set_wait(struct loop *l, void (*fn)(void *ctx, bool waits), void *ctx);

/*
 * Holds (loop/hold.h): handlers by source name, and what loop_held() adds. The thread that held the loop calls @fn
 * with each one longer than @above_ns.
 */
const struct hold *loop_longest(const struct loop *l); /* since the start; wall_ns 0 = none yet */
void loop_watch(struct loop *l, uint64_t above_ns, void (*fn)(void *ctx, const struct hold *h), void *ctx);
void loop_name(struct loop_source *s, const char *name);
void loop_step(struct loop *l, const char *verb, const char *object); /* of the running handler */
void loop_held(struct loop *l, const struct hold *h);

/* Runs until loop_stop() or a handler fails. Returns the value of either. */
int loop_run(struct loop *l);

/* One round; waits at most @timeout_ms (-1 = forever). The number of handlers run, or the value that stopped it. */
int loop_once(struct loop *l, int timeout_ms);

void loop_stop(struct loop *l, int value);

#endif
