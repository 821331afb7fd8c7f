// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All probes into one fold. The words choose calls, not events: the fold needs all events of a call.
 */
#include "cmd/trace/trace_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "event/event.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "sinks/sink.h"
#include "trace/trace.h"

#define MIN_WAIT_NS 10000 /* live: shorter waits are not recorded */
#define SOURCES 2	  /* probes of calls */

static const struct opt fold_opts[] = {
	OPT_ROW(trace_run, window_bytes, "window", 0, OPT_BYTES, "SIZE",
		"memory for the latest events (default 64M)"),
	OPT_ROW(trace_run, min_wait_ns, "min-block-time", 0, OPT_DURATION, "TIME",
		"live: shortest wait of a thread that is recorded (default 10us)"),
	OPT_END,
};

size_t trace_run_sets(struct trace_run *t, struct opt_set *ret_sets)
{
	t->net = net_conf_default;
	t->cpu = cpu_conf_default;
	t->sys = sys_conf_default;
	t->gohttp2 = gohttp2_conf_default;
	t->call = call_conf_default;
	t->window_bytes = TRACE_BUDGET_BYTES;
	t->min_wait_ns = MIN_WAIT_NS;
	ret_sets[0] = (struct opt_set){ .opts = fold_opts, .conf = t };
	ret_sets[1] = (struct opt_set){ .title = "Calls", .opts = call_opts, .conf = &t->call };
	return 2 + run_sets(&t->run, 0, ret_sets + 2);
}

static bool want(void *ctx, const struct event *ev, const struct trace_fact *call)
{
	struct trace_run *t = ctx;

	t->calls++;
	return trace_select_match(&t->select, ev, call);
}

static int take(void *ctx, const struct trace_call *c)
{
	struct trace_run *t = ctx;

	return t->take(t->ctx, c);
}

static int on_event(struct sink *s, const struct event *ev)
{
	struct trace_run *t = s->opts->ctx;

	t->clock_offset_ns = ev->clock_offset_ns ? ev->clock_offset_ns : t->clock_offset_ns;
	return trace_add(t->trace, ev);
}

static const struct sink_ops fold = { .name = "trace", .summary = "calls put together", .flags = SINK_AT_CLOSE,
				      .event = on_event };

static int setup(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct trace_run *t = ctx;

	t->loop = loop;
	return trace_select_compile(&t->select, pipeline_registry(p), err);
}

static void stopped(void *ctx)
{
	struct trace_run *t = ctx;

	t->loop = NULL;
}

void trace_run_stop(struct trace_run *t)
{
	if (t->loop)
		loop_stop(t->loop, 0);
}

const char *trace_run_advice(const struct trace_run *t)
{
	if (!t->run.read && !(call_conf_sources(&t->call) & CALL_FROM_SOCKETS))
		return "--source go,socket watches programs in any language, not Go programs alone";
	return "sonde rpc explain PID shows what can be watched of a process";
}

/* Recordings hold the bytes of sockets as they were sent. */
static void warn_of_content(const struct trace_run *t)
{
	for (size_t i = 0; i < t->run.outputs.len; i++) {
		const char *path;
		const struct sink_ops *ops = sink_of_output(t->run.outputs.items[i], NULL, &path);

		if (ops && ops->flags & SINK_RAW)
			log_warn("-o %s: records the first bytes of what sockets carry, passwords included",
				 t->run.outputs.items[i]);
	}
}

/* The probes of calls, by --source; both run as one does: what it cannot see the other may. Returns their number. */
static size_t add_sources(struct trace_run *t, struct pipeline_probe *ret)
{
	const unsigned sources = call_conf_sources(&t->call);
	size_t n = 0;

	if (sources & CALL_FROM_GO)
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("gohttp2"), .conf = &t->gohttp2 };
	if (sources & CALL_FROM_SOCKETS)
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("call"), .conf = &t->call };
	t->gohttp2.optional = sources & CALL_FROM_SOCKETS;
	t->call.optional = t->call.leave_go = sources & CALL_FROM_GO;
	if (sources & CALL_FROM_SOCKETS && !t->run.read)
		warn_of_content(t);
	return n;
}

static void configure(struct trace_run *t, const struct cmd_words *w)
{
	t->net.netns = &t->run.netns;
	t->net.verbose = t->run.verbose;
	t->cpu.wall = true;
	t->cpu.min_block_ns = t->min_wait_ns;
	t->gohttp2.serving = true;
	t->gohttp2.command = w->command.len ? w->command.items[0] : NULL;
}

static int run_all(struct trace_run *t, const struct cmd_words *w, struct run_conf *conf)
{
	struct pipeline_probe probes[3 + SOURCES] = {
		{ .ops = probe_find("net"), .conf = &t->net },
		{ .ops = probe_find("cpu"), .conf = &t->cpu },
		{ .ops = probe_find("sys"), .conf = &t->sys },
	};
	const struct run_ops spec = {
		.own_netns = true,
		.probes = probes,
		.n_probes = 3 + add_sources(t, probes + 3),
		.cmdline = w->line,
		.ready = w->command.len ? NULL : "sonde: ready, watching; ^C stops",
		.command = &w->command,
		.output = "",
		.watcher = &fold,
		.watcher_ctx = t,
		.setup = setup,
		.stopped = stopped,
		.started_ctx = t,
		.why_local = "sonde trace",
	};
	int status = run(conf, &spec);
	int r = status == CMD_OK || status >= CMD_BY_SIGNAL ? trace_end(t->trace) : 0;

	if (r < 0)
		return cmd_error(CMD_FAIL, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
	return status;
}

int trace_run(struct trace_run *t, const struct cmd_words *w)
{
	const struct trace_opts opts = { .budget_bytes = t->window_bytes, .want = want, .take = take, .ctx = t };
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct run_conf conf;
	struct call_choice choice;
	struct err err = { 0 };
	int status, r = trace_select_parse(&t->select, &w->words, &err);

	if (r >= 0)
		r = call_conf_choose(&t->call, &choice, &err);
	if (r >= 0)
		r = run_settle(&t->run, NULL, "rec", &texts, &err);
	t->trace = r < 0 ? NULL : trace_new(&opts);
	if (r >= 0 && !t->trace)
		r = err_errno(&err, -ENOMEM, "cannot follow calls");
	if (r < 0) {
		log_error("%s", err.msg);
		trace_select_fini(&t->select);
		return cmd_exit_status(r);
	}
	if (t->run.explain_filter) {
		puts("--pid and --cgroup are evaluated in the kernel, the choice of calls in user space.");
		trace_free(TAKE_PTR(t->trace));
		trace_select_fini(&t->select);
		return CMD_OK;
	}
	configure(t, w);
	conf = t->run;
	conf.json = false; /* of calls, not of events */
	conf.count = 0;
	status = run_all(t, w, &conf);
	t->evicted = trace_evicted(t->trace);
	trace_free(TAKE_PTR(t->trace));
	trace_select_fini(&t->select);
	return status;
}
