// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde rpc: calls of gRPC and HTTP/2 in Go programs, one line each or counted by method; and what can be seen of a
 * program (explain).
 */
#include "cmd/rpc/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/units.h"
#include "cmd/closing/closing.h"
#include "cmd/cmd.h"
#include "cmd/painter.h"
#include "cmd/rpc/rpc_summary.h"
#include "cmd/run.h"
#include "cmd/closing/tally.h"
#include "event/event.h"
#include "probe/probe.h"
#include "probes/gohttp2/gohttp2.h"

#define TOP_ROWS 40

struct rpc_conf {
	struct run_conf run;
	struct gohttp2_conf gohttp2;
	struct rpc_explain explain;
	bool summary, top;
	uint64_t interval_ns;
};

/* Context of the timer of --top. */
struct rpc_top {
	const struct rpc_conf *conf;
	struct rpc_summary *summary;
	struct painter *painter;	/* of its intervals on a terminal; NULL = none */
};

static const struct opt rpc_opts[] = {
	OPT_ROW(rpc_conf, summary, "summary", 'c', OPT_BOOL, NULL,
		"a table by method at the end: calls, errors, latencies"),
	OPT_ROW(rpc_conf, top, "top", 0, OPT_BOOL, NULL, "the table again and again, with rates"),
	OPT_ROW(rpc_conf, interval_ns, "interval", 0, OPT_DURATION, "TIME", "how often --top shows it (default 1s)"),
	OPT_ROW(rpc_conf, explain.layout, "layout", 0, OPT_BOOL, NULL, "with explain: each member, type and argument",
		.more = "with the source that it is known from"),
	OPT_END,
};

static size_t rpc_sets(void *conf, struct opt_set *ret_sets)
{
	struct rpc_conf *c = conf;

	c->gohttp2 = gohttp2_conf_default;
	c->interval_ns = NS_PER_S;
	ret_sets[0] = (struct opt_set){ .title = "Calls", .opts = gohttp2_opts, .conf = &c->gohttp2 };
	ret_sets[1] = (struct opt_set){ .opts = rpc_opts, .conf = c };
	return 2 + run_sets(&c->run, RUN_LINES, ret_sets + 2);
}

/* ---- the table ---- */

/* @painter NULL: printed, whatever it takes. */
static int show(const struct rpc_conf *c, const struct rpc_summary *s, unsigned max, struct painter *painter)
{
	_cleanup_(buf_fini) struct buf out = { 0 };

	if (painter)
		buf_add_str(&out, "\033[H\033[2J");
	if (rpc_summary_print(s, c->run.json, max, &out) < 0)
		return -ENOMEM;
	if (painter) {
		painter_put(painter, &out);
		return 0;
	}
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return -errno;
	return 0;
}

static int on_interval(void *ctx, uint64_t now_ns)
{
	const struct rpc_top *t = ctx;

	rpc_summary_interval(t->summary, now_ns);
	return show(t->conf, t->summary, TOP_ROWS, t->painter);
}

static int start_top(void *ctx, struct loop *loop, _unused_ struct pipeline *p, struct err *err)
{
	struct rpc_top *t = ctx;
	int r = 0;

	rpc_summary_interval(t->summary, clock_boot_ns());
	if (!t->conf->run.json && isatty(STDOUT_FILENO))
		r = painter_new(NULL, NULL, &t->painter);
	if (r >= 0)
		r = loop_add_timer(loop, t->conf->interval_ns, t->conf->interval_ns, on_interval, ctx, NULL);
	return r < 0 ? err_errno(err, r, "cannot show the table again and again") : 0;
}

static void stop_top(void *ctx)
{
	struct rpc_top *t = ctx;

	painter_free(TAKE_PTR(t->painter));
}

/* ---- the run ---- */

static int run_summary(struct rpc_conf *c, struct run_ops *spec)
{
	struct rpc_top top = { .conf = c };
	struct run_conf quiet = c->run;
	int status;

	if (rpc_summary_new(&top.summary) < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	quiet.json = false;	/* of the table, not of events */
	spec->output = "";
	spec->watcher = &rpc_summary_sink;
	spec->watcher_ctx = top.summary;
	if (c->top) {
		spec->started = start_top;
		spec->stopped = stop_top;
		spec->started_ctx = &top;
	}
	status = run(&quiet, spec);
	if (c->top)
		rpc_summary_interval(top.summary, clock_boot_ns());
	if (show(c, top.summary, 0, NULL) < 0 && status == CMD_OK)
		status = CMD_FAIL;
	rpc_summary_free(top.summary);
	return status;
}

struct call_counts {
	uint64_t calls, failed;
};

static void count_call(void *ctx, const struct event *ev)
{
	struct call_counts *n = ctx;
	const struct field *error;
	uint64_t failed = 0;
	const char *arg;
	size_t len;

	if (strcmp(ev->desc->name, "rpc.call") != 0)
		return;
	error = event_field_find(ev->desc->fields, ev->desc->n_fields, "rpc.error", &arg, &len);
	n->calls++;
	n->failed += error && event_get_number(ev, error, &failed) == 0 && failed;
}

static void add_calls(void *ctx, struct buf *line)
{
	const struct call_counts *n = ctx;

	closing_add_count(line, n->calls, "call");
	buf_add_str(line, ", ");
	closing_add_number(line, n->failed);
	buf_add_str(line, " failed");
}

static int run_lines(struct rpc_conf *c, struct run_ops *spec)
{
	_cleanup_(buf_fini) struct buf nothing = { 0 };
	struct call_counts counts = { 0 };
	struct tally tally = {
		.conf = &c->run, .event = count_call, .closing = add_calls, .ctx = &counts, .nothing = &nothing,
	};
	int status;

	buf_add_str(&nothing, "no calls yet; sonde rpc explain PID shows what can be watched of a process");
	spec->watcher = &tally_sink;
	spec->watcher_ctx = spec->started_ctx = &tally;
	spec->started = tally_started;
	status = run(&c->run, spec);
	tally_report(&tally, status);
	return status;
}

static int run_live(struct rpc_conf *c, const struct cmd_words *w)
{
	_cleanup_free_ char *words = run_join_words(&w->words);
	const struct pipeline_probe probes[] = { { .ops = probe_find("gohttp2"), .conf = &c->gohttp2 } };
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	struct run_ops spec = {
		.unit = "call",
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.cmdline = w->line,
		.ready = w->command.len ? NULL : "sonde: ready, watching; ^C stops",
		.command = &w->command,
		.filter_text = words,
	};

	c->gohttp2.command = w->command.len ? w->command.items[0] : NULL;
	if (run_settle(&c->run, words, "rec", &texts, &err) < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	if (c->run.explain_filter) {
		puts("--pid, --cgroup, proc.name and proc.pid are evaluated in the kernel, other fields in user "
		     "space.");
		return CMD_OK;
	}
	return c->summary || c->top ? run_summary(c, &spec) : run_lines(c, &spec);
}

static int rpc_run(void *conf, const struct cmd_words *w)
{
	struct rpc_conf *c = conf;

	if (!w->words.len || strcmp(w->words.items[0], "explain"))
		return run_live(c, w);
	if (w->words.len != 2) {
		log_error("sonde rpc explain takes one process or file: sonde rpc explain PID|FILE");
		return CMD_USAGE;
	}
	c->explain.json = c->run.json;
	return rpc_explain(&c->explain, w->words.items[1]);
}

static const struct cmd_example rpc_examples[] = {
	{ "sonde rpc", "every gRPC and HTTP/2 call of the Go programs of this host, when it ends" },
	{ "sonde rpc 'rpc.method contains Pay and rpc.error and rpc.latency>100ms'", "slow failures" },
	{ "sonde rpc --top", "calls, errors and latencies by method, every second" },
	{ "sonde rpc -c --json --duration 10s", "the same once, for programs" },
	{ "sonde rpc --probes data --header x-request-id", "with bytes sent and received, and one more header" },
	{ "sonde rpc --payload 64 rpc.payload contains error", "and the first bytes of DATA frames with that word" },
	{ "sonde rpc -o otlp:http://127.0.0.1:4318", "as traces to an OpenTelemetry collector" },
	{ "sonde rpc 'evt.type in (rpc.open, rpc.progress, rpc.call)'", "long streams from their beginning" },
	{ "sonde rpc explain 1234", "what can be watched in process 1234, and why not the rest" },
	{ "sonde rpc explain --layout ./server", "the source of every number, for a file" },
	{ 0 },
};

const struct cmd cmd_rpc = {
	.name = "rpc",
	.summary = "gRPC and HTTP/2 calls of Go programs",
	.args = "[EXPR | explain PID|FILE] [-- COMMAND]",
	.doc = "Shows each call that a Go program of this host makes or serves, when it ends: method, status, "
	       "latency, peer. Programs need no debug information, are neither changed nor restarted, and "
	       "connections may be older than the run.\n\n"
	       "explain reads a Go program, stripped or not, and says its release and build mode, and for each "
	       "function that a probe wants whether it can be watched: where the probe goes, where the arguments "
	       "are, and what is missing where it cannot. Members of structs come from the runtime's type "
	       "descriptors, arguments from Go's rules of passing them; DWARF, where the file has it, must agree "
	       "with both.",
	.examples = rpc_examples,
	.conf_size = sizeof(struct rpc_conf),
	.sets = rpc_sets,
	.run = rpc_run,
};
