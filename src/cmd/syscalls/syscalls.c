// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde syscalls: system calls with their arguments, of the host, of selected processes or of one command.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/closing/closing.h"
#include "cmd/closing/sys_closing.h"
#include "cmd/closing/tally.h"
#include "cmd/cmd.h"
#include "cmd/syscalls/syscalls.h"
#include "cmd/syscalls/syscalls_filter.h"
#include "cmd/syscalls/view_table.h"
#include "cmd/syscalls/sysdig_views.h"
#include "cmd/top/top.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probe/probe.h"
#include "probes/sys/sys_table.h"
#include "scap/render.h"
#include "view/view.h"

#define VIEW_ROWS 30
#define STRACE_STRING 32	/* bytes of a string in strace's lines, unless -s overrides it */
#define STRACE_SNAPLEN 1024	/* bytes of data for strace's lines: each entry of a vector is a string */
#define SNAPLEN_ASKED 80	/* bytes of data if text was requested without a number: sysdig's default */

#define ROW(member, ...) OPT_ROW(syscalls_conf, member, __VA_ARGS__)

/* "NAME[:ROWS],...": ROWS applies to every table. */
static int on_view(void *conf, const char *arg, struct err *err)
{
	struct syscalls_conf *c = conf;

	buf_reset(&c->view);
	for (size_t len; *arg; arg += len + (arg[len] == ',')) {
		size_t name;

		len = strcspn(arg, ",");
		name = MIN(strcspn(arg, ":"), len);
		buf_printf(&c->view, "%s%.*s", c->view.len ? "," : "", (int)name, arg);
		if (name < len && sscanf(arg + name + 1, "%" SCNu32, &c->view_rows) != 1)
			return err_set(err, -EINVAL, "--view %.*s: expected a number of rows as in slow:10", (int)len,
				       arg);
	}
	return buf_error(&c->view);
}

static const struct opt syscalls_opts[] = {
	ROW(sys.snaplen, "snaplen", 's', OPT_BYTES, "SIZE", "bytes of data of each call (default 0)",
	    .more = "with --format strace of each string, default 32"),
	ROW(sys.enter, "enter", 0, OPT_BOOL, NULL, "also an event when a call is entered"),
	ROW(sys.summary, "summary", 'c', OPT_BOOL, NULL, "count calls, errors and latencies in the kernel"),
	ROW(sys.times, "times", 0, OPT_ENUM, "WHICH", "calls that -c times", .names = sys_times_names,
	    .more = "sampled is one in four and all slow ones, the default; all costs more"),
	ROW(sys.by, "by", 0, OPT_ENUM, "KEY", "a table of -c for each", .names = sys_by_names,
	    .more = "call is one table of all callers; the others time all calls"),
	ROW(sys.no_times, "no-timing", 0, OPT_BOOL, NULL, "do not measure latencies; cheaper"),
	ROW(sys.max_cpu, "max-cpu", 0, OPT_STR, "PERCENT", "see fewer calls above PERCENT of a CPU"),
	ROW(sys.events, "events", 0, OPT_STRV, "NAME,...", "also switch, signal, fault, uring, exit",
	    .more = "uring: requests through io_uring; exit: of threads"),
	OPT_CALL_ROW(on_view, "view", 0, "NAME[:ROWS],...", "tables in place of lines (names: --help all)",
		     .more = "procs-cpu, procs-net, procs-file, files-bytes, files-time, conns, ports, calls, "
			     "calls-time, errors, slow, containers, events; or spectrogram, a line of latencies "
			     "per second; ROWS: of each table (30)"),
	ROW(top, "top", 0, OPT_BOOL, NULL, "processes by calls, live, full screen (see sonde top)"),
	ROW(pushdown, "pushdown", 0, OPT_BOOL, NULL, "filter in the kernel (--no-pushdown: not)"),
	OPT_END,
};

size_t syscalls_sets(void *conf, struct opt_set *ret_sets)
{
	struct syscalls_conf *c = conf;

	c->sys = sys_conf_default;
	c->pushdown = true;
	ret_sets[0] = (struct opt_set){ .title = "System calls", .opts = syscalls_opts, .conf = c };
	return 1 + run_sets(&c->run, RUN_LINES, ret_sets + 1);
}

static bool writes_capture(const struct run_conf *c)
{
	return vec_find(it, &c->outputs, strstr(*it, "scap"));
}

/* Whether a field needs the written bytes. */
static bool uses_bytes(const struct syscalls_conf *c, const struct filter *filter)
{
	return filter_uses(filter, "syslog") || filter_uses(filter, "evt.buffer") ||
	       (c->run.format && (strstr(c->run.format, "%syslog.") || strstr(c->run.format, "%evt.buffer")));
}

static bool has_fields(const struct syscalls_conf *c)
{
	return c->run.format && strchr(c->run.format, '%');
}

static bool strace_lines(const struct syscalls_conf *c)
{
	return c->run.format && !strcmp(c->run.format, "strace");
}

/*
 * Captures and sysdig's fields need descriptors and processes: the kernel then reports its state, and existing ones
 * are read once at the start. Captures and sysdig's lines also have an event for the entry.
 */
static void on_needs(void *ctx, uint32_t by_outputs, bool by_words, const struct filter *filter)
{
	static const struct { const char *type; unsigned event; } asked[] = {
		{ "switch", SYS_EVENT_SWITCH }, { "signaldeliver", SYS_EVENT_SIGNAL },
		{ "page_fault", SYS_EVENT_FAULT }, { "procexit", SYS_EVENT_EXIT },
	};

	/* Computed from the time of the entry's event. */
	static const char *const parts[] = {
		"evt.wait_latency", "evt.latency.s", "evt.latency.ns", "evt.latency.human",
	};
	struct syscalls_conf *c = ctx;
	bool by_params = by_outputs & 1u << SEC_PARAMS, captured = by_params && writes_capture(&c->run);
	bool lines = has_fields(c) || (c->run.format && !strcmp(c->run.format, "sysdig"));

	if (c->sys.summary)
		return;
	if (!c->sys.snaplen && uses_bytes(c, filter))
		c->sys.snaplen = SNAPLEN_ASKED;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (filter_mentions(filter, "evt.type", asked[i].type))
			c->sys.events_too |= asked[i].event;
	/* strace's lines use them too */
	if (strace_lines(c))
		c->sys.events_too |= SYS_EVENT_SIGNAL | SYS_EVENT_EXIT;
	c->sys.enter = c->sys.enter || filter_mentions(filter, "evt.dir", ">");
	c->sys.cpu_times_shown = filter_mentions(filter, "evt.type", "procinfo");
	if (!(by_params || by_words || (has_fields(c) && strstr(c->run.format, "evt."))))
		return;
	c->sys.context = c->sys.scan = c->sys.keep_state = true;
	c->sys.enter = c->sys.enter || captured || lines;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		c->sys.enter = c->sys.enter || filter_uses(filter, parts[i]);
	/* A reader's tables need exits; so do filters on signals. */
	if (c->views && sysdig_views_needs(c->views) & VIEW_NEEDS_SWITCHES)
		c->sys.events_too |= SYS_EVENT_SWITCH;
	c->sys.cpu_times = captured;
	c->sys.events_too |= SYS_EVENT_EXIT | (captured || lines ? SYS_EVENT_SIGNAL : 0);
}

/* -s limits the bytes of each string, -o names a file. */
static void apply_strace(struct syscalls_conf *c)
{
	c->run.file_format = "text";
	c->run.string_bytes = c->sys.snaplen ? (unsigned)MIN(c->sys.snaplen, (uint64_t)UINT32_MAX) : STRACE_STRING;
	c->sys.snaplen = MAX(c->sys.snaplen, (uint64_t)STRACE_SNAPLEN);
}

/* sysdig's lines show data. */
static void apply_format(struct syscalls_conf *c)
{
	if (strace_lines(c))
		apply_strace(c);
	else if (c->run.data && !c->run.format)
		c->run.format = "sysdig";
	if (c->run.data && !c->sys.snaplen)
		c->sys.snaplen = SNAPLEN_ASKED;
}

static int open_views(struct syscalls_conf *c, struct err *err)
{
	const char *list = c->view.len ? buf_str(&c->view) : c->event_summary ? "events" : NULL;

	return list ? sysdig_views_new(list, run_want_color(&c->run), &c->views, err) : 0;
}

/* Pauses or resumes output; process and descriptor state keeps being tracked. */
static void pause_or_go_on(struct syscalls_conf *c)
{
	const struct opt_strv none = { 0 };
	struct err err = { 0 };

	c->paused = !c->paused;
	/* an agent runs the probe: its events are discarded while paused */
	if (pipeline_call(c->pipeline, "sys", 0, c->paused ? "pause" : "go on", &none, &err) < 0)
		log_debug("%s", err.msg);
	if (c->paused)
		log_info("sonde: paused; %sSIGUSR1 resumes", c->keys ? "Enter or " : "");
	else
		log_info("sonde: resumed");
}

static int on_pause(void *ctx, _unused_ int signo)
{
	pause_or_go_on(ctx);
	return 0;
}

/* The terminal keeps its line mode and echo: no exit path has to restore them. */
static bool reads_keys(const struct run_conf *run, bool tables)
{
	return !run->read && !run->outputs.len && !tables && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* Input belongs to the foreground process group. */
static bool in_foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group < 0 || group == getpgrp();
}

static int on_line(void *ctx, int fd, _unused_ uint32_t events)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char line[256];

	while (in_foreground() && poll(&p, 1, 0) > 0 && p.revents & POLLIN) {
		if (read(fd, line, sizeof(line)) <= 0)
			break;
		pause_or_go_on(ctx);
	}
	return 0;
}

static bool is_shown(void *ctx, const struct event *ev)
{
	const struct syscalls_conf *c = ctx;

	return !c->paused || ev->desc->aggregate;
}

static int on_started(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct syscalls_conf *c = ctx;

	c->pipeline = c->run.read ? NULL : p;
	if (c->pipeline && loop_add_signal(loop, SIGUSR1, on_pause, c, NULL) < 0)
		return err_set(err, -ENOMEM, "cannot wait for signals");
	/* edge-triggered: unread input must not wake the loop again */
	if (c->pipeline && c->keys && loop_add_io(loop, STDIN_FILENO, EPOLLIN | EPOLLET, on_line, c, NULL) < 0)
		log_debug("no keys can be read");
	if (c->on_ready)
		c->on_ready(c->on_ready_ctx);
	return 0;
}

/* With -v: the counters of libscap's scap_get_stats(), under its names, and how the state tables were repaired. */
static void on_stopped(void *ctx)
{
	const struct syscalls_conf *c = ctx;
	const struct sys_stats *s = &c->stats;
	struct sonde_ledger l;
	uint64_t drops = 0;

	if (!c->pipeline || !c->run.verbose)
		return;
	pipeline_ledger(c->pipeline, &l);
	for (unsigned i = 0; i < SONDE_LOST__MAX; i++)
		drops += l.lost[i];
	log_info("sonde: n_evts=%llu n_drops=%llu n_drops_buffer=%llu n_drops_pf=%llu n_drops_bug=%llu "
		 "n_preemptions=%llu n_suppressed=%llu n_tids_suppressed=%llu", (unsigned long long)l.seen,
		 (unsigned long long)drops, (unsigned long long)l.lost[SONDE_LOST_RING_FULL],
		 (unsigned long long)l.lost[SONDE_LOST_COPY],
		 (unsigned long long)(l.lost[SONDE_LOST_MAP_FULL] + l.lost[SONDE_LOST_DECODE]),
		 (unsigned long long)l.lost[SONDE_LOST_RECURSION], (unsigned long long)s->suppressed,
		 (unsigned long long)s->suppressed_tids);
	for (unsigned i = 0; i < s->n_lost; i++) {
		char name[24];

		log_info("sonde: lost of %s: %llu", sys_table_call_name(s->lost[i].abi, s->lost[i].nr, name),
			 (unsigned long long)s->lost[i].count);
	}
	if (s->rows)
		log_info("sonde: state: %llu rows from /proc, %llu tasks read again, %llu times postponed",
			 (unsigned long long)s->rows, (unsigned long long)s->healed,
			 (unsigned long long)s->postponed);
}

/* Lines of single calls, in our own form, end with their number. */
static int run_lines(struct syscalls_conf *c, struct run_ops *spec)
{
	struct sys_closing closing = { 0 };
	struct tally tally = {
		.conf = &c->run, .event = sys_closing_event, .closing = sys_closing_line, .ctx = &closing,
	};
	int status;

	closing.tally = &tally;
	if (!c->run.format && !c->sys.summary && !spec->command->len && closing_needed(&c->run)) {
		spec->watcher = &tally_sink;
		spec->watcher_ctx = &tally;
	}
	status = run(&c->run, spec);
	if (spec->watcher)
		tally_report(&tally, status);
	return status;
}

static int run_with_views(struct syscalls_conf *c, struct run_ops *spec)
{
	const struct sysdig_views *v = c->views;
	size_t rows = c->view_rows ? c->view_rows : VIEW_ROWS;
	bool json = c->run.json, tables = v && c->view.len;
	int status, r;

	if (!v && !c->watcher)
		return run_lines(c, spec);
	spec->watcher = v ? &sysdig_views_sink : c->watcher;
	spec->watcher_ctx = v ? c->views : c->watcher_ctx;
	if (c->watcher)
		spec->output = "";
	if (tables) {
		spec->output = "";
		c->run.json = false;	/* of the tables, not of events */
	}
	status = run(&c->run, spec);
	if (!v)
		return status;
	r = json && tables ? sysdig_views_print_json(c->views, rows) : sysdig_views_print(c->views, rows);
	if (r < 0)
		log_error("cannot write the tables: %s", strerror(-r));
	return r < 0 && !status ? CMD_FAIL : status;
}

/* Counts and latencies by process, and what they lead to. */
static int run_top(struct syscalls_conf *c, struct run_ops *spec)
{
	static const char *const types[] = { "sys.exit", NULL };
	const struct top_opts opts = {
		.types = types,
		.view = view_find("syscall-processes"),
		.run = &c->run,
		.command = "sonde syscalls",
		.words = c->run.where,
		.interval_ns = c->run.read ? 0 : NS_PER_S,
		.rows = c->run.json ? 0 : VIEW_ROWS,
	};

	return top_show(&opts, spec);
}

static struct syscalls_filter filter_of(struct syscalls_conf *c)
{
	return (struct syscalls_filter){ .run = &c->run, .sys = &c->sys, .push = &c->push, .pushdown = c->pushdown };
}

static int on_push(void *ctx, const struct filter *f, const struct registry *reg, struct buf *rest, struct err *err)
{
	const struct syscalls_filter sf = filter_of(ctx);

	return syscalls_filter_push(&sf, f, reg, rest, err);
}

static int explain(struct syscalls_conf *c)
{
	const struct syscalls_filter sf = filter_of(c);

	return syscalls_filter_explain(&sf, on_needs, c);
}

/* The command's own output is not truncated. */
static void set_command(struct syscalls_conf *c, const struct cmd_words *w, struct run_ops *spec)
{
	c->keys = !w->command.len && !c->watcher && reads_keys(&c->run, c->top || c->view.len || c->sys.summary);
	if (w->command.len && strace_lines(c))
		spec->output = "text:/dev/stderr";
	if (w->command.len)
		spec->ready = NULL;
	else if (c->keys)
		spec->ready = "sonde: ready, watching; Enter or SIGUSR1 pauses, ^C stops";
	if (c->ready)
		spec->ready = *c->ready ? c->ready : NULL;
	spec->child = c->child;
	spec->why_local = c->run.trees.len ? "a selection of descendants" : c->stacks ? "stacks of calls" : NULL;
}

static int syscalls_live(struct syscalls_conf *c, const struct cmd_words *w, struct run_ops *spec)
{
	struct err err = { 0 };
	int status;

	if (c->sys.summary && c->run.read) {
		log_error("-c counts in the kernel: sonde top syscalls -r %s counts the calls of a recording",
			  c->run.read);
		return CMD_USAGE;
	}
	if (c->run.explain_filter)
		return explain(c);
	set_command(c, w, spec);
	if (c->top)
		return run_top(c, spec);
	status = open_views(c, &err);
	if (status < 0)
		return cmd_fail(status, &err);
	spec->sums = c->sys.summary;
	status = run_with_views(c, spec);
	sysdig_views_free(c->views);
	return status;
}

int syscalls_run(void *conf, const struct cmd_words *w)
{
	struct syscalls_conf *c = conf;
	_cleanup_free_ char *words = run_join_words(&w->words);
	const struct pipeline_probe probes[] = {
		{ .ops = probe_find("sys"), .conf = &c->sys },
		{ .ops = probe_find("cpu"), .conf = (struct cpu_conf *)c->stacks },
	};
	static const char *const types[] = { "sys", NULL };
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct run_ops spec = {
		.unit = "call",
		.reads = c->stacks ? NULL : types,
		.otlp = "otlp-logs",
		.probes = probes,
		.n_probes = c->stacks ? 2 : 1,
		.cmdline = w->line,
		.ready = "sonde: ready, watching; SIGUSR1 pauses, ^C stops",
		.command = &w->command,
		.pass = c->run.read ? NULL : is_shown, /* a replay is not paused */
		.pass_ctx = c,
		.filter_text = words,
		.needs = on_needs,
		.push = on_push,
		.needs_ctx = c,
		.started = on_started,
		.stopped = on_stopped,
		.started_ctx = c,
	};
	struct err err = { 0 };
	int status;

	c->sys.stats = &c->stats;
	if (syscalls_filter_check(&w->words, &err) < 0 || run_settle(&c->run, words, "scap", &texts, &err) < 0) {
		status = cmd_fail(err.code, &err);
	} else {
		apply_format(c);
		status = syscalls_live(c, w, &spec);
	}
	buf_fini(&c->view);
	return status;
}

static const struct cmd_example syscalls_examples[] = {
	{ "sonde syscalls", "every system call of this host, live" },
	{ "sonde syscalls -p 1234 syscall.is_file", "what process 1234 does with paths" },
	{ "sonde syscalls syscall.error exists", "calls that failed" },
	{ "sonde syscalls -c --duration 10s", "calls of the host, counted in the kernel" },
	{ "sonde syscalls -c --by process -- make", "a table for each process of a command" },
	{ "sonde syscalls --format strace -s 64 -- ls /", "the calls of a command, as strace prints them" },
	{ "sonde syscalls --top", "processes by calls; Enter leads to their calls and files, to events" },
	{ "sonde syscalls --view slow,errors --duration 10s", "the slowest calls of ten seconds, and what failed" },
	{ "sonde syscalls -w trace.scap --rotate size=100M,files=5", "captures for sysdig and Wireshark" },
	{ "sonde syscalls -r trace.scap --data hex-ascii fd.name contains passwd", "data of such files" },
	{ "sonde syscalls syscall.name=openat and syscall.error=ENOENT", "files that were not found" },
	{ 0 },
};

const struct cmd cmd_syscalls = {
	.name = "syscalls",
	.summary = "system calls with their arguments, live",
	.args = "[EXPR] [-- COMMAND]",
	.doc = "Shows each system call when it returns: its arguments decoded, its result, how long it took. The "
	       "trailing words are an event expression (sonde help filter), evaluated in the kernel where it can: "
	       "calls that it rejects cost next to nothing. SIGUSR1, or Enter where lines go to the terminal, pauses "
	       "and resumes the output.",
	.examples = syscalls_examples,
	.conf_size = sizeof(struct syscalls_conf),
	.sets = syscalls_sets,
	.run = syscalls_run,
};
