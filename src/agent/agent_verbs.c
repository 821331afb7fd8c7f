// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verbs: what a client may ask beside its stream, and who may.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/str.h"
#include "ipc/session.h"
#include "event/core.h"
#include "probe/probe.h"
#include "ring/ring.h"

#define ARGS_MAX 64

struct call {
	struct agent_conn *c;
	const char *args[ARGS_MAX];	/* behind the verb */
	size_t n_args;
	struct proto_frame rest;	/* the arguments as words */
	struct buf *out;
};

struct verb {
	const char *name;
	uint32_t right;			/* PROTO_RIGHT_* that it takes */
	bool takes_time;		/* it loads, attaches or detaches */
	int (*run)(const struct call *call, struct err *err);
};

/* ---- status ---- */

static void say_cost(const struct agent *a, uint16_t i, struct buf *out)
{
	struct inst_cost cost;

	agent_metrics_inst_cost(a, i, &cost);
	buf_printf(out, "; %u programs", cost.programs);
	if (cost.runs)
		buf_printf(out, ", %" PRIu64 " runs measured, %" PRIu64 " ns each", cost.runs, cost.ns / cost.runs);
	buf_add_char(out, '\n');
}

static void say_causes(const struct sonde_ledger *l, struct buf *out)
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

static void say_miss(void *ctx, const char *file, unsigned line, const char *reason, uint64_t count)
{
	buf_printf(ctx, "  %" PRIu64 " times: %s (%s:%u)\n", count, reason, file, line);
}

static void say_instance(const struct agent *a, uint16_t i, struct buf *out)
{
	struct sonde_ledger l;
	char users[32];

	if (!agent_metrics_probe(a, i))
		return;
	agent_inst_ledger(a, i, &l);
	if (i && a->insts[i]->starting)
		snprintf(users, sizeof(users), "starting");
	else
		snprintf(users, sizeof(users), "%u users", i ? a->insts[i]->refs : a->n_conns);
	buf_printf(out,
		   "instance %u: %s, %s%s, seen %" PRIu64 " = delivered %" PRIu64 ", filtered %" PRIu64
		   ", sampled %" PRIu64 ", lost %" PRIu64,
		   i, agent_metrics_probe(a, i), users, i && a->insts[i]->attached ? " (attached)" : "",
		   (uint64_t)l.seen, (uint64_t)l.delivered, (uint64_t)l.filtered, (uint64_t)l.sampled,
		   agent_metrics_ledger_lost(&l));
	say_causes(&l, out);
	say_cost(a, i, out);
	pipeline_status(a->pipeline, i, out);
	pipeline_misses(a->pipeline, i, say_miss, out);
}

static void say_client(const struct agent_conn *c, struct buf *out)
{
	struct broadcast_stats st;

	broadcast_stats(c->queue, &st);
	buf_printf(out, "client %u, pid %d uid %u: %s, %s, sent %" PRIu64 ", lost %" PRIu64 ", queue %" PRIu64
		   " bytes in %" PRIu64 " records\n", c->place, (int)c->peer.pid, (unsigned)c->peer.uid,
		   session_client(c->session), c->dying ? "cut" : c->sub.on ? "streams" : "idle", st.sent, st.lost,
		   st.queued_bytes, st.queued);
}

static int write_status(const struct call *call, struct err *err)
{
	const struct agent *a = call->c->a;
	struct ring_stats st;

	(void)err;
	buf_printf(call->out, "agent: pid %d, sonde " SONDE_VERSION ", up %" PRIu64 " s\n", (int)getpid(),
		   (uint64_t)((clock_boot_ns() - a->start_ns) / NS_PER_S));
	buf_printf(call->out, "clients: %u of %u, %" PRIu64 " since the start, %" PRIu64 " refused, %" PRIu64
		   " cut%s%s\n", a->n_conns, a->conf.limits.max_clients, a->totals.connections, a->totals.refused,
		   a->totals.cut, a->totals.cut ? "; last: " : "", a->totals.last_cut);
	buf_printf(call->out, "memory: %" PRIu64 " KiB, %" PRIu64 " KiB of them queues\n", agent_memory() >> 10,
		   broadcast_bytes(a->fan) >> 10);
	ring_reader_stats(probe_env_reader(pipeline_env(a->pipeline)), &st);
	buf_printf(call->out, "reader: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " batches, %u %% of a ring "
		   "unread, %" PRIu64 ".%03" PRIu64 " ms behind\n", st.records, st.bytes, st.batches,
		   ring_reader_fill_pct(probe_env_reader(pipeline_env(a->pipeline))),
		   (uint64_t)(agent_lag_ns(a) / NS_PER_MS),
		   (uint64_t)(agent_lag_ns(a) % NS_PER_MS / 1000));
	agent_hold_say(loop_longest(a->loop), call->out);
	agent_inst_refresh(a);
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++)
		say_instance(a, i, call->out);
	agent_capture_say(a, call->out);
	for (const struct agent_conn *c = a->conns; c; c = c->next)
		say_client(c, call->out);
	return 0;
}

/* ---- counters ---- */

static int write_counters(const struct call *call, struct err *err)
{
	(void)err;
	agent_metrics_write(call->c->a, false, call->out);
	return 0;
}

/* ---- many questions ---- */

#define FRESH_NS (100 * NS_PER_MS)	/* at most FRESH_MOST answers are made in this time */
#define FRESH_MOST 4

/* Each answer costs milliseconds, and readers may ask at any rate: beyond a few they get the last one again. */
static int answer(const struct call *call, struct said *said, int (*write)(const struct call *call, struct err *err),
		  struct err *err)
{
	uint64_t now_ns = clock_boot_ns();
	struct call fresh = *call;
	int r = 0;

	if (now_ns - said->since_ns > FRESH_NS) {
		said->since_ns = now_ns;
		said->n = 0;
	}
	if (said->n++ < FRESH_MOST || !said->text.len || call->c->rights & PROTO_RIGHT_CONTROL) {
		buf_reset(&said->text);
		fresh.out = &said->text;
		r = write(&fresh, err);
	}
	return r < 0 ? r : buf_add(call->out, said->text.data, said->text.len);
}

static int run_status(const struct call *call, struct err *err)
{
	return answer(call, &call->c->a->said[0], write_status, err);
}

static int run_counters(const struct call *call, struct err *err)
{
	return answer(call, &call->c->a->said[1], write_counters, err);
}

/* ---- probes without a client ---- */

/* The arguments are the words of a subscription. */
static int run_attach(const struct call *call, struct err *err)
{
	struct agent *a = call->c->a;
	struct request q;
	uint16_t instance = 0;
	int r;

	if (!call->n_args)
		return err_set(err, -EINVAL, "attach wants probe=NAME, and perhaps option=--NAME=VALUE");
	r = agent_inst_request_parse(&call->rest, &q, err);
	if (r < 0)
		return r;
	if (q.wants.len != 1)
		r = err_set(err, -EINVAL, "attach takes one probe");
	if (r >= 0)
		r = agent_inst_get(a, &q, 0, &instance, err);
	agent_inst_request_fini(&q);
	if (r < 0)
		return r;
	if (a->insts[instance]->attached)
		agent_inst_put(a, instance); /* it was already */
	a->insts[instance]->attached = true;
	agent_inst_started(a, 1u << instance);
	return buf_printf(call->out, "instance %u\n", instance);
}

static int run_detach(const struct call *call, struct err *err)
{
	struct agent *a = call->c->a;
	uint32_t n;

	if (call->n_args != 1 || str_to_u32(call->args[0], 10, &n) < 0 || n >= SONDE_INSTANCES || !a->insts[n] ||
	    !a->insts[n]->attached)
		return err_set(err, -EINVAL, "detach wants the number of an instance that was attached");
	a->insts[n]->attached = false;
	agent_inst_put(a, (uint16_t)n);
	return 0;
}

static struct verb_args args_of(const struct call *call)
{
	return (struct verb_args){
		.items = call->args, .n = call->n_args, .fd = &call->c->passed,
		.end = (const char *)call->rest.data + call->rest.len,
	};
}

static int run_capture(const struct call *call, struct err *err)
{
	const struct verb_args args = args_of(call);

	return agent_capture_call(call->c->a, &args, call->out, err);
}

static int run_dump(const struct call *call, struct err *err)
{
	const struct verb_args args = args_of(call);

	return agent_capture_dump_call(call->c->a, &args, call->out, err);
}

static int run_verbs(const struct call *call, struct err *err);

/* The only place that says who may do what; doc/protocol.md is compared with it. */
static const struct verb verbs[] = {
	{ "verbs", PROTO_RIGHT_READ, false, run_verbs },
	{ "status", PROTO_RIGHT_READ, false, run_status },
	{ "counters", PROTO_RIGHT_READ, false, run_counters },
	{ "attach", PROTO_RIGHT_CONTROL, true, run_attach },
	{ "detach", PROTO_RIGHT_CONTROL, true, run_detach },
	{ "capture", PROTO_RIGHT_CONTROL, true, run_capture },
	{ "dump", PROTO_RIGHT_CONTROL, false, run_dump },
};

static int run_verbs(const struct call *call, struct err *err)
{
	(void)err;
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
