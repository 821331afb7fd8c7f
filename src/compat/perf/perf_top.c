// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat perf top: functions live, full screen or as tables of text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile.h"
#include "cmd/run/run.h"
#include "compat/compat.h"
#include "compat/perf/perf_hist.h"
#include "compat/perf/perf_opts.h"
#include "compat/perf/perf_table.h"
#include "event/event.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sym/sym.h"

#define DEFAULT_HZ 4000
#define RING_BYTES (1u << 20) /* see sonde profile */
#define TOP_NICE (-10)

struct top_conf {
	struct perf_event_opts event; /* at the start: functions of options take it */
	struct profile_conf profile;
	struct perf_hist_opts hist;
	struct perf_table_opts table;
	bool all_cpus, stdio, counts, periods, children, chains;
	uint64_t delay_s;
	uint32_t least; /* samples of a row */

	/* while it runs */
	struct perf_hist *live; /* of the sink; NULL before and after */
	struct outfile *out;
	struct buf where, text;
};

OPT_CALL(on_sort)
{
	struct top_conf *c = conf;

	return perf_table_sort(arg, false, &c->table, &c->hist.rows, err);
}

OPT_CALL(on_fields)
{
	struct top_conf *c = conf;

	return perf_table_sort(arg, true, &c->table, &c->hist.rows, err);
}

/* Modes of recording, then what perf report -g takes. */
OPT_CALL(on_call_graph)
{
	struct top_conf *c = conf;

	c->chains = true;
	return perf_chain_parse(perf_opts_after_mode(arg), &c->table.chain, err);
}

OPT_CALL(on_limit)
{
	char *end;

	((struct top_conf *)conf)->table.min_percent = strtod(arg, &end);
	return *end || end == arg ? err_set(err, -EINVAL, "--percent-limit %s: expected a percentage", arg) : 0;
}

#define ROW(member, ...) OPT_ROW(top_conf, member, __VA_ARGS__)
#define CPU(member, ...) OPT_ROW(top_conf, profile.cpu.member, __VA_ARGS__)

#define NO_CALLERS "use sonde profile --top, where Enter shows the callers of a function"

static const struct opt top_opts_rows[] = {
	ROW(all_cpus, "all-cpus", 'a', OPT_BOOL, NULL, "all CPUs"),
	ROW(profile.run.pids, "pid", 'p', OPT_U32V, "PID", "these processes"),
	CPU(tids, "tid", 't', OPT_U32V, "TID", "these threads"),
	ROW(event.uid, "uid", 'u', OPT_STR, "USER", "processes of this user"),
	CPU(cpus, "cpu", 'C', OPT_STRV, "CPU", "these CPUs, as 0-3,8"),
	ROW(profile.run.cgroups, "cgroup", 'G', OPT_STRV, "PATH", "this cgroup",
	    .differs = "a path of the unified hierarchy"),
	OPT_CALL_ROW(perf_opts_event, "event", 'e', "EVENT", "what is sampled, with u or k behind a colon",
		     .differs = "cpu-clock (the default), task-clock and cycles; others are refused"),
	OPT_PARSE_ROW(top_conf, profile.cpu.frequency, perf_opts_frequency, "freq", 'F', "HZ",
		      "samples per second and CPU (4000), or max"),
	CPU(period, "count", 'c', OPT_U64, "N", "instead: a sample every N events"),
	ROW(delay_s, "delay", 'd', OPT_U64, "SECS", "seconds between two tables (2)"),
	ROW(table.rows, "entries", 'E', OPT_U32, "N", "this many functions"),
	ROW(least, "count-filter", 'f', OPT_U32, "N", "functions with more than N samples"),
	ROW(hist.rows.no_kernel, "hide_kernel_symbols", 'K', OPT_BOOL, NULL, "no functions of the kernel",
	    .differs = "percentages are of all samples"),
	ROW(hist.rows.no_user, "hide_user_symbols", 'U', OPT_BOOL, NULL, "functions of the kernel only",
	    .differs = "percentages are of all samples"),
	ROW(counts, "show-nr-samples", 'n', OPT_BOOL, NULL, "a column with numbers of samples"),
	ROW(periods, "show-total-period", 0, OPT_BOOL, NULL, "a column with sums of periods"),
	OPT_CALL_ROW(on_sort, "sort", 's', "KEYS", "what makes a row (dso,symbol)",
		     .differs = "comm, pid, cpu, dso, symbol, overhead, sample and period"),
	OPT_CALL_ROW(on_fields, "fields", 0, "KEYS", "the columns, or with + more of them",
		     .differs = "comm, pid, cpu, dso, symbol, overhead, sample and period"),
	ROW(chains, NULL, 'g', OPT_BOOL, NULL, "call graphs"),
	OPT_CALL_ROW(on_call_graph, "call-graph", 0, "HOW", "call graphs: MODE, and as of perf report -g",
		     .differs = "all by the unwind tables of the files, without copies of stacks"),
	ROW(children, "children", 0, OPT_BOOL, NULL, "a column with the samples of callees too (--no-children: not)"),
	OPT_CALL_ROW(on_limit, "percent-limit", 0, "PERCENT", "no rows below PERCENT"),
	ROW(hist.dsos, "dsos", 0, OPT_STRV, "FILE", "samples in these files"),
	ROW(hist.symbols, "symbols", 0, OPT_STRV, "NAME", "samples in these functions"),
	ROW(stdio, "stdio", 0, OPT_BOOL, NULL, "tables of text",
	    .differs = "also without a terminal; --duration TIME ends it"),
	PERF_IGNORED("tui", 0, NULL, "full screen", "it is that of sonde profile --top, with its keys"),
	PERF_IGNORED("zero", 'z', NULL, "a table without the samples of the one before", "always so"),
	PERF_IGNORED("verbose", 'v', NULL, "more messages", "ignored: the tables stay the same"),
	PERF_IGNORED("force", 0, NULL, "read files of other users", "always so"),
	PERF_IGNORED("demangle-kernel", 0, NULL, "demangled names of the kernel", "always so"),
	PERF_IGNORED("namespaces", 0, NULL, "namespaces of processes", "always so"),
	PERF_IGNORED("all-cgroups", 0, NULL, "cgroups of processes", "always so"),
	PERF_IGNORED("no-bpf-event", 0, NULL, "no events of BPF programs",
		     "ignored: only names of programs are taken"),
	PERF_IGNORED("mmap-pages", 'm', "PAGES", "size of rings", "ignored: --ring-size sets it"),
	PERF_IGNORED("num-thread-synthesize", 0, "N", "threads that read state", "ignored: one does"),
	PERF_IGNORED("proc-map-timeout", 0, "MS", "limit of reading maps", "ignored: the kernel reports mappings"),
	PERF_IGNORED("overwrite", 0, NULL, "rings that are overwritten", "ignored: what is lost is counted"),
	PERF_IGNORED("group", 0, NULL, "one group of counters", "ignored: one event is sampled"),
	REFUSED("comms", 0, "COMM", "use --where 'thread.name in (NAME, ...)'"),
	REFUSED("no-inherit", 'i', NULL, "children are processes of their own: use -p PID"),
	REFUSED("branch-any", 'b', NULL, PERF_NO_BRANCHES),
	REFUSED("branch-filter", 'j', "MASK", PERF_NO_BRANCHES),
	REFUSED("stitch-lbr", 0, NULL, PERF_NO_BRANCHES),
	REFUSED("dump-symtab", 'D', NULL, "use readelf -s FILE"),
	REFUSED("max-stack", 0, "N", "use --depth USER,KERNEL"),
	REFUSED("ignore-callees", 0, "REGEX", NO_CALLERS),
	REFUSED("hierarchy", 0, NULL, NO_CALLERS),
	REFUSED("group-sort-idx", 0, "N", PERF_NO_GROUPS),
	REFUSED("realtime", 'r', "PRIO", "use chrt around the command; --no-boost leaves priorities alone"),
	REFUSED("column-widths", 'w', "WIDTHS", "columns are as wide as their texts: use sonde profile -o json"),
	REFUSED("percentage", 0, "HOW", "percentages are of the rows that are shown: use -n for numbers"),
	REFUSED("raw-trace", 0, NULL, "samples have no tracepoint fields: use sonde profile -o json"),
	REFUSED("vmlinux", 'k', "FILE", PERF_BUILT_IN),
	REFUSED("ignore-vmlinux", 0, NULL, PERF_BUILT_IN),
	REFUSED("kallsyms", 0, "FILE", PERF_BUILT_IN),
	PERF_SWITCH_ROWS,
	REFUSED("sym-annotate", 0, "NAME", PERF_NO_ASM),
	PERF_ASM_ROWS,
	OPT_END
};

static size_t top_sets(void *conf, struct opt_set *ret_sets)
{
	static const uint8_t columns[] = { PERF_COLUMN_OVERHEAD, PERF_COLUMN_DSO, PERF_COLUMN_SYM, PERF_COLUMN__MAX };
	struct top_conf *c = conf;

	memcpy(c->table.columns, columns, sizeof(columns));
	c->hist.rows.keys[PERF_KEY_DSO] = c->hist.rows.keys[PERF_KEY_SYM] = true;
	c->table.quiet = c->children = true;
	c->table.chain = (struct perf_chain_opts){ .form = PERF_CHAIN_GRAPH, .min_percent = 0.5 };
	c->delay_s = 2;
	ret_sets[0] = (struct opt_set){ .title = "top", .opts = top_opts_rows, .conf = c };
	return 1 + cmd_profile_sets(&c->profile, ret_sets + 1);
}

/* ---- tables ---- */

static uint64_t kernel_samples(const struct perf_hist *h)
{
	uint64_t n = 0;

	for (size_t i = 0; i < h->rows.cells.len; i++)
		n += h->rows.frames.items[h->rows.cells.items[i].first].level == 'k' ? h->rows.cells.items[i].count
										     : 0;
	return n;
}

static void put_heading(const struct top_conf *c, const struct perf_hist *h, struct buf *out)
{
	const struct run_conf *run = &c->profile.run;
	const uint64_t n = h->rows.all.count;
	const size_t from = out->len;

	buf_printf(out,
		   "   PerfTop: %7" PRIu64 " irqs/sec  kernel:%4.1f%%  exact:  0.0%% lost: %" PRIu64 "/%" PRIu64
		   " drop: 0/0 [",
		   n / c->delay_s, n ? 100.0 * (double)kernel_samples(h) / (double)n : 0.0, h->lost, h->lost);
	if (c->profile.cpu.period)
		buf_printf(out, "%" PRIu64 " ", c->profile.cpu.period);
	else
		buf_printf(out, "%uHz ", c->profile.cpu.frequency);
	buf_printf(out, "%s],  (", c->event.cycles ? "cycles" : "cpu-clock");
	if (run->pids.len)
		buf_printf(out, "target_pid: %u)\n", run->pids.items[0]);
	else
		buf_printf(out, "all, %d CPUs)\n", get_nprocs());
	for (size_t i = out->len - from; i > 1; i--)
		buf_add_char(out, '-');
	buf_add_str(out, "\n\n");
}

/* Rows with few samples, and those that do not fit, are at the end: they are counted off. */
static uint32_t rows_to_show(const struct top_conf *c, const struct perf_hist *h)
{
	uint32_t n = 0;

	while (n < h->rows.rows.len && (!c->table.rows || n < c->table.rows) &&
	       h->rows.rows.items[n].total.count > c->least)
		n++;
	return n;
}

static int print_table(struct top_conf *c)
{
	struct perf_hist *h = c->live;
	struct perf_table_opts t = c->table;
	int r = perf_hist_finish(h);

	if (r < 0)
		return r;
	perf_table_set(&t, PERF_COLUMN_CHILDREN, c->hist.rows.children && h->rows.has_chains);
	t.chain.callee = !t.chain.order_given ? !c->hist.rows.children : t.chain.callee;
	t.rows = rows_to_show(c, h);
	buf_reset(&c->text);
	if (outfile_is_tty(c->out))
		buf_add_str(&c->text, "\033[H\033[J");
	put_heading(c, h, &c->text);
	if (t.rows)
		r = perf_table_put(&h->rows, &t, &c->text);
	buf_add_char(&c->text, '\n');
	perf_hist_clear(h);
	if (r >= 0)
		r = buf_error(&c->text) ? buf_error(&c->text) : outfile_record(c->out, c->text.data, c->text.len);
	return r < 0 ? r : outfile_flush(c->out);
}

static int top_open(struct sink *s, _unused_ struct err *err)
{
	struct top_conf *c = s->opts->ctx;
	int r = perf_hist_open(s->state, &c->hist, s->opts);

	c->live = r < 0 ? NULL : s->state;
	return r;
}

/* The last table is that of the rest, unless it has none. */
static int top_close(struct sink *s)
{
	struct top_conf *c = s->opts->ctx;
	struct perf_hist *h = s->state;
	int r = h->sums.len ? print_table(c) : 0;

	c->live = NULL;
	perf_hist_fini(h);
	return r;
}

static const struct sink_ops top_sink = {
	.name = "perf-top",
	.summary = "tables of perf top",
	.shows = SINK_SHOWS_STACKS,
	.state_size = sizeof(struct perf_hist),
	.open = top_open,
	.event = perf_hist_event,
	.close = top_close,
};

static int on_timer(void *ctx, _unused_ uint64_t now_ns)
{
	struct top_conf *c = ctx;

	return c->live ? print_table(c) : 0;
}

static int started(void *ctx, struct loop *loop, _unused_ struct pipeline *p, struct err *err)
{
	struct top_conf *c = ctx;
	const uint64_t ns = c->delay_s * NS_PER_S;
	int r = loop_add_timer(loop, ns, ns, on_timer, c, NULL);

	return r < 0 ? err_errno(err, r, "cannot print tables") : 0;
}

/* ---- the run ---- */

static int run_tables(struct top_conf *c, const struct cmd_words *w)
{
	const struct pipeline_probe probes[] = { { .ops = probe_find("cpu"), .conf = &c->profile.cpu } };
	const struct stack_view view = { .by_thread = c->hist.rows.keys[PERF_KEY_PID] };
	const struct sym_opts symbols = { 0 };
	const struct run_stacks stacks = {
		.view = &view,
		.symbols = &symbols,
		.hertz = c->profile.cpu.period ? 0 : c->profile.cpu.frequency,
	};
	const struct run_ops spec = {
		.unit = "sample",
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.stacks = &stacks,
		.cmdline = w->line,
		.output = "",
		.watcher = &top_sink,
		.watcher_ctx = c,
		.started = started,
		.started_ctx = c,
		.nice = c->profile.cpu.no_nice ? 0 : TOP_NICE,
	};
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct run_conf *run_conf = &c->profile.run;
	struct err err = { 0 };
	int r = run_settle(run_conf, NULL, "rec", &texts, &err), status;

	if (r >= 0)
		r = outfile_open(NULL, &c->out, &err);
	if (r < 0)
		return cmd_fail(r, &err);
	if (!run_conf->ring_bytes)
		run_conf->ring_bytes = RING_BYTES;
	status = run(run_conf, &spec);
	outfile_free(c->out);
	buf_fini(&c->text);
	vec_fini(&c->profile.cpu.tids);
	return status;
}

static int prepare(struct top_conf *c, const struct cmd_words *w, struct err *err)
{
	struct cpu_conf *cpu = &c->profile.cpu;
	int r = perf_opts_apply(&c->event, &c->profile.run, cpu, &c->where, err);

	if (r < 0)
		return r;
	if (w->words.len || w->command.len)
		return err_set(err, -EINVAL, "%s: perf top runs no command: use sonde compat perf record",
			       w->words.len ? w->words.items[0] : w->command.items[0]);
	if (!c->delay_s)
		return err_set(err, -EINVAL, "-d 0: expected seconds");
	if (!cpu->frequency && !cpu->period)
		cpu->frequency = DEFAULT_HZ;
	if (!c->chains)
		cpu->depth = cpu->kernel_depth = 1;
	c->hist.rows.children = c->children && c->chains;
	if (c->counts)
		perf_table_set(&c->table, PERF_COLUMN_SAMPLES, true);
	if (c->periods)
		perf_table_set(&c->table, PERF_COLUMN_PERIOD, true);
	return 0;
}

static int top_run_dialect(void *conf, const struct cmd_words *w)
{
	struct top_conf *c = conf;
	bool screen = !c->stdio && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct err err = { 0 };
	int r = prepare(c, w, &err), status;

	c->profile.top = screen;
	if (r < 0) {
		status = cmd_fail(r, &err);
	} else {
		status = screen ? cmd_profile_main(&c->profile, NULL, w) : run_tables(c, w);
	}
	buf_fini(&c->where);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat perf top", "functions of all CPUs, full screen" },
	{ "sonde compat perf top --stdio -F 99 -p 1234", "of a process, as text" },
	{ 0 },
};

static const struct cmd top_cmd = {
	.name = "compat perf top",
	.summary = "functions live in perf top's table",
	.args = "",
	.doc = "Shows the functions that the CPUs run: full screen as sonde profile --top does, or with --stdio and "
	       "without a terminal in tables of perf top, one every two seconds, each of the samples since the one "
	       "before.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct top_conf),
	.sets = top_sets,
	.run = top_run_dialect,
};

const struct dialect dialect_perf_top = { .tool = "perf", .verb = "top", .cmd = &top_cmd, .native = "profile" };
