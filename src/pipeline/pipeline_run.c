// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The run: reads rings and files, flushes outputs, ends.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "pipeline/output.h"
#include "pipeline/pipeline_names.h"
#include "pipeline/pipeline_parts.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_rings.h"
#include "pipeline/pipeline_socket.h"
#include "pipeline/pipeline_state.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/units.h"
#include "ipc/client.h"
#include "ipc/proto.h"
#include "probe/budget/budget.h"
#include "probe/env.h"
#include "ring/ring.h"
#include "source/source.h"

#define DEFAULT_LATENCY_NS (50 * NS_PER_MS)
#define TICK_NS NS_PER_S
#define REPLAY_BUDGET 4096
#define FOLLOW_MS 250	/* between flushes of outputs while no record comes */
#define QUIET_FILL_PCT 5	/* after a wake-up below this fill level, wait for the deadline */
#define CLOSE_MOST_NS (2 * NS_PER_S)	/* bound for programs that still run after the detach */

/*
 * Until the deadline only wake-ups by a program count, or every unread record would wake the loop: ring_reader_fd().
 */
static int on_ring(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct pipeline *p = ctx;
	bool quiet = ring_reader_fill_pct(probe_env_reader(p->env)) < QUIET_FILL_PCT;
	int r = pipeline_rings_read(p);

	if (r >= 0 && quiet && !p->ring_muted) {
		p->ring_muted = true;
		loop_set_events(p->ring_io, EPOLLIN | EPOLLET);
	}
	return r < 0 ? r : 0;
}

static int on_deadline(void *ctx, _unused_ uint64_t now_ns)
{
	struct pipeline *p = ctx;
	int r = pipeline_rings_read(p);

	pipeline_parts_turn(p);
	if (p->ring_muted) {
		p->ring_muted = false;
		loop_set_events(p->ring_io, EPOLLIN);
	}
	return r < 0 ? r : 0;
}

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct pipeline *p = ctx;

	pipeline_path_emit_clock(p);
	pipeline_path_emit_losses(p);
	pipeline_path_emit_tick(p);
	for (size_t i = 0; i < p->n_probes; i++) {
		if (!p->probes[i].running || !p->probes[i].ops->tick)
			continue;
		loop_step(p->loop, "tick", p->probes[i].ops->name);
		p->probes[i].ops->tick(&p->probes[i], now_ns);
	}
	loop_step(p->loop, "clients", NULL);
	if (p->tap.tick)
		p->tap.tick(p->tap.ctx, now_ns);
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

	return p->limits.duration_ns > gone ? p->limits.duration_ns - gone : 1;
}

static int begin_live(struct pipeline *p, struct err *err)
{
	uint64_t latency = p->limits.latency_ns ? p->limits.latency_ns : DEFAULT_LATENCY_NS;
	int r;

	r = loop_add_io(p->loop, ring_reader_fd(probe_env_reader(p->env)), EPOLLIN, on_ring, p, &p->ring_io);
	if (r >= 0)
		r = loop_add_timer(p->loop, latency, latency, on_deadline, p, &p->deadline);
	if (r >= 0)
		r = loop_add_timer(p->loop, TICK_NS, TICK_NS, on_tick, p, &p->tick);
	if (r >= 0 && p->limits.duration_ns)
		r = loop_add_timer(p->loop, duration_left(p), 0, on_duration, p, &p->duration);
	if (r >= 0 && p->budget)
		r = budget_start(p->budget, p->probes, p->n_probes);
	if (r < 0)
		return err_errno(err, r, "cannot read the rings");
	loop_name(p->ring_io, "records");
	loop_name(p->deadline, "records");
	loop_name(p->tick, "tick");
	return 0;
}

static void end_waiting(struct pipeline *p)
{
	loop_remove(TAKE_PTR(p->ring_io));
	loop_remove(TAKE_PTR(p->deadline));
	loop_remove(TAKE_PTR(p->tick));
	loop_remove(TAKE_PTR(p->duration));
	loop_remove(TAKE_PTR(p->input_io));
	budget_stop(p->budget);
}

static int run_live(struct pipeline *p, struct err *err)
{
	int r = p->stopping ? 0 : loop_run(p->loop);

	return r < 0 ? err_errno(err, r, "cannot read the rings") : 0;
}

/* Reads what programs wrote until the detach; bounded against a producer that never stops. */
static void drain_rest(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + 10 * NS_PER_S;

	probe_env_wait_for_programs();
	while (pipeline_rings_read(p) > 0 && clock_boot_ns() < end_ns)
		;
}

/*
 * A program may still run for a moment after the detach. A reader of our entries in /proc/PID/fd holds its
 * descriptor, and so does a child we forked until it closes them; at the exit of a system call a task may be
 * preempted between looking up the programs and running them (since 6.13). Their records are read, or the ledger
 * would not close.
 */
static void close_ledger(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + CLOSE_MOST_NS;
	bool open = true;

	while (open) {
		pipeline_path_emit_losses(p);
		open = false;
		for (uint16_t i = 0; i < p->n_probes; i++)
			open |= p->accounts.of[i].used && account_gap(&p->accounts.of[i]) > 0;
		open &= clock_boot_ns() < end_ns;
		if (open)
			drain_rest(p);
	}
}

/* proc last: packets, samples and calls have processes as long as others see them. */
static void finish_live(struct pipeline *p)
{
	coop_stop(p->coop);
	for (size_t i = p->n_probes; i-- > 0;)
		if (p->probes[i].attached && p->probes[i].ops->detach)
			p->probes[i].ops->detach(&p->probes[i]);
	drain_rest(p);
	for (size_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].running && p->probes[i].ops->finish)
			p->probes[i].ops->finish(&p->probes[i]);
	close_ledger(p);
}

static int on_input(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	((struct pipeline *)ctx)->input_ready = true;
	return 0;
}

static int begin_file(struct pipeline *p, struct err *err)
{
	int r = loop_add_io(p->loop, source_fd(p->source), EPOLLIN, on_input, p, &p->input_io);

	return r < 0 ? err_errno(err, r, "cannot wait for input") : 0;
}

/* Waits in the loop, so that a signal ends the wait for a silent pipe. */
static int step_file(struct pipeline *p, int timeout_ms, struct err *err)
{
	int r;

	p->input_ready = p->input_more;
	r = loop_once(p->loop, p->input_more ? 0 : timeout_ms);
	if (r >= 0 && !p->input_ready && p->follows)
		pipeline_rings_flush(p);	/* outputs hold lines back for a while */
	if (r < 0 || !p->input_ready || p->stopping)
		return r < 0 ? r : 1;
	r = source_read(p->source, REPLAY_BUDGET, pipeline_path_from_source, p, err);
	pipeline_rings_flush(p);
	p->input_more = r == REPLAY_BUDGET;
	return r > 0 || r == -EAGAIN ? 1 : r;
}

static int run_file(struct pipeline *p, struct err *err)
{
	int r = 1;

	while (r > 0 && !p->stopping)
		r = step_file(p, p->follows ? FOLLOW_MS : -1, err);
	return r < 0 && r != -ECANCELED ? r : 0;
}

/* ---- records of an agent ---- */

struct agent_run {
	struct pipeline *p;
	bool ended;		/* PROTO_END was received */
	int error;
};

static int on_frame(void *ctx, const struct proto_frame *f)
{
	struct agent_run *run = ctx;
	const struct sonde_rec *r = f->data;

	run->ended |= f->type == PROTO_END;
	if (f->type == PROTO_HOOK_FAILED)
		pipeline_take_failed(run->p, f);
	/* the frame's check covers its length; after a limit the rest counts as filtered */
	if (f->type == PROTO_RECORD)
		pipeline_path_from_source(run->p, r);
	return 0;
}

/* True if more can be read without waiting. */
static bool read_agent(struct agent_run *run)
{
	int r = client_read(run->p->client, REPLAY_BUDGET, on_frame, run);

	pipeline_rings_flush(run->p);
	run->error = r < 0 ? r : 0;
	return r == REPLAY_BUDGET;
}

static int agent_timer(struct pipeline *p, uint64_t ns, struct loop_source **ret)
{
	return ns ? loop_add_timer(p->loop, ns, 0, on_duration, p, ret) : 0;
}

/* Reads the rest of the stopped stream, its ledger last. */
static void finish_agent(struct agent_run *run)
{
	uint64_t end_ns = clock_boot_ns() + 10 * NS_PER_S;

	if (!run->ended && !run->error)
		run->error = client_stop(run->p->client);
	while (!run->ended && !run->error && clock_boot_ns() < end_ns) {
		int r = client_wait(run->p->client, 1000);

		if (r >= 0)
			r = client_read(run->p->client, REPLAY_BUDGET, on_frame, run);
		run->error = r < 0 ? r : 0;
	}
	pipeline_rings_flush(run->p);
}

/* The agent's reply may have brought frames into the client's buffer: the first round does not wait. */
static int loop_agent(struct agent_run *run)
{
	struct pipeline *p = run->p;
	bool more = true;
	int r = 0;

	while (r >= 0 && !p->stopping && !run->ended && !run->error) {
		p->input_ready = more;
		r = loop_once(p->loop, more ? 0 : -1);
		if (r >= 0 && p->input_ready && !p->stopping)
			more = read_agent(run);
	}
	return r < 0 ? r : 0;
}

static int run_agent(struct pipeline *p, struct err *err)
{
	struct agent_run run = { .p = p };
	struct loop_source *duration = NULL, *io = NULL;
	int r = loop_add_io(p->loop, client_fd(p->client), EPOLLIN, on_input, p, &io);

	if (r >= 0)
		r = agent_timer(p, p->limits.duration_ns, &duration);
	if (r >= 0)
		r = loop_agent(&run);
	loop_remove(io);
	loop_remove(duration);
	if (r < 0)
		return err_errno(err, r, "cannot wait for the agent");
	finish_agent(&run);
	if (run.error)
		return client_failure(p->client, run.error, err);
	return run.ended ? 0 : err_set(err, -ETIMEDOUT, "the agent did not end the stream within 10 s");
}

/* Returns the first error. -EPIPE, which ends a run silently, gives way to any other. */
static int close_outputs(struct pipeline *p, struct err *err)
{
	int first = 0;

	for (size_t i = 0; i < p->outputs.len; i++) {
		bool open = !first || first == -EPIPE;
		struct err why = { 0 };
		int r = output_close(p->outputs.items[i], &why);

		if (r == 0 || !open || (first && r == -EPIPE))
			continue;
		first = r;
		if (err)
			*err = why;
	}
	p->outputs.len = 0;
	return first;
}

int pipeline_begin(struct pipeline *p, const struct pipeline_limits *limits, struct err *err)
{
	p->limits = *limits;
	if (p->socket_path || p->client)	/* their runs add their own timers */
		return 0;
	pipeline_names_read(p);
	return p->env ? begin_live(p, err) : begin_file(p, err);
}

int pipeline_step(struct pipeline *p, int timeout_ms, struct err *err)
{
	int r = p->env ? loop_once(p->loop, timeout_ms) : step_file(p, timeout_ms, err);

	if (r < 0 && p->env)
		err_errno(err, r, "cannot read the rings");
	if (p->stopping)
		return r < 0 && r != -ECANCELED ? r : 0;
	return p->env && r >= 0 ? 1 : r;
}

int pipeline_end(struct pipeline *p, struct err *err)
{
	end_waiting(p);
	if (p->limits.ending)
		p->limits.ending(p->limits.ending_ctx);
	if (p->env)
		finish_live(p);
	pipeline_path_release(p);
	pipeline_parts_end(p);
	pipeline_path_emit_symbols(p);
	pipeline_path_emit_ledger(p);
	return close_outputs(p, err);
}

int pipeline_run(struct pipeline *p, const struct pipeline_limits *limits, struct err *err)
{
	struct err later = { 0 };
	int r = pipeline_begin(p, limits, err), w;

	if (r >= 0 && p->socket_path)
		r = pipeline_socket_run(p, err);
	else if (r >= 0)
		r = p->env ? run_live(p, err) : p->client ? run_agent(p, err) : run_file(p, err);
	w = pipeline_end(p, r < 0 ? &later : err);
	return r < 0 ? r : w;
}
