// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verbs: what a client may ask beside its stream, and who may.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "bus/session.h"
#include "event/core.h"
#include "probe/probe.h"

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
	int (*run)(const struct call *call, struct err *err);
};

/* ---- status ---- */

struct cost { uint16_t instance; uint64_t runs, ns; };

static void add_cost(void *ctx, uint16_t instance, int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct cost *c = ctx;

	if (instance != c->instance || bpf_prog_get_info_by_fd(prog_fd, &info, &len) < 0)
		return;
	c->runs += info.run_cnt;
	c->ns += info.run_time_ns;
}

static const char *probe_name(const struct agent *a, uint16_t instance)
{
	if (!instance)
		return "proc";
	return a->insts[instance] ? a->insts[instance]->want.ops->name : NULL;
}

static void say_instance(const struct agent *a, uint16_t i, struct buf *out)
{
	struct cost cost = { .instance = i };
	struct sonde_ledger l;
	uint64_t lost = 0;

	if (!probe_name(a, i))
		return;
	inst_ledger(a, i, &l);
	for (int k = 0; k < SONDE_LOST__MAX; k++)
		lost += l.lost[k];
	probe_env_watched(pipeline_env(a->pipeline), add_cost, &cost);
	buf_printf(out, "instance %u: %s, %u users%s, seen %" PRIu64 " = delivered %" PRIu64 ", filtered %" PRIu64
		   ", sampled %" PRIu64 ", lost %" PRIu64,
		   i, probe_name(a, i), i ? a->insts[i]->refs : a->n_conns,
		   i && a->insts[i]->attached ? " (attached)" : "", (uint64_t)l.seen, (uint64_t)l.delivered,
		   (uint64_t)l.filtered, (uint64_t)l.sampled, lost);
	if (cost.runs)	/* kernel.bpf_stats_enabled */
		buf_printf(out, "; %" PRIu64 " runs, %" PRIu64 " ns each", cost.runs, cost.ns / cost.runs);
	buf_add_char(out, '\n');
}

static void say_client(const struct agent_conn *c, struct buf *out)
{
	struct fan_stats st;

	fan_stats(c->queue, &st);
	buf_printf(out, "client pid %d uid %u: %s, %s, sent %" PRIu64 ", lost %" PRIu64 ", queue %" PRIu64
		   " bytes in %" PRIu64 " records\n", (int)c->peer.pid, (unsigned)c->peer.uid,
		   session_client(c->session), c->dying ? "cut" : c->sub.on ? "streams" : "idle", st.sent, st.lost,
		   st.queued_bytes, st.queued);
}

static int run_status(const struct call *call, struct err *err)
{
	const struct agent *a = call->c->a;

	(void)err;
	buf_printf(call->out, "agent: pid %d, sonde " SONDE_VERSION ", up %" PRIu64 " s\n", (int)getpid(),
		   (uint64_t)((clock_boot_ns() - a->start_ns) / NS_PER_S));
	buf_printf(call->out, "clients: %u of %u, %" PRIu64 " since the start, %" PRIu64 " refused, %" PRIu64
		   " cut%s%s\n", a->n_conns, a->conf.max_clients, a->totals.connections, a->totals.refused,
		   a->totals.cut, a->totals.cut ? "; last: " : "", a->totals.last_cut);
	buf_printf(call->out, "queues: %" PRIu64 " bytes of memory\n", fan_bytes(a->fan));
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++)
		say_instance(a, i, call->out);
	for (const struct agent_conn *c = a->conns; c; c = c->next)
		say_client(c, call->out);
	return 0;
}

/* ---- counters: Prometheus' text format, labels bounded by instances and clients ---- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_outcome(const struct agent *a, uint16_t i, const char *what, uint64_t n, struct buf *out)
{
	buf_printf(out, "sonde_events_total{instance=\"%u\",probe=\"%s\",outcome=\"%s\"} %" PRIu64 "\n", i,
		   probe_name(a, i), what, n);
}

static void put_outcomes(const struct agent *a, struct buf *out)
{
	head(out, "sonde_events_total", "counter", "Hits of programs by what became of them.");
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger l;

		if (!probe_name(a, i))
			continue;
		inst_ledger(a, i, &l);
		put_outcome(a, i, "delivered", l.delivered, out);
		put_outcome(a, i, "filtered", l.filtered, out);
		put_outcome(a, i, "sampled", l.sampled, out);
	}
}

static void put_losses(const struct agent *a, struct buf *out)
{
	head(out, "sonde_lost_total", "counter", "Events that the kernel side lost, by cause.");
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger l;

		if (!probe_name(a, i))
			continue;
		inst_ledger(a, i, &l);
		for (unsigned k = 0; k < SONDE_LOST__MAX; k++)
			buf_printf(out, "sonde_lost_total{instance=\"%u\",probe=\"%s\",cause=\"%s\"} %" PRIu64 "\n",
				   i, probe_name(a, i), xlat_name(&lost_cause_xlat, k), (uint64_t)l.lost[k]);
	}
}

static void put_clients(const struct agent *a, struct buf *out)
{
	head(out, "sonde_client_queue_bytes", "gauge", "What a client has not read yet.");
	for (const struct agent_conn *c = a->conns; c; c = c->next) {
		struct fan_stats st;

		fan_stats(c->queue, &st);
		buf_printf(out, "sonde_client_queue_bytes{fd=\"%d\",pid=\"%d\"} %" PRIu64 "\n", c->fd,
			   (int)c->peer.pid, st.queued_bytes);
	}
	head(out, "sonde_client_lost_total", "counter", "Records that a client was too slow for.");
	for (const struct agent_conn *c = a->conns; c; c = c->next) {
		struct fan_stats st;

		fan_stats(c->queue, &st);
		buf_printf(out, "sonde_client_lost_total{fd=\"%d\",pid=\"%d\"} %" PRIu64 "\n", c->fd,
			   (int)c->peer.pid, st.lost);
	}
}

static int run_counters(const struct call *call, struct err *err)
{
	const struct agent *a = call->c->a;

	(void)err;
	put_outcomes(a, call->out);
	put_losses(a, call->out);
	head(call->out, "sonde_clients", "gauge", "Connections at this moment.");
	buf_printf(call->out, "sonde_clients %u\n", a->n_conns);
	head(call->out, "sonde_clients_cut_total", "counter", "Clients that took nothing for too long.");
	buf_printf(call->out, "sonde_clients_cut_total %" PRIu64 "\n", a->totals.cut);
	head(call->out, "sonde_queue_memory_bytes", "gauge", "Memory of all queues.");
	buf_printf(call->out, "sonde_queue_memory_bytes %" PRIu64 "\n", fan_bytes(a->fan));
	put_clients(a, call->out);
	return 0;
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
	r = request_parse(&call->rest, &q, err);
	if (r < 0)
		return r;
	if (q.wants.len != 1)
		r = err_set(err, -EINVAL, "attach takes one probe");
	if (r >= 0)
		r = inst_get(a, &q, 0, &instance, err);
	request_fini(&q);
	if (r < 0)
		return r;
	if (a->insts[instance]->attached)
		inst_put(a, instance);	/* it was already */
	a->insts[instance]->attached = true;
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
	inst_put(a, (uint16_t)n);
	return 0;
}

static int run_capture(const struct call *call, struct err *err)
{
	(void)call;
	return err_set(err, -EOPNOTSUPP, "this agent writes no captures; a client can: sonde monitor -o pcapng:FILE");
}

static int run_dump(const struct call *call, struct err *err)
{
	(void)call;
	return err_set(err, -EOPNOTSUPP, "this agent has no flight recorder");
}

static const struct verb verbs[] = {
	{ "status", PROTO_RIGHT_READ, run_status },
	{ "counters", PROTO_RIGHT_READ, run_counters },
	{ "attach", PROTO_RIGHT_CONTROL, run_attach },
	{ "detach", PROTO_RIGHT_CONTROL, run_detach },
	{ "capture", PROTO_RIGHT_CONTROL, run_capture },
	{ "dump", PROTO_RIGHT_CONTROL, run_dump },
};

int verb_call(struct agent_conn *c, const char *verb, const struct proto_frame *f, const char *verb_at,
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
		return verbs[i].run(&call, err);
	}
	return err_set(err, -ENOSYS, "%s: this agent has no such verb", verb);
}
