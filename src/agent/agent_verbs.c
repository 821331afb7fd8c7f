// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Table of verbs with the right that each needs.
 */
#include "agent/agent_verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_request.h"
#include "agent/agent_state.h"
#include "agent/agent_sub.h"
#include "agent/metrics/agent_metrics.h"
#include "agent/record/agent_record.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/str.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "ipc/session.h"
#include "event/core.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "ring/ring.h"

#define ARGS_MAX 64

struct call {
	struct agent_conn *c;
	const char *args[ARGS_MAX];	/* without the verb */
	size_t n_args;
	struct proto_frame rest;	/* the arguments as a frame of strings */
	struct buf *out;
};

struct verb {
	const char *name;
	uint32_t right;			/* required PROTO_RIGHT_* */
	bool takes_time;		/* loads, attaches or detaches */
	int (*run)(const struct call *call, struct err *err);
};

/* ---- status ---- */

static void put_cost(const struct inst_cost *cost, struct buf *out)
{
	buf_printf(out, "; %u programs", cost->programs);
	if (cost->runs)
		buf_printf(out, ", %" PRIu64 " runs measured, %" PRIu64 " ns each", cost->runs,
			   cost->ns / cost->runs);
	buf_add_char(out, '\n');
}

static void put_causes(const struct sonde_ledger *l, struct buf *out)
{
	const char *before = " (";

	for (unsigned k = 0; k < SONDE_LOST__MAX; k++) {
		if (!l->lost[k])
			continue;
		buf_printf(out, "%s%s %" PRIu64, before, xlat_name(&lost_cause_xlat, k), (uint64_t)l->lost[k]);
		before = ", ";
	}
	if (*before == ',')
		buf_add_char(out, ')');
}

static void put_miss(void *ctx, const char *file, unsigned line, const char *reason, uint64_t count)
{
	buf_printf(ctx, "  %" PRIu64 " times: %s (%s:%u)\n", count, reason, file, line);
}

static void put_instance(const struct agent *a, uint16_t i, const struct inst_cost *cost, struct buf *out)
{
	struct sonde_ledger l;
	char users[32];

	if (!agent_inst_probe(&a->insts, i))
		return;
	agent_inst_ledger(&a->insts, i, &l);
	if (i && a->insts.of[i]->starting)
		snprintf(users, sizeof(users), "starting");
	else
		snprintf(users, sizeof(users), "%u users", i ? a->insts.of[i]->refs : a->n_conns);
	buf_printf(out,
		   "instance %u: %s, %s%s, seen %" PRIu64 " = delivered %" PRIu64 ", filtered %" PRIu64
		   ", sampled %" PRIu64 ", lost %" PRIu64,
		   i, agent_inst_probe(&a->insts, i), users, i && a->insts.of[i]->attached ? " (attached)" : "",
		   (uint64_t)l.seen, (uint64_t)l.delivered, (uint64_t)l.filtered, (uint64_t)l.sampled,
		   agent_metrics_lost(&l));
	put_causes(&l, out);
	put_cost(cost, out);
	pipeline_status(a->pipeline, i, out);
	pipeline_misses(a->pipeline, i, put_miss, out);
}

static void put_client(const struct agent_conn *c, struct buf *out)
{
	struct broadcast_stats st;

	broadcast_stats(c->queue, &st);
	buf_printf(out,
		   "client %u, pid %d uid %u: %s, %s, sent %" PRIu64 ", lost %" PRIu64 ", queue %" PRIu64
		   " bytes in %" PRIu64 " records\n",
		   c->number, (int)c->peer.pid, (unsigned)c->peer.uid, session_client(c->session),
		   c->dying    ? "disconnected"
		   : c->sub.on ? "streams"
			       : "idle",
		   st.sent, st.lost, st.queued_bytes, st.queued);
}

static int write_status(const struct call *call, _unused_ struct err *err)
{
	const struct agent *a = call->c->a;
	struct inst_cost costs[SONDE_INSTANCES];
	struct ring_stats st;

	buf_printf(call->out, "agent: pid %d, sonde " SONDE_VERSION ", up %" PRIu64 " s\n", (int)getpid(),
		   (uint64_t)((clock_boot_ns() - a->start_ns) / NS_PER_S));
	buf_printf(call->out,
		   "clients: %u of %u, %" PRIu64 " since the start, %" PRIu64 " refused, %" PRIu64
		   " disconnected%s%s\n",
		   a->n_conns, a->conf.limits.max_clients, a->totals.connections, a->totals.refused,
		   a->totals.disconnected, a->totals.disconnected ? "; last: " : "", a->totals.last_disconnected);
	buf_printf(call->out, "memory: %" PRIu64 " KiB, %" PRIu64 " KiB of them queues\n",
		   agent_metrics_memory_bytes() >> 10, broadcast_bytes(a->broadcast) >> 10);
	ring_reader_stats(probe_env_reader(pipeline_env(a->pipeline)), &st);
	buf_printf(call->out,
		   "reader: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " batches, %u %% of a ring "
		   "unread, %" PRIu64 ".%03" PRIu64 " ms behind\n",
		   st.records, st.bytes, st.batches,
		   ring_reader_fill_pct(probe_env_reader(pipeline_env(a->pipeline))),
		   (uint64_t)(agent_measure_lag_ns(&a->lag) / NS_PER_MS),
		   (uint64_t)(agent_measure_lag_ns(&a->lag) % NS_PER_MS / 1000));
	agent_hold_report(loop_longest(a->loop), call->out);
	agent_inst_refresh(&a->insts);
	agent_inst_costs(&a->insts, costs);
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++)
		put_instance(a, i, &costs[i], call->out);
	agent_capture_report(&a->captures, call->out);
	agent_record_put(a, call->out);
	agent_server_put(&a->page, call->out);
	agent_server_put(&a->hubble, call->out);
	for (const struct agent_conn *c = a->conns; c; c = c->next)
		put_client(c, call->out);
	return 0;
}

/* ---- counters ---- */

static int write_counters(const struct call *call, _unused_ struct err *err)
{
	agent_metrics_write(call->c->a, false, call->out);
	return 0;
}

/* ---- many questions ---- */

#define FRESH_NS (100 * NS_PER_MS)	/* at most FRESH_MOST replies are made in this time */
#define FRESH_MOST 4

/* A reply costs milliseconds, and readers may ask at any rate: beyond FRESH_MOST they get the last reply again. */
static int answer(const struct call *call, struct agent_reply *last,
		  int (*write)(const struct call *call, struct err *err), struct err *err)
{
	uint64_t now_ns = clock_boot_ns();
	struct call fresh = *call;
	int r = 0;

	if (now_ns - last->since_ns > FRESH_NS) {
		last->since_ns = now_ns;
		last->n = 0;
	}
	if (last->n++ < FRESH_MOST || !last->text.len || call->c->rights & PROTO_RIGHT_CONTROL) {
		buf_reset(&last->text);
		fresh.out = &last->text;
		r = write(&fresh, err);
	}
	return r < 0 ? r : buf_add(call->out, last->text.data, last->text.len);
}

static int run_status(const struct call *call, struct err *err)
{
	return answer(call, &call->c->a->status, write_status, err);
}

static int run_counters(const struct call *call, struct err *err)
{
	return answer(call, &call->c->a->counters, write_counters, err);
}

/* ---- probes without a client ---- */

/* The arguments are a subscription request. */
static int run_attach(const struct call *call, struct err *err)
{
	struct agent *a = call->c->a;
	struct agent_request q;
	uint16_t instance = 0;
	int r;

	if (!call->n_args)
		return err_set(err, -EINVAL, "attach needs probe=NAME, and optionally option=--NAME=VALUE");
	r = agent_request_parse(&call->rest, &q, err);
	if (r < 0)
		return r;
	if (q.probes.len != 1)
		r = err_set(err, -EINVAL, "attach takes one probe");
	if (r >= 0)
		r = agent_inst_get(&a->insts, &q, 0, &instance, err);
	agent_request_fini(&q);
	if (r < 0)
		return r;
	if (a->insts.of[instance]->attached)
		agent_inst_put(&a->insts, instance); /* attached already */
	a->insts.of[instance]->attached = true;
	agent_inst_started(&a->insts, 1u << instance);
	return buf_printf(call->out, "instance %u\n", instance);
}

static int run_detach(const struct call *call, struct err *err)
{
	struct agent *a = call->c->a;
	uint32_t n;

	if (call->n_args != 1 || str_to_u32(call->args[0], 10, &n) < 0 || n >= SONDE_INSTANCES || !a->insts.of[n] ||
	    !a->insts.of[n]->attached)
		return err_set(err, -EINVAL, "detach needs the number of an attached instance");
	a->insts.of[n]->attached = false;
	agent_inst_put(&a->insts, (uint16_t)n);
	return 0;
}

static struct verb_args args_of(const struct call *call)
{
	return (struct verb_args){
		.items = call->args,
		.n = call->n_args,
		.fd = &call->c->passed_fd,
		.end = (const char *)call->rest.data + call->rest.len,
	};
}

static int run_capture(const struct call *call, struct err *err)
{
	const struct verb_args args = args_of(call);

	return agent_capture_call(&call->c->a->captures, &args, call->out, err);
}

/* A number is an instance with a flight recorder of packets; all other words are about the recording. */
static int run_dump(const struct call *call, struct err *err)
{
	const struct verb_args args = args_of(call);
	const struct agent_record *record = &call->c->a->record;
	const bool numbered = call->n_args == 1 && strspn(call->args[0], "0123456789") == strlen(call->args[0]);
	int r = -ENOENT;

	if (numbered || (!call->n_args && !record->report.writing))
		r = agent_capture_dump_call(&call->c->a->captures, &args, call->out, err);
	if (r != -ENOENT || numbered || (!call->n_args && !record->configured))
		return r;
	r = agent_record_dump_call(call->c, &args, err);
	call->c->later = r > 0;
	return MIN(r, 0);
}

static int run_record(const struct call *call, struct err *err)
{
	const struct verb_args args = args_of(call);
	int r = agent_record_call(call->c, &args, call->out, err);

	call->c->later = r > 0;
	return MIN(r, 0);
}

static int run_record_part(const struct call *call, struct err *err)
{
	if (!call->c->own)
		return err_set(err, -EOPNOTSUPP, "record-part: only the agent's recorder may call it");
	return agent_sub_part(call->c, err);
}

static int run_verbs(const struct call *call, struct err *err);

/* The one table of access rights; a test compares doc/protocol.md with it. */
static const struct verb verbs[] = {
	{ "verbs", PROTO_RIGHT_READ, false, run_verbs },
	{ "status", PROTO_RIGHT_READ, false, run_status },
	{ "counters", PROTO_RIGHT_READ, false, run_counters },
	{ "attach", PROTO_RIGHT_CONTROL, true, run_attach },
	{ "detach", PROTO_RIGHT_CONTROL, true, run_detach },
	{ "capture", PROTO_RIGHT_CONTROL, true, run_capture },
	{ "dump", PROTO_RIGHT_CONTROL, false, run_dump },
	{ "record", PROTO_RIGHT_CONTROL, false, run_record },
	{ "record-part", PROTO_RIGHT_CONTROL, true, run_record_part },
};

static int run_verbs(const struct call *call, _unused_ struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		buf_printf(call->out, "%s %s\n", verbs[i].name,
			   verbs[i].right == PROTO_RIGHT_READ ? "read" : "control");
	return buf_error(call->out);
}

bool agent_verbs_takes_time(const struct agent_conn *c, const char *verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, verb))
			return verbs[i].takes_time && (c->rights & verbs[i].right) == verbs[i].right;
	return false;
}

int agent_verbs_call(struct agent_conn *c, const char *verb, const struct proto_frame *f, const char *verb_at,
		     struct buf *out, struct err *err)
{
	struct call call = { .c = c, .out = out };
	size_t fixed = (size_t)(verb_at - (const char *)f->data);

	for (const char *w = proto_word(f, fixed, verb_at); w; w = proto_word(f, fixed, w)) {
		if (call.n_args == ARGS_MAX)
			return err_set(err, -E2BIG, "%s: too many arguments", verb);
		call.args[call.n_args++] = w;
	}
	if (call.n_args)
		call.rest = (struct proto_frame){
			.data = call.args[0],
			.len = (uint32_t)((const char *)f->data + f->len - call.args[0]),
		};
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, verb))
			continue;
		if ((c->rights & verbs[i].right) != verbs[i].right)
			return err_set(err, -EPERM, "%s: not permitted on this socket", verb);
		coop_step(pipeline_coop(c->a->pipeline), verbs[i].name, NULL);
		return verbs[i].run(&call, err);
	}
	return err_set(err, -ENOSYS, "%s: this agent has no such verb", verb);
}
