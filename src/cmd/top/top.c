// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde top: processes, calls, files, flows, drops and waits as views of one run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "cmd/top/top.h"
#include "event/filter/filter.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "probes/call/call.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/gohttp2/gohttp2.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_wire.h"
#include "probes/sys/sys_conf.h"
#include "stack/view.h"
#include "sym/sym.h"
#include "view/view.h"
#include "view/view_fields.h"

#define MIN_WAIT_NS 10000	/* shorter waits are not recorded */
#define ROWS_DEFAULT UINT32_MAX
#define BLOCK_ROWS 30u
#define PROBES_MAX 5u
#define TYPES_MAX 9u

struct top_conf {
	struct run_conf run;
	struct net_conf net;
	struct cpu_conf cpu;
	struct sys_conf sys;
	struct gohttp2_conf gohttp2;
	struct call_conf call;
	uint64_t interval_ns;
	uint32_t rows, width, speed;
	bool batch, wide, mouse;
	const char *types[TYPES_MAX]; /* of events that the probes make, NULL-terminated */
};

/* "1", "10" or "max". */
static int on_speed(void *conf, const char *arg, struct err *err)
{
	struct top_conf *c = conf;

	c->speed = 0;
	if (strcmp(arg, "max") && (str_to_u32(arg, 10, &c->speed) < 0 || !c->speed))
		return err_set(err, -EINVAL, "--speed %s: expected a number as in 10, or max", arg);
	return 0;
}

static const struct opt top_opts[] = {
	OPT_ROW(top_conf, interval_ns, "interval", 0, OPT_DURATION, "TIME", "interval of rates (default 1s)",
		.more = "of a recording without a screen: a block for each; by default only totals"),
	OPT_ROW(top_conf, batch, "batch", 'b', OPT_BOOL, NULL, "blocks of text even on a terminal"),
	OPT_ROW(top_conf, rows, "rows", 0, OPT_U32, "N", "rows of a block (default 30, with --json all; 0 = all)"),
	OPT_ROW(top_conf, width, "width", 0, OPT_U32, "COLUMNS", "width of blocks (default: $COLUMNS, or 80)"),
	OPT_ROW(top_conf, wide, "wide", 0, OPT_BOOL, NULL, "blocks with all columns, as long as they are"),
	OPT_ROW(top_conf, mouse, "mouse", 0, OPT_BOOL, NULL, "clicks and the wheel; Shift selects text then"),
	OPT_CALL_ROW(on_speed, "speed", 0, "N|max", "with -r: N intervals a second, or all at once (default max)"),
	OPT_END,
};

static size_t top_sets(void *conf, struct opt_set *ret_sets)
{
	struct top_conf *c = conf;

	c->net = net_conf_default;
	c->cpu = cpu_conf_default;
	c->sys = sys_conf_default;
	c->gohttp2 = gohttp2_conf_default;
	c->call = call_conf_default;
	c->rows = ROWS_DEFAULT;
	ret_sets[0] = (struct opt_set){ .title = "Top", .opts = top_opts, .conf = c };
	return 1 + run_sets(&c->run, 0, ret_sets + 1);
}

/* Whether a column of the view counts events of a probe whose types begin with @prefix. */
static bool counts(const struct view *v, const char *prefix)
{
	return FIND_ITEM(it, v->cols, view_n_cols(v), !strncmp(it->type, prefix, strlen(prefix)));
}

/* Can sums of the kernel take the place of all system calls that the view counts? */
static bool has_sums(const struct view *v)
{
	bool has = false;

	for (size_t i = 0; i < view_n_cols(v); i++) {
		if (strcmp(v->cols[i].type, "sys.exit") != 0)
			continue;
		if (!view_fields_has_sums(v, &v->cols[i]))
			return false;
		has = true;
	}
	return has;
}

/* Does the filter ask only for facts of the process, which the kernel's sums have too? */
static bool is_of_processes(const char *text)
{
	static const char *const words[] = {
		"proc.pid", "proc.name", "proc.exe", "proc.args", "proc.ppid", "user.uid", "group.gid",
		"container.id", "syscall.name", NULL,
	};
	struct pipeline *p = NULL;
	struct filter *f = NULL;
	bool is = !text;

	if (text && pipeline_new(NULL, &p, NULL) >= 0)
		is = filter_parse(pipeline_registry(p), text, &f, NULL) >= 0 && filter_has_only(f, words);
	filter_free(f);
	pipeline_free(p);
	return is;
}

/* System calls are summed by the kernel unless single ones are looked for. */
static void choose_sums(struct top_conf *c, const struct view *v)
{
	if (c->run.read || c->run.outputs.len || c->run.containers.len || !has_sums(v) ||
	    !is_of_processes(c->run.where))
		return;
	c->sys.summary = true;
	c->sys.by = SYS_SUMMARY_PROCESS;
	c->sys.interval_ns = c->interval_ns ? c->interval_ns : NS_PER_S;
}

/* Type of the events that column @i counts in this run. */
static const char *type_of(const struct top_conf *c, const struct view *v, size_t i)
{
	return c->sys.summary && !strcmp(v->cols[i].type, "sys.exit") ? "sys.sum" : v->cols[i].type;
}

/* The types of events that the view counts, which are those that its probes will make. */
static void list_types(struct top_conf *c, const struct view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < view_n_cols(v); i++) {
		size_t k = 0;

		while (k < n && strcmp(c->types[k], type_of(c, v, i)) != 0)
			k++;
		if (k == n && n + 1 < TYPES_MAX)
			c->types[n++] = type_of(c, v, i);
	}
	c->types[n] = NULL;
}

/* Only the probes that the view counts. Both sources of calls are optional. */
static size_t choose_probes(struct top_conf *c, const struct view *v, const struct cmd_words *w,
			    struct pipeline_probe *ret)
{
	size_t n = 0;

	choose_sums(c, v);
	list_types(c, v);
	c->net.netns = &c->run.netns;
	if (!counts(v, "net.trace") && !counts(v, "net.count"))
		c->net.kinds = 1u << NET_KIND_DROP;
	c->net.flow.on = counts(v, "net.flow");
	c->net.flow.level = NET_AGGREGATE_MEDIUM;
	c->net.flow.interval_ns = c->interval_ns ? c->interval_ns : NS_PER_S;
	c->net.count.on = counts(v, "net.count");
	c->net.count.interval_ns = c->net.flow.interval_ns;
	c->net.count.client = (uint32_t)getpid();
	c->cpu.wall = true;
	c->cpu.min_block_ns = MIN_WAIT_NS;
	c->sys.context = true;
	c->gohttp2.command = w->command.len ? w->command.items[0] : NULL;
	c->gohttp2.optional = c->call.optional = true;
	if (counts(v, "sys."))
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("sys"), .conf = &c->sys };
	if (counts(v, "cpu."))
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("cpu"), .conf = &c->cpu };
	if (counts(v, "net."))
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("net"), .conf = &c->net };
	if (counts(v, "rpc.")) {
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("gohttp2"), .conf = &c->gohttp2 };
		ret[n++] = (struct pipeline_probe){ .ops = probe_find("call"), .conf = &c->call };
	}
	return n;
}

static const char *spaces_of(const struct top_conf *c, const struct view *v)
{
	if (!counts(v, "net.") || c->run.read)
		return NULL;
	if (!c->run.netns.len)
		return "own namespace";
	return strcmp(c->run.netns.items[0], "all") ? "chosen namespaces" : "all namespaces";
}

static int run_view(struct top_conf *c, const struct view *v, const char *words, const struct cmd_words *w)
{
	static const struct sym_opts symbols = { 0 };
	static const struct stack_view plain = { .weight = STACK_SAMPLES };
	const struct run_stacks stacks = { .view = &plain, .symbols = &symbols };
	const uint32_t rows = c->rows != ROWS_DEFAULT ? c->rows : c->run.json ? 0 : BLOCK_ROWS;
	const struct top_opts opts = {
		.view = v,
		.run = &c->run,
		.command = "sonde top",
		.words = c->run.where,
		.interval_ns = c->interval_ns || c->run.read ? c->interval_ns : NS_PER_S,
		.batch = c->batch,
		.wide = c->wide,
		.mouse = c->mouse,
		.rows = rows,
		.width = c->width,
		.speed = c->speed,
		.types = c->types,
		.spaces = spaces_of(c, v),
	};
	struct pipeline_probe probes[PROBES_MAX];
	const struct run_ops spec = {
		.unit = "event",
		.own_netns = true,
		.probes = probes,
		.n_probes = choose_probes(c, v, w, probes),
		.cmdline = w->line,
		.ready = w->command.len ? NULL : "sonde: ready, counting; ^C stops",
		.command = &w->command,
		.stacks = counts(v, "cpu.sample") ? &stacks : NULL,
		.filter_text = words,
		.why_local = "sonde top",
	};

	return top_show(&opts, &spec);
}

/* Expressions have an operator, or a field whose name has a dot. */
static int refuse_view(const char *name)
{
	_cleanup_(buf_fini) struct buf list = { 0 };
	struct str_near near = { .word = name };

	for (size_t i = 0; i < view_n; i++) {
		str_near_offer(&near, views[i].name);
		buf_printf(&list, "%s%s", i ? ", " : "", views[i].name);
	}
	if (near.best)
		log_error("no view %s; did you mean %s?", name, near.best);
	else
		log_error("no view %s; the views are %s", name, buf_str(&list));
	return CMD_USAGE;
}

static int top_main(void *conf, const struct cmd_words *w)
{
	struct top_conf *c = conf;
	const struct view *v = w->words.len ? view_find(w->words.items[0]) : NULL;
	struct opt_strv rest = w->words;
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	_cleanup_free_ char *words = NULL;
	struct err err = { 0 };

	if (v) {
		rest.items++;
		rest.len--;
	}
	if (rest.len == 1 && !v && !rest.items[0][strcspn(rest.items[0], ".=!<>( ")])
		return refuse_view(rest.items[0]);
	words = run_join_words(&rest);
	if (run_settle(&c->run, words, "rec", &texts, &err) < 0)
		return cmd_fail(err.code, &err);
	if (c->run.explain_filter) {
		puts("--pid and --cgroup are evaluated in the kernel, other fields in user space.");
		return CMD_OK;
	}
	return run_view(c, v ? v : view_find("processes"), words, w);
}

static const struct cmd_example top_examples[] = {
	{ "sonde top", "processes: CPU, waits, system calls, drops, calls" },
	{ "sonde top syscalls proc.name=nginx", "the system calls of nginx, with errors and latencies" },
	{ "sonde top drops -b --interval 10s", "drops by reason, a block of text every ten seconds" },
	{ "sonde top files -r calls.rec", "the files of a recording; Enter leads to single events" },
	{ "sonde top calls -r calls.rec --json", "calls by method, an object per row, for programs" },
	{ 0 },
};

const struct cmd cmd_top = {
	.name = "top",
	.summary = "live tables: processes, calls, files, flows, drops",
	.args = "[VIEW] [EXPR] [-- COMMAND]",
	.doc = "Shows events as a table that is renewed each second: rates of the last interval, percentiles of its "
	       "latencies. A row opens with Enter: other tables of the same events, then the events themselves, then "
	       "one event with all fields; Backspace leads back. ? lists the keys, w shows the command line of the "
	       "current table.\n\n"
	       "VIEW is processes (default), host, syscall-processes, syscalls, errors, files, calls, talkers, "
	       "connections, ports, drops, packets, counters, waits or functions. Only the probes that the view "
	       "counts are started. System calls are summed by the kernel where neither the view nor the filter "
	       "needs single ones (sys.sum), other events are counted one by one, in event time: a recording (-r) "
	       "shows the same numbers as the live run, and plays at --speed; left and right arrows step through its "
	       "intervals.\n\n"
	       "Without a terminal, or with --batch, it prints blocks of 80 columns, with --json an object per row. "
	       "Groups beyond 4,096 add up in \"(other)\". Percentiles are right within 3.2 %, those of "
	       "sums within 12.5 %.",
	.examples = top_examples,
	.conf_size = sizeof(struct top_conf),
	.sets = top_sets,
	.run = top_main,
};
