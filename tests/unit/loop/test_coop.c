// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads that take turns: jobs beside a loop. A plain counter that both change shows that they never run at once
 * (a build with the thread sanitizer shows it, too).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/coop.h"
#include "loop/hold.h"
#include "loop/loop.h"

#define ROUNDS 2000
#define LONG_NS 3000000ULL /* of a step that blocks the loop */

struct bench {
	struct loop *loop;
	struct coop *coop;
	struct coop_job job;
	uint64_t count;		/* changed by both threads */
	int ran, done;
	int gate_fd;		/* eventfd: the job waits for it outside the loop */
	int returned;		/* by coop_return() */
	bool was_inside;
};

static void setup(struct bench *b, void (*run)(void *ctx), void (*done)(void *ctx))
{
	*b = (struct bench){ .loop = loop_new(), .gate_fd = eventfd(0, EFD_CLOEXEC) };
	b->job = (struct coop_job){ .run = run, .done = done, .ctx = b };
	assert_non_null(b->loop);
	assert_int_equal(coop_new(b->loop, &b->coop), 0);
}

static void teardown(struct bench *b)
{
	coop_free(b->coop);
	loop_free(b->loop);
	close(b->gate_fd);
}

static void run_until_idle(struct bench *b)
{
	while (b->job.state != COOP_IDLE)
		assert_true(loop_once(b->loop, 10) >= 0);
}

static void on_done(void *ctx)
{
	struct bench *b = ctx;

	assert_false(coop_inside(b->coop));
	b->done++;
}

static void count_with_turns(void *ctx)
{
	struct bench *b = ctx;

	b->was_inside = coop_inside(b->coop);
	for (int i = 0; i < ROUNDS; i++) {
		b->count++;
		assert_int_equal(coop_return(b->coop, coop_leave(b->coop)), 0);
	}
	b->ran++;
}

static void both_threads_take_turns(void **state)
{
	struct bench b;
	uint64_t mine = 0;

	(void)state;
	setup(&b, count_with_turns, on_done);
	coop_submit(b.coop, &b.job);
	coop_submit(b.coop, &b.job);	/* it waits already */
	while (b.job.state != COOP_IDLE) {
		b.count++;
		mine++;
		assert_true(loop_once(b.loop, 0) >= 0);
	}
	assert_true(b.was_inside);
	assert_int_equal(b.ran, 1);
	assert_int_equal(b.done, 1);
	assert_int_equal(b.count, mine + ROUNDS);
	teardown(&b);
}

static void wait_away(void *ctx)
{
	struct bench *b = ctx;
	bool left = coop_leave(b->coop);
	struct pollfd p = { .fd = b->gate_fd, .events = POLLIN };

	poll(&p, 1, -1);
	b->returned = coop_return(b->coop, left);
	b->ran++;
}

static int on_timer(void *ctx, uint64_t now_ns)
{
	struct bench *b = ctx;
	const uint64_t one = 1;

	(void)now_ns;
	if (++b->count == 3)
		assert_int_equal(write(b->gate_fd, &one, sizeof(one)), sizeof(one));
	return 0;
}

/* The job ends only after three rounds of the loop: so the loop ran while it was away. */
static void the_loop_runs_while_a_job_is_away(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, wait_away, on_done);
	assert_int_equal(loop_add_timer(b.loop, 1000, 1000, on_timer, &b, NULL), 0);
	coop_submit(b.coop, &b.job);
	run_until_idle(&b);
	assert_int_equal(b.returned, 0);
	assert_true(b.count >= 3);
	teardown(&b);
}

static void stop_cancels_and_later_jobs_run_at_once(void **state)
{
	struct bench b;
	const uint64_t one = 1;

	(void)state;
	setup(&b, wait_away, on_done);
	coop_submit(b.coop, &b.job);
	while (b.job.state != COOP_RUNNING)
		loop_once(b.loop, 1);
	assert_int_equal(write(b.gate_fd, &one, sizeof(one)), sizeof(one));
	coop_stop(b.coop);
	assert_int_equal(b.returned, -ECANCELED);
	assert_int_equal(b.done, 0);
	assert_int_equal(b.job.state, COOP_IDLE);
	b.job.run = count_with_turns;
	coop_submit(b.coop, &b.job);
	assert_int_equal(b.ran, 2);
	assert_int_equal(b.done, 1);
	assert_false(b.was_inside);
	teardown(&b);
}

static void a_job_in_the_queue_is_withdrawn(void **state)
{
	struct bench b;
	struct coop_job other = { .run = count_with_turns, .ctx = &b };
	const uint64_t one = 1;

	(void)state;
	setup(&b, wait_away, on_done);
	coop_submit(b.coop, &b.job);
	coop_submit(b.coop, &other);
	assert_int_equal(other.state, COOP_QUEUED);
	coop_withdraw(b.coop, &other);
	assert_int_equal(other.state, COOP_IDLE);
	assert_int_equal(write(b.gate_fd, &one, sizeof(one)), sizeof(one));
	run_until_idle(&b);
	assert_int_equal(b.ran, 1);
	assert_int_equal(b.count, 0);
	teardown(&b);
}

static void run_again(void *ctx)
{
	struct bench *b = ctx;

	if (++b->ran == 1)
		coop_submit(b->coop, &b->job);
}

static void a_running_job_runs_once_more(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, run_again, NULL);
	coop_submit(b.coop, &b.job);
	run_until_idle(&b);
	assert_int_equal(b.ran, 2);
	teardown(&b);
}

/* ---- holds ---- */

static void spin(uint64_t ns)
{
	uint64_t end_ns = clock_boot_ns() + ns;

	while (clock_boot_ns() < end_ns)
		;
}

static void hold_with_steps(void *ctx)
{
	struct bench *b = ctx;

	coop_step(b->coop, "open", "net");
	coop_return(b->coop, coop_leave(b->coop));
	coop_step(b->coop, "attach", "net");
	spin(LONG_NS);
	coop_step(b->coop, "settle", NULL);
	coop_return(b->coop, coop_leave(b->coop));
}

static int hold_in_handler(void *ctx, uint64_t now_ns)
{
	struct bench *b = ctx;

	(void)now_ns;
	b->count++;
	coop_step(b->coop, "status", NULL);
	spin(LONG_NS);
	return 0;
}

/* The machine may stop a thread anywhere for as long: such delays have other names. */
struct watched {
	const char *want;
	struct hold hold;
	int n;
};

static void on_hold(void *ctx, const struct hold *h)
{
	struct watched *w = ctx;
	char text[256];

	hold_text(h, text, sizeof(text));
	if (strcmp(text, w->want) != 0)
		return;
	w->hold = *h;
	w->n++;
}

static void a_hold_names_the_job_and_its_longest_step(void **state)
{
	struct watched w = { .want = "subscribe: attach net, from hold_with_steps() to hold_with_steps()" };
	struct bench b;

	(void)state;
	setup(&b, hold_with_steps, NULL);
	b.job.name = "subscribe";
	loop_watch(b.loop, LONG_NS - 1, on_hold, &w);
	coop_submit(b.coop, &b.job);
	run_until_idle(&b);
	assert_int_equal(w.n, 1);
	assert_true(w.hold.wall_ns >= LONG_NS);
	assert_true(w.hold.cpu_ns > 0 && w.hold.cpu_ns <= w.hold.wall_ns);
	assert_true(loop_longest(b.loop)->wall_ns >= w.hold.wall_ns);
	teardown(&b);
}

static void yield_after_each_part(void *ctx)
{
	struct bench *b = ctx;

	for (int i = 0; i < 5; i++) {
		spin(LONG_NS);
		b->returned |= coop_yield(b->coop);
	}
}

static void a_long_job_passes_the_turn_between_its_parts(void **state)
{
	struct watched w = { .want = "scan, from yield_after_each_part() to yield_after_each_part()" };
	struct bench b;

	(void)state;
	setup(&b, yield_after_each_part, NULL);
	b.job.name = "scan";
	loop_watch(b.loop, LONG_NS - 1, on_hold, &w);
	coop_submit(b.coop, &b.job);
	run_until_idle(&b);
	assert_int_equal(b.returned, 0);
	assert_int_equal(w.n, 4);	/* the first part began in the thread's main function */
	teardown(&b);
}

static void a_hold_names_the_source_and_the_step_of_its_handler(void **state)
{
	struct watched w = { .want = "client: status" };
	struct loop_source *timer;
	struct bench b;

	(void)state;
	setup(&b, run_again, NULL);
	loop_watch(b.loop, LONG_NS - 1, on_hold, &w);
	assert_int_equal(loop_add_timer(b.loop, 1, 0, hold_in_handler, &b, &timer), 0);
	loop_name(timer, "client");
	while (!b.count)
		assert_true(loop_once(b.loop, 10) >= 0);
	assert_int_equal(w.n, 1);
	assert_true(w.hold.wall_ns >= LONG_NS);
	teardown(&b);
}

static void without_a_thread_a_job_runs_at_once(void **state)
{
	struct bench b = { .loop = NULL };

	(void)state;
	b.job = (struct coop_job){ .run = run_again, .ctx = &b };
	b.ran = 1;
	coop_submit(NULL, &b.job);
	assert_int_equal(b.ran, 2);
	assert_false(coop_inside(NULL));
	assert_int_equal(coop_return(NULL, coop_leave(NULL)), 0);
	coop_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_threads_take_turns),
		cmocka_unit_test(the_loop_runs_while_a_job_is_away),
		cmocka_unit_test(stop_cancels_and_later_jobs_run_at_once),
		cmocka_unit_test(a_job_in_the_queue_is_withdrawn),
		cmocka_unit_test(a_running_job_runs_once_more),
		cmocka_unit_test(a_hold_names_the_job_and_its_longest_step),
		cmocka_unit_test(a_long_job_passes_the_turn_between_its_parts),
		cmocka_unit_test(a_hold_names_the_source_and_the_step_of_its_handler),
		cmocka_unit_test(without_a_thread_a_job_runs_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
