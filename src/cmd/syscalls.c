// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde syscalls: system calls with their arguments, of the host, of some processes or of one command.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "cmd/select.h"
#include "cmd/syscalls_filter.h"
#include "cmd/views.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probe/probe.h"
#include "probes/sys/sys.h"
#include "probes/sys/pushdown/sys_pushdown.h"
#include "probes/sys/sys_table.h"
#include "scap/render.h"

#define VIEW_ROWS 30
#define STRACE_STRING 32	/* bytes of a string in strace's lines, unless -s says more */
#define STRACE_SNAPLEN 1024	/* bytes of data for them: of vectors each entry is a string */
#define SNAPLEN_ASKED 80	/* bytes of data, when its text is asked for and no number is given: sysdig's */

struct syscalls_conf {
	struct run_conf run;
	struct sys_conf sys;
	struct sys_pushdown push;
	bool pushdown, strace, ascii, hex, hex_ascii, base64, event_summary, top;
	const char *write, *view;
	uint32_t rotate_mb, view_rows;
	struct views *views;		/* NULL = none */
	struct pipeline *pipeline;	/* of the live run at hand */
	bool paused, keys;		/* keys: Enter is read from the terminal */
	struct sys_stats stats;
};

#define ROW(member, ...) OPT_ROW(syscalls_conf, member, __VA_ARGS__)

static const struct opt line_opts[] = {
	ROW(strace, "strace", 0, OPT_BOOL, NULL,
	    "lines as strace -f -T prints them, as --format strace; those of a COMMAND go to standard error, or to "
	    "-o FILE"),
	ROW(ascii, "print-ascii", 'A', OPT_BOOL, NULL, "sysdig's lines, data as text"),
	ROW(hex, "print-hex", 'x', OPT_BOOL, NULL, "likewise, data in hex"),
	ROW(hex_ascii, "print-hex-ascii", 'X', OPT_BOOL, NULL, "likewise, data in hex and as text"),
	ROW(base64, "print-base64", 'b', OPT_BOOL, NULL, "likewise, data in base64"),
	ROW(write, "write", 'w', OPT_STR, "FILE", "write a capture, as -o scap:FILE"),
	ROW(rotate_mb, "rotate-megabytes", 'C', OPT_U32, "N", "as --rotate-size, in millions of bytes"),
	OPT_END,
};

static const struct opt filter_opts[] = {
	ROW(pushdown, "pushdown", 0, OPT_BOOL, NULL,
	    "let the kernel decide what it can of the filter (the default)"),
	OPT_END,
};

static const struct opt view_opts[] = {
	ROW(view, "view", 0, OPT_STR, "NAME,...",
	    "tables instead of lines: procs-cpu, procs-net, procs-file, files-bytes, files-time, conns, ports, "
	    "calls, calls-time, errors, slow, containers, events; or spectrogram, a line of latencies a second"),
	ROW(view_rows, "view-rows", 0, OPT_U32, "N", "rows of each table (default 30)"),
	ROW(top, "top", 0, OPT_BOOL, NULL, "the tables live on a full screen (all of them without --view)"),
	ROW(event_summary, "event-summary", 'S', OPT_BOOL, NULL, "at the end, how many events of each type"),
	OPT_END,
};

static size_t syscalls_sets(void *conf, struct opt_set *ret_sets)
{
	struct syscalls_conf *c = conf;

	c->sys = sys_conf_default;
	c->pushdown = true;
	ret_sets[0] = (struct opt_set){ "System calls", probe_find("sys")->opts, &c->sys };
	ret_sets[1] = (struct opt_set){ "Lines and captures", line_opts, c };
	ret_sets[2] = (struct opt_set){ "Tables", view_opts, c };
	ret_sets[3] = (struct opt_set){ "Filter", filter_opts, c };
	return 4 + run_sets(&c->run, ret_sets + 4);
}

static bool writes_capture(const struct run_conf *c)
{
	for (size_t i = 0; i < c->outputs.len; i++)
		if (strstr(c->outputs.items[i], "scap"))
			return true;
	return false;
}

/* Words made of what was written are of no use without it. */
static bool uses_bytes(const struct syscalls_conf *c, const struct filter *filter)
{
	return filter_uses(filter, "syslog") || filter_uses(filter, "evt.buffer") ||
	       (c->run.print && (strstr(c->run.print, "%syslog.") || strstr(c->run.print, "%evt.buffer")));
}

static bool strace_lines(const struct syscalls_conf *c)
{
	return c->strace || (c->run.format && !strcmp(c->run.format, "strace"));
}

/*
 * Captures and sysdig's words are about descriptors and processes: the kernel side then tells what it knows of them,
 * and what was there before is looked up once. Captures and sysdig's lines have an event for the entry too.
 */
static void on_needs(void *ctx, uint32_t by_outputs, bool by_words, const struct filter *filter)
{
	static const struct { const char *type; unsigned event; } asked[] = {
		{ "switch", SYS_EVENT_SWITCH }, { "signaldeliver", SYS_EVENT_SIGNAL },
		{ "page_fault", SYS_EVENT_FAULT }, { "procexit", SYS_EVENT_EXIT },
	};

	/* Worked out from the time of the entry's event. */
	static const char *const parts[] = {
		"evt.wait_latency", "evt.latency.s", "evt.latency.ns", "evt.latency.human",
	};
	struct syscalls_conf *c = ctx;
	bool wanted = by_outputs & 1u << SEC_PARAMS, captured = wanted && writes_capture(&c->run);
	bool lines = c->run.print || (c->run.format && !strcmp(c->run.format, "sysdig"));

	if (c->sys.summary)
		return;
	if (!c->sys.snaplen && uses_bytes(c, filter))
		c->sys.snaplen = SNAPLEN_ASKED;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (filter_mentions(filter, "evt.type", asked[i].type))
			c->sys.events_too |= asked[i].event;
	/* strace's lines are about them too */
	if (strace_lines(c))
		c->sys.events_too |= SYS_EVENT_SIGNAL | SYS_EVENT_EXIT;
	c->sys.enter = c->sys.enter || filter_mentions(filter, "evt.dir", ">");
	if (!(wanted || by_words || (c->run.print && strstr(c->run.print, "evt."))))
		return;
	c->sys.context = c->sys.scan = c->sys.keep_state = true;
	c->sys.enter = c->sys.enter || captured || lines;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		c->sys.enter = c->sys.enter || filter_uses(filter, parts[i]);
	/* A reader's tables want to know who is gone; and so do those who look for a signal. */
	if (c->views && views_needs(c->views) & VIEW_NEEDS_SWITCHES)
		c->sys.events_too |= SYS_EVENT_SWITCH;
	c->sys.cpu_times = captured;
	c->sys.events_too |= SYS_EVENT_EXIT | (captured || lines ? SYS_EVENT_SIGNAL : 0);
}

/* strace's options: -s is the most bytes of each string, -o a file. */
static void apply_strace(struct syscalls_conf *c)
{
	c->run.format = "strace";
	c->run.file_format = "text";
	c->run.string_bytes = c->sys.snaplen ? (unsigned)MIN(c->sys.snaplen, (uint64_t)UINT32_MAX) : STRACE_STRING;
	c->sys.snaplen = MAX(c->sys.snaplen, (uint64_t)STRACE_SNAPLEN);
}

/* sysdig's letters are names for what other options say. */
static int apply_letters(struct syscalls_conf *c, struct buf *mem)
{
	static const struct { size_t off; enum scap_buffer_form form; } forms[] = {
		{ offsetof(struct syscalls_conf, ascii), SCAP_BUFFER_ASCII },
		{ offsetof(struct syscalls_conf, hex), SCAP_BUFFER_HEX },
		{ offsetof(struct syscalls_conf, hex_ascii), SCAP_BUFFER_HEX_ASCII },
		{ offsetof(struct syscalls_conf, base64), SCAP_BUFFER_BASE64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (*(const bool *)((const char *)c + forms[i].off))
			c->run.buffer = forms[i].form;
	if (strace_lines(c))
		apply_strace(c);
	else if (c->run.buffer && !c->run.format && !c->run.print)
		c->run.format = "sysdig";
	if (c->run.buffer && !c->sys.snaplen)
		c->sys.snaplen = SNAPLEN_ASKED;
	if (c->rotate_mb)
		c->run.rotate_bytes = (uint64_t)c->rotate_mb * 1000000;
	if (!c->write)
		return 0;
	if (vec_grow(&c->run.outputs) < 0)
		return -ENOMEM;
	buf_printf(mem, "scap:%s", c->write);
	c->run.outputs.items[c->run.outputs.len++] = buf_str(mem);
	return buf_error(mem);
}

static const char all_views[] = "procs-cpu,procs-net,procs-file,files-bytes,files-time,conns,ports,calls,calls-time,"
				"errors,slow,containers";

static int open_views(struct syscalls_conf *c, struct err *err)
{
	const char *list = c->view ? c->view : c->top ? all_views : c->event_summary ? "events" : NULL;
	int r = list ? views_new(list, run_want_color(&c->run), &c->views, err) : 0;

	if (r >= 0 && c->top && !c->run.read)
		r = views_screen(c->views, err);
	return r;
}

/* Nothing is shown until it comes again. What the tables behind the events need is still watched. */
static void pause_or_go_on(struct syscalls_conf *c)
{
	const struct opt_strv none = { 0 };
	struct err err = { 0 };

	c->paused = !c->paused;
	/* with an agent there is no probe here, and what it sends is left out */
	if (pipeline_call(c->pipeline, "sys", 0, c->paused ? "pause" : "go on", &none, &err) < 0)
		log_debug("%s", err.msg);
	if (c->paused)
		log_info("sonde: paused; %sSIGUSR1 goes on", c->keys ? "Enter or " : "");
	else
		log_info("sonde: goes on");
}

static int on_pause(void *ctx, _unused_ int signo)
{
	pause_or_go_on(ctx);
	return 0;
}

/* The terminal stays as it is, in lines and with its echo: nothing has to be put back, however this ends. */
static bool reads_keys(const struct run_conf *run, bool tables)
{
	return !run->read && !run->outputs.len && !tables && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* What is typed while others are in the foreground is theirs. */
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
	/* edges: what is not read here must not wake the loop again */
	if (c->pipeline && c->keys && loop_add_io(loop, STDIN_FILENO, EPOLLIN | EPOLLET, on_line, c, NULL) < 0)
		log_debug("no keys can be read");
	return c->views ? views_start(c->views, loop, p, err) : 0;
}

/* With -v: the numbers that libscap's scap_get_stats() has, under its names, and how the tables were kept whole. */
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
		log_info("sonde: %llu rows of tables, %llu tasks read again, %llu times put off",
			 (unsigned long long)s->rows, (unsigned long long)s->healed,
			 (unsigned long long)s->postponed);
}

static int run_with_views(struct syscalls_conf *c, struct run_ops *spec)
{
	const struct views *v = c->views;
	size_t rows = c->view_rows ? c->view_rows : VIEW_ROWS;
	bool json = c->run.json, tables = v && (c->view || c->top);
	int status, r;

	spec->watcher = v ? &views_sink : NULL;
	spec->watcher_ctx = c->views;
	if (tables) {
		spec->output = "";
		c->run.json = false;	/* of the tables, not of events */
	}
	status = run(&c->run, spec);
	if (!v)
		return status;
	views_stop(c->views);
	if (c->top && !c->run.read)
		r = 0;
	else
		r = json && tables ? views_print_json(c->views, rows) : views_print(c->views, rows);
	if (r < 0)
		log_error("cannot write the tables: %s", strerror(-r));
	return r < 0 && !status ? CMD_FAIL : status;
}

static struct syscalls_filter filter_of(struct syscalls_conf *c)
{
	return (struct syscalls_filter){ .run = &c->run, .sys = &c->sys, .push = &c->push, .pushdown = c->pushdown };
}

static int on_push(void *ctx, const struct filter *f, const struct registry *reg, struct buf *rest, struct err *err)
{
	const struct syscalls_filter sf = filter_of(ctx);

	return syscalls_push(&sf, f, reg, rest, err);
}

static int explain(struct syscalls_conf *c)
{
	const struct syscalls_filter sf = filter_of(c);

	return syscalls_explain(&sf, on_needs, c);
}

static int syscalls_run(void *conf, const struct cmd_words *w)
{
	struct syscalls_conf *c = conf;
	_cleanup_free_ char *words = run_join_words(&w->words);
	const struct pipeline_probe probes[] = { { .ops = probe_find("sys"), .conf = &c->sys } };
	_cleanup_(buf_fini) struct buf where = { 0 }, write = { 0 };
	struct run_ops spec = {
		.unit = "call",
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.cmdline = w->line,
		.ready = "sonde: ready, watching; SIGUSR1 pauses, ^C stops",
		.command = &w->command,
		.pass = is_shown,
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
	if (select_where(&c->run, words, &where) < 0 || apply_letters(c, &write) < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	if (c->run.explain_filter)
		return explain(c);
	c->keys = !w->command.len && reads_keys(&c->run, c->top || c->view || c->sys.summary);
	/* the command's own output stays whole */
	if (w->command.len && strace_lines(c))
		spec.output = "text:/dev/stderr";
	if (w->command.len)
		spec.ready = NULL;
	else if (c->keys)
		spec.ready = "sonde: ready, watching; Enter or SIGUSR1 pauses, ^C stops";
	status = open_views(c, &err);
	if (status < 0) {
		log_error("%s", err.msg);
		return cmd_exit_status(status);
	}
	spec.sums = c->sys.summary;
	status = run_with_views(c, &spec);
	views_free(c->views);
	return status;
}

static const struct cmd_example syscalls_examples[] = {
	{ "sonde syscalls", "every system call of this host, live" },
	{ "sonde syscalls -p 1234 -e %file", "what process 1234 does with paths" },
	{ "sonde syscalls --result failed", "calls that failed" },
	{ "sonde syscalls -c --duration 10s", "a table of all calls of the host, counted in the kernel" },
	{ "sonde syscalls -c --by process -- make", "likewise of a command, a table for each of its processes" },
	{ "sonde syscalls --strace -s 64 -- ls /", "run a command and show its calls and those of its children" },
	{ "sonde syscalls --top", "who uses the CPU, the network and files, live" },
	{ "sonde syscalls --view slow,errors --duration 10s", "the slowest calls of ten seconds, and what failed" },
	{ "sonde syscalls -w trace.scap -C 100 -W 5", "captures for sysdig and Wireshark, five of 100 MB in turn" },
	{ "sonde syscalls -r trace.scap -X fd.name contains passwd", "what was read and written of such files" },
	{ "sonde syscalls syscall.name=openat and syscall.error=ENOENT", "files that were not found" },
	{ 0 },
};

const struct cmd cmd_syscalls = {
	.name = "syscalls", .summary = "system calls with their arguments, live",
	.args = "[EVENT WORDS] [-- COMMAND]",
	.doc = "Shows each system call when it returns: its arguments decoded, its result, how long it took. Which "
	       "calls and whose is decided in the kernel: what was not asked for costs next to nothing. SIGUSR1, "
	       "or Enter where lines go to the terminal, stops showing them, and lets it go on when it comes again.",
	.examples = syscalls_examples,
	.letters = "p=pid e=syscall s=snaplen j=json n=count c=summary G=rotate-time W=rotate-files M=duration",
	.conf_size = sizeof(struct syscalls_conf), .sets = syscalls_sets, .run = syscalls_run,
};
