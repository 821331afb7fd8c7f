// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * epoll, timerfd and signalfd. A source removed while events of the same round point to it is only marked; the
 * outermost round frees it.
 */
#include "loop/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/hold.h"
#include "base/macros.h"

#define ROUND_EVENTS 64 /* events per round */

enum source_kind { SOURCE_IO, SOURCE_TIMER, SOURCE_SIGNAL, SOURCE__MAX };

struct loop_source {
	struct loop *loop;
	struct loop_source *prev, *next; /* in loop->sources; next only: in loop->dead, or loop->lingering */
	enum source_kind kind;
	int fd;			/* SOURCE_IO: the caller's; others: owned */
	uint32_t events;	/* requested events */
	int signo;
	bool was_blocked;	/* signal: blocked before it was added */
	bool removed;
	bool plain;
	const char *name; /* for holds; NULL = unnamed */
	union {
		loop_io_fn io;
		loop_timer_fn timer;
		loop_signal_fn signal;
	} fn;
	void *ctx;
};

struct loop {
	int epoll_fd;
	struct loop_source *sources;	/* owned */
	struct loop_source *dead;	/* owned; removed during a round */
	struct loop_source *lingering;	/* owned; removed, but the kernel may still report events of them */
	unsigned depth;			/* nested rounds: a handler may run one */
	bool stopped;
	int value;			/* set by loop_stop() */
	void (*guard)(void *ctx, bool raised);	/* NULL = none */
	void *guard_ctx;
	bool raised;
	void (*wait)(void *ctx, bool waits);	/* NULL = none */
	void *wait_ctx;
	struct hold_meter meter;
	struct hold_watch watch;
};

struct loop *loop_new(void)
{
	_cleanup_free_ struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return NULL;
	return TAKE_PTR(l);
}

static void free_list(struct loop_source **list)
{
	while (*list) {
		struct loop_source *s = *list;

		*list = s->next;
		free(s);
	}
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->sources)
		loop_remove(l->sources);
	free_list(&l->dead);
	free_list(&l->lingering);
	close(l->epoll_fd);
	free(l);
}

/* Takes over @fd if the source owns it (timer, signal); the caller keeps it on failure. */
static int add_source(struct loop *l, enum source_kind kind, int fd, uint32_t events, void *ctx,
		      struct loop_source **ret)
{
	_cleanup_free_ struct loop_source *s = calloc(1, sizeof(*s));
	struct epoll_event ev = { .events = events };

	if (!s)
		return -ENOMEM;
	s->loop = l;
	s->kind = kind;
	s->fd = fd;
	s->events = events;
	s->ctx = ctx;
	ev.data.ptr = s;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	s->next = l->sources;
	if (s->next)
		s->next->prev = s;
	l->sources = s;
	*ret = TAKE_PTR(s);
	return 0;
}

int loop_add_io(struct loop *l, int fd, uint32_t events, loop_io_fn fn, void *ctx, struct loop_source **ret)
{
	struct loop_source *s;
	int r = add_source(l, SOURCE_IO, fd, events, ctx, &s);

	if (r < 0)
		return r;
	s->fn.io = fn;
	if (ret)
		*ret = s;
	return 0;
}

int loop_set_events(struct loop_source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	if (events == s->events)
		return 0;
	if (epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) < 0)
		return -errno;
	s->events = events;
	return 0;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

static int set_timer(int fd, uint64_t first_ns, uint64_t period_ns)
{
	/* A zero first time would disarm the timer; with a period it means now. */
	struct itimerspec its = {
		.it_value = to_timespec(first_ns || !period_ns ? first_ns : 1),
		.it_interval = to_timespec(period_ns),
	};

	return timerfd_settime(fd, 0, &its, NULL) < 0 ? -errno : 0;
}

int loop_add_timer(struct loop *l, uint64_t first_ns, uint64_t period_ns, loop_timer_fn fn, void *ctx,
		   struct loop_source **ret)
{
	_cleanup_close_ int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	struct loop_source *s;
	int r;

	if (fd < 0)
		return -errno;
	r = set_timer(fd, first_ns, period_ns);
	if (r < 0)
		return r;
	r = add_source(l, SOURCE_TIMER, fd, EPOLLIN, ctx, &s);
	if (r < 0)
		return r;
	TAKE_FD(fd);
	s->fn.timer = fn;
	if (ret)
		*ret = s;
	return 0;
}

int loop_set_timer(struct loop_source *s, uint64_t first_ns, uint64_t period_ns)
{
	return set_timer(s->fd, first_ns, period_ns);
}

int loop_add_signal(struct loop *l, int signo, loop_signal_fn fn, void *ctx, struct loop_source **ret)
{
	_cleanup_close_ int fd = -1;
	struct loop_source *s;
	sigset_t one, before;
	int r;

	sigemptyset(&one);
	if (sigaddset(&one, signo) < 0)
		return -errno;
	fd = signalfd(-1, &one, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = add_source(l, SOURCE_SIGNAL, fd, EPOLLIN, ctx, &s);
	if (r < 0)
		return r;
	TAKE_FD(fd);
	pthread_sigmask(SIG_BLOCK, &one, &before);
	s->fn.signal = fn;
	s->signo = signo;
	s->was_blocked = sigismember(&before, signo) == 1;
	if (ret)
		*ret = s;
	return 0;
}

/* Discards pending signals: they were meant for the removed handler, and unblocking would deliver them. */
static void release_signal(const struct loop_source *s)
{
	struct signalfd_siginfo si;
	sigset_t one;

	while (read(s->fd, &si, sizeof(si)) > 0)
		;
	if (s->was_blocked)
		return;
	sigemptyset(&one);
	sigaddset(&one, s->signo);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

void loop_remove(struct loop_source *s)
{
	struct loop *l;
	bool lingers;

	if (!s || s->removed)
		return;
	l = s->loop;
	s->removed = true;
	/*
	 * A descriptor that the caller has closed leaves the set when no process has it any more: until then a child
	 * between fork and exec causes events of this source.
	 */
	lingers = epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL) < 0;
	if (s->kind == SOURCE_SIGNAL)
		release_signal(s);
	if (s->kind != SOURCE_IO)
		close(s->fd);
	if (s->prev)
		s->prev->next = s->next;
	else
		l->sources = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->next = lingers ? l->lingering : l->dead;
	*(lingers ? &l->lingering : &l->dead) = s;
	if (!l->depth)
		free_list(&l->dead);
}

/* 1 = a handler ran, 0 = spurious event, or the handler's error. */
static int dispatch(struct loop_source *s, uint32_t events)
{
	struct signalfd_siginfo si;
	uint64_t ticks;
	int r = 0;

	switch (s->kind) {
	case SOURCE_IO:
		r = s->fn.io(s->ctx, s->fd, events);
		break;
	case SOURCE_TIMER:
		if (read(s->fd, &ticks, sizeof(ticks)) != sizeof(ticks))
			return 0;	/* set again earlier in this round */
		r = s->fn.timer(s->ctx, clock_boot_ns());
		break;
	case SOURCE_SIGNAL:
		if (read(s->fd, &si, sizeof(si)) != sizeof(si))
			return 0;
		r = s->fn.signal(s->ctx, (int)si.ssi_signo);
		break;
	case SOURCE__MAX:
		break;
	}
	return r < 0 ? r : 1;
}

void loop_set_guard(struct loop *l, void (*fn)(void *ctx, bool raised), void *ctx)
{
	l->guard = fn;
	l->guard_ctx = ctx;
	l->raised = true;
}

void loop_set_plain(struct loop_source *s)
{
	s->plain = true;
}

void loop_set_wait(struct loop *l, void (*fn)(void *ctx, bool waits), void *ctx)
{
	l->wait = fn;
	l->wait_ctx = ctx;
}

const struct hold *loop_longest(const struct loop *l)
{
	return &l->watch.longest;
}

void loop_watch(struct loop *l, uint64_t above_ns, void (*fn)(void *ctx, const struct hold *h), void *ctx)
{
	l->watch.above_ns = above_ns;
	l->watch.fn = fn;
	l->watch.ctx = ctx;
}

void loop_name(struct loop_source *s, const char *name)
{
	s->name = name;
}

void loop_step(struct loop *l, const char *verb, const char *object)
{
	hold_step(&l->meter, verb, object);
}

void loop_held(struct loop *l, const struct hold *h)
{
	hold_note(&l->watch, h);
}

static void guard(struct loop *l, bool raised)
{
	if (l->guard && l->raised != raised)
		l->guard(l->guard_ctx, raised);
	l->raised = raised;
}

/* Number of events, or -errno. */
static int wait_events(struct loop *l, struct epoll_event *events, int timeout_ms)
{
	void (*wait)(void *ctx, bool waits) = l->wait;
	int n;

	if (wait)
		wait(l->wait_ctx, true);
	n = epoll_wait(l->epoll_fd, events, ROUND_EVENTS, timeout_ms);
	n = n < 0 ? -errno : n;
	if (wait)
		wait(l->wait_ctx, false);
	hold_begin(&l->meter, NULL);
	return n == -EINTR ? 0 : n;
}

/* Runs the handler of an event and records the hold. */
static int run_handler(struct loop *l, struct loop_source *s, uint32_t events)
{
	struct hold h;
	int r;

	guard(l, !s->plain);
	l->meter.now.step = (struct hold_step){ 0 };
	r = dispatch(s, events);
	l->meter.now.who = s->name;
	hold_end(&l->meter, NULL, &h);
	hold_note(&l->watch, &h);
	return r;
}

static int run_round(struct loop *l, int timeout_ms)
{
	struct epoll_event events[ROUND_EVENTS];
	int ran = 0, r, n;

	guard(l, false);
	l->depth++;	/* counted before the wait: another thread may remove a source with a pending event */
	n = wait_events(l, events, timeout_ms);
	r = MIN(n, 0);
	for (int i = 0; i < n && r >= 0 && !l->stopped; i++) {
		struct loop_source *s = events[i].data.ptr;

		if (s->removed)
			continue;
		r = run_handler(l, s, events[i].events);
		ran += r > 0;
	}
	if (!--l->depth)
		free_list(&l->dead);
	return r < 0 ? r : ran;
}

int loop_once(struct loop *l, int timeout_ms)
{
	bool was_raised = l->raised;
	int r = run_round(l, timeout_ms);

	guard(l, was_raised);	/* the caller is a handler, or code between rounds */
	if (r < 0 || !l->stopped)
		return r;
	l->stopped = false;
	return l->value;
}

int loop_run(struct loop *l)
{
	bool was_raised = l->raised;
	int r = 0;

	while (r >= 0 && !l->stopped)
		r = run_round(l, -1);
	guard(l, was_raised);
	if (r < 0)
		return r;
	l->stopped = false;
	return l->value;
}

void loop_stop(struct loop *l, int value)
{
	l->stopped = true;
	l->value = value;
}
