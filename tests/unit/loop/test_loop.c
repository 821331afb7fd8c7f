// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/loop.h"

#define MS 1000000ULL

struct io {
	struct loop *loop;
	struct loop_source *self, *victim;
	int calls, result;
};

static int on_io(void *ctx, int fd, uint32_t events)
{
	struct io *io = ctx;
	char c;

	assert_true(events & (EPOLLIN | EPOLLHUP));
	assert_true(read(fd, &c, 1) >= 0);
	io->calls++;
	loop_remove(io->victim);
	io->victim = NULL;
	return io->result;
}

static void make_pipe(int fds[2])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
}

static void io_is_delivered_and_a_failure_stops(void **state)
{
	struct loop *l = loop_new();
	struct io io = { .loop = l };
	int fds[2];

	(void)state;
	make_pipe(fds);
	assert_int_equal(loop_add_io(l, fds[0], EPOLLIN, on_io, &io, &io.self), 0);
	assert_int_equal(loop_add_io(l, fds[0], EPOLLIN, on_io, &io, NULL), -EEXIST);
	assert_int_equal(loop_once(l, 0), 0);
	assert_int_equal(write(fds[1], "ab", 2), 2);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(loop_set_events(io.self, 0), 0);
	assert_int_equal(loop_once(l, 0), 0);
	assert_int_equal(loop_set_events(io.self, EPOLLIN), 0);
	io.result = -EPIPE;
	assert_int_equal(loop_run(l), -EPIPE);
	assert_int_equal(io.calls, 2);
	loop_free(l);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);	/* the fd stayed open */
	close(fds[0]);
	close(fds[1]);
}

/* Both are ready in one round; whichever runs first removes the other, which must not run any more. */
static void a_handler_removes_another_of_the_same_round(void **state)
{
	struct loop *l = loop_new();
	struct io a = { .loop = l }, b = { .loop = l };
	int pa[2], pb[2];

	(void)state;
	make_pipe(pa);
	make_pipe(pb);
	assert_int_equal(loop_add_io(l, pa[0], EPOLLIN, on_io, &a, &b.victim), 0);
	assert_int_equal(loop_add_io(l, pb[0], EPOLLIN, on_io, &b, &a.victim), 0);
	assert_int_equal(write(pa[1], "x", 1) + write(pb[1], "x", 1), 2);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(a.calls + b.calls, 1);
	assert_int_equal(loop_once(l, 0), 0);
	loop_free(l);
	for (int i = 0; i < 2; i++)
		close(pa[i]), close(pb[i]);
}

static void a_handler_removes_itself(void **state)
{
	struct loop *l = loop_new();
	struct io io = { .loop = l };
	int fds[2];

	(void)state;
	make_pipe(fds);
	assert_int_equal(loop_add_io(l, fds[0], EPOLLIN, on_io, &io, &io.victim), 0);
	assert_int_equal(write(fds[1], "xy", 2), 2);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(loop_once(l, 0), 0);
	assert_int_equal(io.calls, 1);
	loop_free(l);
	close(fds[0]);
	close(fds[1]);
}

struct ticker {
	struct loop *loop;
	struct loop_source *source;
	unsigned n, stop_at;
	uint64_t last_ns;
};

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct ticker *t = ctx;

	assert_true(now_ns >= t->last_ns);
	t->last_ns = now_ns;
	if (++t->n == t->stop_at)
		loop_stop(t->loop, 42);
	return 0;
}

static int on_closed(void *ctx, int fd, uint32_t events)
{
	(void)fd;
	(void)events;
	++*(int *)ctx;
	return 0;
}

static int on_never(void *ctx, uint64_t now_ns)
{
	(void)ctx;
	(void)now_ns;
	fail();
	return 0;
}

/* As a child between fork and exec has it: the kernel goes on reporting events of the descriptor. */
static void a_source_of_a_closed_descriptor_stays_silent(void **state)
{
	struct loop *l = loop_new();
	struct loop_source *s, *cached[16];
	int fds[2], idle[2], copy, calls = 0;

	(void)state;
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(loop_add_timer(l, 1000 * MS, 0, on_never, NULL, &cached[i]), 0);
	for (size_t i = 0; i < 16; i++)
		loop_remove(cached[i]);
	make_pipe(fds);
	copy = dup(fds[0]);
	assert_int_equal(loop_add_io(l, fds[0], EPOLLIN, on_closed, &calls, &s), 0);
	close(fds[0]);
	loop_remove(s);
	make_pipe(idle);
	/* it has the memory of a freed source: calloc(3) does not use what a thread's cache keeps */
	assert_int_equal(loop_add_io(l, idle[0], EPOLLIN, on_closed, &calls, &s), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_once(l, 0), 0);
	assert_int_equal(calls, 0);
	loop_free(l);
	close(idle[0]);
	close(idle[1]);
	close(copy);
	close(fds[1]);
}

static void timers_tick_once_or_for_ever(void **state)
{
	struct loop *l = loop_new();
	struct ticker many = { .loop = l, .stop_at = 5 }, once = { .loop = l }, off = { .loop = l };
	uint64_t start = clock_boot_ns();

	(void)state;
	assert_int_equal(loop_add_timer(l, 2 * MS, 2 * MS, on_tick, &many, &many.source), 0);
	assert_int_equal(loop_add_timer(l, 1 * MS, 0, on_tick, &once, &once.source), 0);
	assert_int_equal(loop_add_timer(l, 0, 0, on_tick, &off, &off.source), 0);
	assert_int_equal(loop_run(l), 42);
	assert_true(clock_boot_ns() - start >= 10 * MS);
	assert_int_equal(many.n, 5);
	assert_int_equal(once.n, 1);
	assert_int_equal(off.n, 0);

	assert_int_equal(loop_set_timer(many.source, 0, 0), 0);
	assert_int_equal(loop_set_timer(once.source, 1, 0), 0);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(once.n, 2);
	assert_int_equal(loop_set_timer(off.source, 0, MS), 0);	/* at once, then periodically */
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(off.n, 1);
	loop_remove(many.source);
	loop_free(l);
}

static int on_tick_disarm_other(void *ctx, uint64_t now_ns)
{
	struct ticker *t = ctx;

	(void)now_ns;
	t->n++;
	return loop_set_timer(t->source, 0, 0);
}

static void a_timer_disarmed_in_its_own_round_stays_silent(void **state)
{
	struct loop *l = loop_new();
	struct ticker a = { .loop = l }, b = { .loop = l };

	(void)state;
	assert_int_equal(loop_add_timer(l, 1, 0, on_tick_disarm_other, &a, &b.source), 0);
	assert_int_equal(loop_add_timer(l, 1, 0, on_tick_disarm_other, &b, &a.source), 0);
	usleep(2000);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(a.n + b.n, 1);
	loop_free(l);
}

static int on_signal(void *ctx, int signo)
{
	struct loop *l = ctx;

	loop_stop(l, signo);
	return 0;
}

static void signals_arrive_and_the_mask_is_given_back(void **state)
{
	struct loop *l = loop_new();
	struct loop_source *s = NULL;
	sigset_t mask;

	(void)state;
	assert_int_equal(loop_add_signal(l, SIGUSR1, on_signal, l, &s), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(loop_run(l), SIGUSR1);
	/* A pending signal is swallowed at removal: its default action would end the test. */
	assert_int_equal(raise(SIGUSR1), 0);
	loop_remove(s);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	assert_false(sigismember(&mask, SIGUSR1));
	assert_int_equal(loop_add_signal(l, 0, on_signal, l, &s), -EINVAL);
	loop_free(l);
}

static int on_nested(void *ctx, int fd, uint32_t events)
{
	struct io *io = ctx;
	char c;

	(void)events;
	assert_int_equal(read(fd, &c, 1), 1);
	loop_remove(io->self);
	assert_true(loop_once(io->loop, 0) >= 0);	/* must not free memory that the outer round still uses */
	io->calls++;
	return 0;
}

static void a_round_inside_a_handler_frees_nothing_early(void **state)
{
	struct loop *l = loop_new();
	struct io a = { .loop = l }, b = { .loop = l };
	int pa[2], pb[2];

	(void)state;
	make_pipe(pa);
	make_pipe(pb);
	assert_int_equal(loop_add_io(l, pa[0], EPOLLIN, on_nested, &a, &a.self), 0);
	assert_int_equal(loop_add_io(l, pb[0], EPOLLIN, on_nested, &b, &b.self), 0);
	assert_int_equal(write(pa[1], "x", 1) + write(pb[1], "x", 1), 2);
	assert_int_equal(loop_once(l, 1000), 1);
	assert_int_equal(a.calls + b.calls, 2);
	loop_free(l);
	for (int i = 0; i < 2; i++)
		close(pa[i]), close(pb[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_is_delivered_and_a_failure_stops),
		cmocka_unit_test(a_handler_removes_another_of_the_same_round),
		cmocka_unit_test(a_handler_removes_itself),
		cmocka_unit_test(a_source_of_a_closed_descriptor_stays_silent),
		cmocka_unit_test(timers_tick_once_or_for_ever),
		cmocka_unit_test(a_timer_disarmed_in_its_own_round_stays_silent),
		cmocka_unit_test(signals_arrive_and_the_mask_is_given_back),
		cmocka_unit_test(a_round_inside_a_handler_frees_nothing_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
