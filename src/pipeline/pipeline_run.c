// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The run: waits for its input in the loop, reads it, flushes outputs, ends.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "pipeline/output.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "probe/budget/budget.h"

#define TICK_NS NS_PER_S

void pipeline_run_hook_fails(struct pipeline *p, uint64_t of, const char *hook, const char *why)
{
	const uint64_t was = failed_hooks_add(&p->failed, of, hook, why);

	if (!was && !p->agent_says)
		log_warn("%s does not work here: %s", hook, why);
	if (of & ~was && p->set.tap.failed)
		p->set.tap.failed(p->set.tap.ctx, of, hook, why);
}

bool pipeline_stopping(const struct pipeline *p)
{
	return p->stopping;
}

void pipeline_stop(struct pipeline *p)
{
	p->stopping = true;
	loop_stop(p->loop, 0);
}

/* Stops the run when all outputs failed or are full, or when standard output lost its reader (as SIGPIPE would). */
void pipeline_run_flush(struct pipeline *p)
{
	bool unread = false;
	size_t failed = 0, aside = 0;

	for (size_t i = 0; i < p->outputs.len; i++) {
		output_flush(p->outputs.items[i]);
		aside += output_is_aside(p->outputs.items[i]);
		failed += output_error(p->outputs.items[i]) < 0 || output_done(p->outputs.items[i]);
		unread |= output_unread(p->outputs.items[i]);
	}
	if (p->set.tap.flush)
		p->set.tap.flush(p->set.tap.ctx);
	if (unread || (failed && failed + aside == p->outputs.len))
		pipeline_stop(p);
}

int pipeline_run_read(struct pipeline *p)
{
	int r = p->input->read(p, &p->err);

	pipeline_run_flush(p);
	p->ended |= r == INPUT_END;
	if (r >= 0 && (p->stopping || p->ended))
		loop_stop(p->loop, 0);
	else if (r == INPUT_MORE)
		r = pipeline_run_again(p, 1);
	return MIN(r, 0);
}

/*
 * Of rings, until the deadline only wake-ups by a program count, or every unread record would wake the loop:
 * ring_reader_fd().
 */
static int on_input(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct pipeline *p = ctx;
	bool quiet = p->input->quiet && p->input->quiet(p);
	int r = pipeline_run_read(p);

	if (r >= 0 && quiet && !p->input_muted) {
		p->input_muted = true;
		loop_set_events(p->input_io, EPOLLIN | EPOLLET);
	}
	return r;
}

static int on_again(void *ctx, _unused_ uint64_t now_ns)
{
	return pipeline_run_read(ctx);
}

static int on_deadline(void *ctx, _unused_ uint64_t now_ns)
{
	struct pipeline *p = ctx;
	int r = pipeline_run_read(p);

	if (p->input->pause)
		p->input->pause(p);
	if (p->input_muted) {
		p->input_muted = false;
		loop_set_events(p->input_io, EPOLLIN);
	}
	return r;
}

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct pipeline *p = ctx;

	pipeline_path_emit_clock(p);
	pipeline_path_emit_losses(p);
	pipeline_path_emit_tick(p);
	p->input->tick(p, now_ns);
	return 0;
}

static int on_duration(void *ctx, _unused_ uint64_t now_ns)
{
	pipeline_stop(ctx);
	return 0;
}

/* Remaining duration, counted from when the last probe that the user named was attached; at least 1 ns. */
static uint64_t duration_left(const struct pipeline *p)
{
	uint64_t gone = p->since_ns && !p->waited ? clock_boot_ns() - p->since_ns : 0;

	return p->set.limits.duration_ns > gone ? p->set.limits.duration_ns - gone : 1;
}

/* Returns the first error; the others are logged. -EPIPE, which ends a run silently, gives way to any other. */
static int close_outputs(struct pipeline *p, struct err *err)
{
	int first = 0;

	for (size_t i = 0; i < p->outputs.len; i++) {
		const bool open = !first || first == -EPIPE;
		struct err why = { 0 };
		int r = output_close(p->outputs.items[i], &why);

		if (r == 0 || (first && r == -EPIPE))
			continue;
		if (open && err)
			*err = why;
		else if (r != -EPIPE)
			log_warn("%s", why.msg);
		first = open ? r : first;
	}
	p->outputs.len = 0;
	return first;
}

int pipeline_run_watch(struct pipeline *p)
{
	int r = loop_add_io(p->loop, p->input->fd(p), EPOLLIN, on_input, p, &p->input_io);

	if (r >= 0)
		loop_name(p->input_io, "records");
	return r;
}

int pipeline_run_again(struct pipeline *p, uint64_t wait_ns)
{
	return loop_set_timer(p->again, wait_ns, 0);
}

static int add_timer(struct pipeline *p, const char *name, uint64_t first_ns, uint64_t period_ns, loop_timer_fn fn,
		     struct loop_source **ret)
{
	int r = loop_add_timer(p->loop, first_ns, period_ns, fn, p, ret);

	if (r >= 0)
		loop_name(*ret, name);
	return r;
}

/* The run failed with @r, unless it was stopped. */
static int failure(struct pipeline *p, int r, struct err *err)
{
	p->error = r;
	if (r == -ECANCELED)
		return 0;
	if (p->err.code != r)
		return err_errno(err, r, "%s", p->input->failure);
	if (err)
		*err = p->err;
	return r;
}

int pipeline_begin(struct pipeline *p, const struct pipeline_limits *limits, struct err *err)
{
	int r;

	p->set.limits = *limits;
	r = p->input->begin ? p->input->begin(p, &p->err) : 0;
	if (r >= 0)
		r = pipeline_run_watch(p);
	if (r >= 0)	/* at once: the input may hold records already */
		r = add_timer(p, "records", 1, 0, on_again, &p->again);
	if (r >= 0 && p->flush_ns)
		r = add_timer(p, "records", p->flush_ns, p->flush_ns, on_deadline, &p->deadline);
	if (r >= 0 && p->input->tick)
		r = add_timer(p, "tick", TICK_NS, TICK_NS, on_tick, &p->tick);
	if (r >= 0 && p->input->timed && limits->duration_ns)
		r = add_timer(p, "duration", duration_left(p), 0, on_duration, &p->duration);
	return r < 0 ? failure(p, r, err) : 0;
}

int pipeline_step(struct pipeline *p, int timeout_ms, struct err *err)
{
	int r = loop_once(p->loop, timeout_ms);

	return r < 0 ? failure(p, r, err) : !p->stopping && !p->ended;
}

static void end_waiting(struct pipeline *p)
{
	loop_remove(TAKE_PTR(p->input_io));
	loop_remove(TAKE_PTR(p->again));
	loop_remove(TAKE_PTR(p->deadline));
	loop_remove(TAKE_PTR(p->tick));
	loop_remove(TAKE_PTR(p->duration));
	budget_stop(p->budget);
}

int pipeline_end(struct pipeline *p, struct err *err)
{
	int r, w;

	end_waiting(p);
	if (p->set.limits.ending)
		p->set.limits.ending(p->set.limits.ending_ctx);
	r = p->input->finish ? p->input->finish(p, err) : 0;
	pipeline_path_release(p);
	for (size_t i = 0; i < p->outputs.len; i++)
		output_part(p->outputs.items[i], SINK_PART_NAMES);
	pipeline_path_emit_symbols(p);
	pipeline_path_emit_ledger(p);
	w = close_outputs(p, r < 0 ? NULL : err);
	return r < 0 ? r : w;
}

int pipeline_run(struct pipeline *p, const struct pipeline_limits *limits, struct err *err)
{
	return pipeline_run_all(&p, 1, limits, err);
}

/* Ends those whose input has ended, or with @over all. Returns how many are left; the first failure is in *error. */
static size_t end_some(struct pipeline *const *all, size_t n, bool over, int *error, struct err *err)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		struct err later = { 0 };
		int r;

		if (all[i]->closed)
			continue;
		if (!over && !all[i]->stopping && !all[i]->ended) {
			left++;
			continue;
		}
		all[i]->closed = true;
		r = pipeline_end(all[i], *error < 0 ? &later : err);
		*error = *error < 0 ? *error : r;
	}
	return left;
}

/* The pipeline whose input failed with @r; the loop says no more. */
static struct pipeline *find_failed(struct pipeline *const *all, size_t n, int r)
{
	for (size_t i = 0; i < n; i++)
		if (all[i]->err.code == r)
			return all[i];
	return all[0];
}

int pipeline_run_all(struct pipeline *const *all, size_t n, const struct pipeline_limits *limits, struct err *err)
{
	size_t left = n;
	bool over;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = pipeline_begin(all[i], limits, err);
	over = r < 0 || all[0]->stopping;
	while (left) {
		if (!over) {
			const int end = loop_run(all[0]->loop);

			over = end < 0 || n == 1;
			r = end < 0 ? failure(find_failed(all, n, end), end, err) : 0;
		}
		left = end_some(all, n, over, &r, err);
	}
	return r;
}
