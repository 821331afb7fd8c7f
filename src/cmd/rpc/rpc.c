// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde rpc: gRPC and HTTP/2 calls in Go programs, one line each or counted by method; and which calls of a program
 * can be traced (explain).
 */
#include "cmd/rpc/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/closing/closing.h"
#include "cmd/cmd.h"
#include "cmd/rpc/rpc_classes.h"
#include "cmd/rpc/rpc_program.h"
#include "cmd/rpc/rpc_sockets.h"
#include "cmd/rpc/rpc_summary.h"
#include "cmd/run/run.h"
#include "cmd/top/top.h"
#include "cmd/closing/tally.h"
#include "event/decode.h"
#include "event/event.h"
#include "probe/probe.h"
#include "probes/call/call.h"
#include "probes/gohttp2/gohttp2.h"
#include "sinks/sink.h"
#include "view/view.h"

#define TOP_ROWS 40
#define EXPLAIN_NS (10ull * NS_PER_S) /* unless --duration is given */

struct rpc_conf {
	struct run_conf run;
	struct gohttp2_conf gohttp2;
	struct call_conf call;
	struct rpc_explain explain;
	struct opt_strv show;
	bool summary, top, raw_path;
	uint64_t interval_ns;
};

static const struct opt rpc_opts[] = {
	OPT_ROW(rpc_conf, summary, "summary", 'c', OPT_BOOL, NULL, "a table by method at the end"),
	OPT_ROW(rpc_conf, top, "top", 0, OPT_BOOL, NULL, "methods by calls, live (see sonde top)"),
	OPT_ROW(rpc_conf, interval_ns, "interval", 0, OPT_DURATION, "TIME", "interval of --top (default 1s)"),
	OPT_ROW(rpc_conf, show, "show", 0, OPT_STRV, "LIST", "query, literals, raw-path, both-sides, inferred, queue",
		.more = "query: values of query strings; literals: statements as they were sent; both may be "
			"secrets; raw-path: -c and --top count calls by whole paths, ids in them included; "
			"both-sides: -o otlp has spans of databases also from the server's side; inferred: the "
			"only incoming call of the process that contains an outgoing one is its parent "
			"(rpc.link=inferred), which need not be so; queue: how long a message waited in its socket "
			"to be read (rpc.queue); separated by commas, may repeat"),
	OPT_END,
};

static size_t rpc_sets(void *conf, struct opt_set *ret_sets)
{
	struct rpc_conf *c = conf;

	c->gohttp2 = gohttp2_conf_default;
	c->call = call_conf_default;
	c->interval_ns = NS_PER_S;
	ret_sets[0] = (struct opt_set){ .title = "Calls", .opts = gohttp2_opts, .conf = &c->gohttp2 };
	ret_sets[1] = (struct opt_set){ .opts = call_opts, .conf = &c->call };
	ret_sets[2] = (struct opt_set){ .opts = rpc_opts, .conf = c };
	return 3 + run_sets(&c->run, RUN_LINES | RUN_NO_BYTES, ret_sets + 3);
}

/* ---- --show ---- */

enum show { SHOW_QUERY, SHOW_LITERALS, SHOW_RAW_PATH, SHOW_BOTH_SIDES, SHOW_INFERRED, SHOW_QUEUE, SHOW__MAX };

static const char *const show_names[] = {
	[SHOW_QUERY] = "query",
	[SHOW_LITERALS] = "literals",
	[SHOW_RAW_PATH] = "raw-path",
	[SHOW_BOTH_SIDES] = "both-sides",
	[SHOW_INFERRED] = "inferred",
	[SHOW_QUEUE] = "queue",
};
_Static_assert(ARRAY_SIZE(show_names) == SHOW__MAX, "a name per word");

static void take_show(struct rpc_conf *c, enum show what)
{
	switch (what) {
	case SHOW_QUERY: c->run.reveal |= DECODE_REVEAL_QUERIES; break;
	case SHOW_LITERALS: c->run.reveal |= DECODE_REVEAL_LITERALS; break;
	case SHOW_RAW_PATH: c->raw_path = true; break;
	case SHOW_BOTH_SIDES: c->run.both_sides = true; break;
	case SHOW_INFERRED: c->run.reveal |= DECODE_REVEAL_INFERRED; break;
	case SHOW_QUEUE: c->call.queue = true; break;
	case SHOW__MAX: break;
	}
}

static int unknown_show(const char *word, size_t len, struct err *err)
{
	char typed[32];
	struct str_near near = { .word = typed };

	snprintf(typed, sizeof(typed), "%.*s", (int)MIN(len, sizeof(typed) - 1), word);
	for (size_t i = 0; i < ARRAY_SIZE(show_names); i++)
		str_near_offer(&near, show_names[i]);
	if (near.best)
		return err_set(err, -EINVAL, "--show %s: did you mean %s?", typed, near.best);
	return err_set(err, -EINVAL, "--show %s: expected query, literals, raw-path, both-sides, inferred or "
		       "queue", typed);
}

static int take_shows(struct rpc_conf *c, struct err *err)
{
	for (size_t i = 0; i < c->show.len; i++) {
		const char *list = c->show.items[i], *word;
		size_t len;

		while ((word = str_next_word(&list, &len))) {
			size_t k = 0;

			while (k < SHOW__MAX && (strlen(show_names[k]) != len || memcmp(show_names[k], word, len)))
				k++;
			if (k == SHOW__MAX)
				return unknown_show(word, len, err);
			take_show(c, k);
		}
	}
	return 0;
}

/* ---- the table ---- */

static int show(const struct rpc_conf *c, const struct rpc_summary *s)
{
	_cleanup_(buf_fini) struct buf out = { 0 };

	if (rpc_summary_print(s, c->run.json, &out) < 0)
		return -ENOMEM;
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return -errno;
	return 0;
}

/* ---- the run ---- */

static int run_summary(struct rpc_conf *c, struct run_ops *spec)
{
	struct rpc_summary *summary = NULL;
	struct run_conf quiet = c->run;
	int status;

	if (rpc_summary_new(c->raw_path, &summary) < 0)
		return cmd_error(CMD_FAIL, "out of memory");
	quiet.json = false;	/* of the table, not of events */
	spec->output = "";
	spec->watcher = &rpc_summary_sink;
	spec->watcher_ctx = summary;
	status = run(&quiet, spec);
	if (show(c, summary) < 0 && status == CMD_OK)
		status = CMD_FAIL;
	rpc_summary_free(summary);
	return status;
}

static int run_top(struct rpc_conf *c, struct run_ops *spec)
{
	static const char *const types[] = { "rpc.call", NULL };
	struct view view = *view_find("calls");
	const struct top_opts opts = {
		.types = types,
		.view = &view,
		.run = &c->run,
		.command = "sonde rpc",
		.words = c->run.where,
		.interval_ns = c->run.read ? 0 : c->interval_ns,
		.rows = c->run.json ? 0 : TOP_ROWS,
	};

	for (size_t i = 0; c->raw_path && i < view_n_keys(&view); i++)
		if (!strcmp(view.keys[i].field, "rpc.name"))
			view.keys[i].field = "rpc.raw_name";
	return top_show(&opts, spec);
}

struct call_counts {
	uint64_t calls, failed;
};

static void count_call(void *ctx, const struct event *ev)
{
	struct call_counts *n = ctx;
	const struct field *error;
	uint64_t failed = 0;

	if (strcmp(ev->desc->name, "rpc.call") != 0)
		return;
	error = event_field_named(ev->desc->fields, ev->desc->n_fields, "rpc.error");
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

/* Spans have parents. */
static bool has_spans(const struct run_conf *c)
{
	for (size_t i = 0; i < c->outputs.len; i++) {
		const char *o = c->outputs.items[i], *suffix = strrchr(o, '.');

		if (!strncmp(o, "otlp", strlen("otlp")) || (suffix && !strcmp(suffix, ".otlp")))
			return true;
	}
	return false;
}

/* ---- sources ---- */

/* Recordings hold the bytes of sockets as they were sent, passwords included. */
static int check_recording(const struct rpc_conf *c, unsigned sources, struct err *err)
{
	if (!(sources & CALL_FROM_SOCKETS) || c->gohttp2.payload_bytes || c->run.read)
		return 0;
	for (size_t i = 0; i < c->run.outputs.len; i++) {
		const char *path;
		const struct sink_ops *ops = sink_of_output(c->run.outputs.items[i], NULL, &path);

		if (ops && ops->flags & SINK_RAW)
			return err_set(err, -EINVAL, "-o %s: a recording holds what sockets carried, passwords "
				       "included; add --payload SIZE to allow that, or --source go",
				       c->run.outputs.items[i]);
	}
	return 0;
}

static int check_queue(const struct rpc_conf *c, unsigned sources, struct err *err)
{
	if (!c->call.queue || sources & CALL_FROM_SOCKETS || c->run.read)
		return 0;
	return err_set(err, -EINVAL, "--show queue: messages wait in sockets; add --source socket or a protocol");
}

static void add_probes(struct rpc_conf *c, unsigned sources, struct run_ops *spec, struct pipeline_probe *probes)
{
	const struct pipeline_probe go = { .ops = probe_find("gohttp2"), .conf = &c->gohttp2 };
	const struct pipeline_probe socket = { .ops = probe_find("call"), .conf = &c->call };

	if (sources & CALL_FROM_GO)
		probes[spec->n_probes++] = go;
	if (sources & CALL_FROM_SOCKETS)
		probes[spec->n_probes++] = socket;
	c->gohttp2.optional = sources & CALL_FROM_SOCKETS;
	c->call.optional = c->call.leave_go = sources & CALL_FROM_GO;
}

static int run_live(struct rpc_conf *c, const struct cmd_words *w)
{
	_cleanup_free_ char *words = run_join_words(&w->words);
	struct pipeline_probe probes[2];
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	struct call_choice choice;
	const unsigned sources = call_conf_sources(&c->call);
	static const char *const types[] = { "rpc", NULL };
	struct run_ops spec = {
		.unit = "call",
		.counts_hits = true,
		.reads = types,
		.probes = probes,
		.cmdline = w->line,
		.ready = w->command.len ? NULL : "sonde: ready, watching; ^C stops",
		.command = &w->command,
		.filter_text = words,
	};

	c->gohttp2.serving |= c->gohttp2.logs || has_spans(&c->run);
	c->gohttp2.command = c->call.command = w->command.len ? w->command.items[0] : NULL;
	c->call.prefetch = c->gohttp2.prefetch;
	if (run_settle(&c->run, words, "rec", &texts, &err) < 0)
		return cmd_fail(err.code, &err);
	if (call_conf_choose(&c->call, &choice, &err) < 0 || take_shows(c, &err) < 0 ||
	    check_recording(c, sources, &err) < 0 || check_queue(c, sources, &err) < 0)
		return cmd_error(CMD_USAGE, "%s", err.msg);
	add_probes(c, sources, &spec, probes);
	if (c->run.explain_filter) {
		puts("--pid, --cgroup, proc.name and proc.pid are evaluated in the kernel, other fields in user "
		     "space.");
		return CMD_OK;
	}
	if (c->top)
		return run_top(c, &spec);
	return c->summary ? run_summary(c, &spec) : run_lines(c, &spec);
}

/* ---- explain ---- */

struct explaining {
	struct rpc_classes *classes;
	struct rpc_sockets before, after;
	struct rpc_program program;
	uint32_t pid;
	bool live;
};

/* Without the list of its sockets only those with records are shown. */
static int explain_started(void *ctx, _unused_ struct loop *loop, struct pipeline *p, _unused_ struct err *err)
{
	struct explaining *x = ctx;

	x->program.tls_hidden = pipeline_hook_failed(p, CALL_HOOK_TLS);
	if (x->live)
		rpc_sockets_read(x->pid, &x->before);
	return 0;
}

static void explain_stopped(void *ctx)
{
	struct explaining *x = ctx;

	if (x->live && rpc_sockets_read(x->pid, &x->after) >= 0)
		rpc_classes_add_host(x->classes, &x->before, &x->after, &x->program);
}

static int show_classes(const struct rpc_conf *c, const struct explaining *x)
{
	_cleanup_(buf_fini) struct buf out = { 0 };

	if (rpc_classes_print(x->classes, c->run.json, &out) < 0)
		return -ENOMEM;
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return -errno;
	return 0;
}

/* Watches the connections of a process for a while. */
static int explain_connections(struct rpc_conf *c, const struct cmd_words *w, struct explaining *x)
{
	static const char *const types[] = { "rpc", NULL };
	struct run_conf quiet = c->run;
	struct pipeline_probe probes[2];
	struct run_ops spec = {
		.reads = types,
		.probes = probes,
		.cmdline = w->line,
		.output = "",
		.why_local = "explain",
		.watcher = &rpc_classes_sink,
		.watcher_ctx = x->classes,
		.started = explain_started,
		.stopped = explain_stopped,
		.started_ctx = x,
		.ready = "sonde: ready, watching the connections; ^C stops sooner",
	};
	int status;

	quiet.pids = (struct opt_u32v){ .items = &x->pid, .len = 1 };
	quiet.duration_ns = c->run.duration_ns ? c->run.duration_ns : EXPLAIN_NS;
	quiet.json = false; /* of the table, not of events */
	quiet.outputs = (struct opt_strv){ 0 };
	add_probes(c, c->call.sources.len ? call_conf_sources(&c->call) : CALL_FROM_GO | CALL_FROM_SOCKETS, &spec,
		   probes);
	status = run(&quiet, &spec);
	if (status != CMD_OK && status < CMD_BY_SIGNAL)
		return status;
	return show_classes(c, x) < 0 ? CMD_FAIL : status;
}

static int explain_process(struct rpc_conf *c, const struct cmd_words *w, uint32_t pid)
{
	struct explaining x = { .pid = pid, .live = !c->run.read };
	int status;

	if (rpc_classes_new(pid, &x.classes) < 0)
		return cmd_error(CMD_FAIL, "out of memory");
	if (x.live)
		rpc_program_look(pid, &x.program);
	status = explain_connections(c, w, &x);
	rpc_sockets_fini(&x.before);
	rpc_sockets_fini(&x.after);
	rpc_classes_free(x.classes);
	return status;
}

static int run_explain(struct rpc_conf *c, const struct cmd_words *w)
{
	const char *what = w->words.len == 2 ? w->words.items[1] : NULL;
	struct call_choice choice;
	struct err err = { 0 };
	uint32_t pid;
	bool sockets;
	int status;

	if (!what)
		return cmd_error(CMD_USAGE, "rpc explain takes one process or file: sonde rpc explain PID|FILE");
	if (call_conf_choose(&c->call, &choice, &err) < 0)
		return cmd_error(CMD_USAGE, "%s", err.msg);
	sockets = str_to_u32(what, 10, &pid) == 0 &&
		  (!c->call.sources.len || call_conf_sources(&c->call) & CALL_FROM_SOCKETS);
	c->explain = (struct rpc_explain){ .json = c->run.json, .layout = c->run.verbose, .any = sockets };
	status = c->run.read && sockets ? CMD_OK : rpc_explain(&c->explain, what);
	return status == CMD_OK && sockets ? explain_process(c, w, pid) : status;
}

static int rpc_run(void *conf, const struct cmd_words *w)
{
	struct rpc_conf *c = conf;

	if (w->words.len && !strcmp(w->words.items[0], "explain"))
		return run_explain(c, w);
	return run_live(c, w);
}

static const struct cmd_example rpc_examples[] = {
	{ "sonde rpc", "every call of this host, when it ends" },
	{ "sonde rpc --source postgresql rpc.latency>100ms", "slow statements, without their literals" },
	{ "sonde rpc 'rpc.method contains Pay and rpc.error and rpc.latency>100ms'", "slow failures" },
	{ "sonde rpc --top", "calls, errors and latencies by method, every second" },
	{ "sonde rpc -c --json --duration 10s", "the same once, for programs" },
	{ "sonde rpc --probes data --header x-request-id", "with bytes sent and received, and one more header" },
	{ "sonde rpc --payload 64 rpc.payload contains error", "and the first bytes of DATA frames with that word" },
	{ "sonde rpc --logs rpc.error", "failed calls, each with the log lines that it wrote" },
	{ "sonde rpc -o otlp:http://127.0.0.1:4318", "as traces to an OpenTelemetry collector" },
	{ "sonde rpc 'evt.type in (rpc.open, rpc.progress, rpc.call)'", "long streams from their beginning" },
	{ "sonde rpc -c --source http --show raw-path", "by whole paths, ids in them included" },
	{ "sonde rpc explain 1234", "what can be watched of process 1234, and why not the rest" },
	{ "sonde rpc explain -v ./server", "each member and argument, and the source of its number" },
	{ 0 },
};

const struct cmd cmd_rpc = {
	.name = "rpc",
	.summary = "HTTP, SQL, Redis, Kafka... calls at sockets; gRPC of Go programs",
	.args = "[EXPR | explain PID|FILE] [-- COMMAND]",
	.doc = "Shows each call that a program of this host makes or serves, when it ends: method, status, "
	       "latency, peer. Programs need no debug information, are neither changed nor restarted, and "
	       "connections may be older than the run.\n\n"
	       "There are two sources. With --source socket or a protocol the bytes at sockets of programs in "
	       "any language are read in the kernel (before Linux 6.3 at the ends of all system calls): HTTP, "
	       "FastCGI, PostgreSQL, MySQL, Cassandra, MongoDB, Redis, memcached, Kafka, AMQP, NATS and DNS; over "
	       "TLS where the program uses OpenSSL or GnuTLS, as a shared library or, not stripped, inside of it, or "
	       "Go's crypto/tls; --tls-at says where the functions of a stripped program are. A call is shown only "
	       "when request and response of one protocol were parsed on the connection. "
	       "gRPC and HTTP/2 are seen inside Go programs, with and without TLS. Query strings show their keys, "
	       "statements their text without literals, unless --show query or --show literals asks for them; "
	       "messages of authentication are never shown.\n\n"
	       "-c and --top count calls by their name, in which numbers, UUIDs and other ids are _: GET /users/_, "
	       "redis GET _ (keys are hashed). --show raw-path counts by whole paths.\n\n"
	       "explain PID watches the connections of a process for ten seconds (--duration), and shows by protocol "
	       "and source how many there are, their calls, the bytes that became calls and those that did not, and "
	       "why: the connection was opened before the start, the TLS library is linked statically and stripped, "
	       "io_uring hides the bytes, no protocol was found. Of a Go program, PID or FILE, it reads the file, "
	       "stripped or not, and says its release and build mode, and for each "
	       "function that a probe wants whether it can be watched: where the probe goes, where the arguments "
	       "are, and what is missing where it cannot. Members of structs come from the runtime's type "
	       "descriptors, arguments from Go's rules of passing them; DWARF, where the file has it, must agree "
	       "with both.",
	.examples = rpc_examples,
	.conf_size = sizeof(struct rpc_conf),
	.sets = rpc_sets,
	.run = rpc_run,
};
