// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat perf report: a table of the functions of a recording.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "compat/compat.h"
#include "compat/perf/perf_header.h"
#include "compat/perf/perf_hist.h"
#include "compat/perf/perf_input.h"
#include "compat/perf/perf_opts.h"
#include "compat/perf/perf_select.h"
#include "compat/perf/perf_table.h"
#include "event/event.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

#define MIN_CHAIN_PERCENT 0.5

struct report_conf {
	struct perf_select select;
	struct run_conf run;
	struct perf_hist_opts hist;
	struct perf_table_opts table;
	bool children, counts, periods, inverted;
	bool header, header_only, stats, demangle;
	bool fields_given;

	/* while it runs */
	struct outfile *out;
};

OPT_CALL(on_sort)
{
	struct report_conf *c = conf;

	return perf_table_sort(arg, false, &c->table, &c->hist.rows, err);
}

OPT_CALL(on_fields)
{
	struct report_conf *c = conf;

	c->fields_given = c->fields_given || *arg != '+';
	return perf_table_sort(arg, true, &c->table, &c->hist.rows, err);
}

OPT_CALL(on_chain)
{
	return perf_chain_parse(arg ? arg : "graph", &((struct report_conf *)conf)->table.chain, err);
}

OPT_CALL(on_limit)
{
	char *end;

	((struct report_conf *)conf)->table.min_percent = strtod(arg, &end);
	return *end || end == arg ? err_set(err, -EINVAL, "--percent-limit %s: expected a percentage", arg) : 0;
}

#define ROW(member, ...) OPT_ROW(report_conf, member, __VA_ARGS__)

#define SCREEN "use sonde profile --top -r FILE"
#define NO_PARENT "use -g caller, or sonde profile --top for the callers of one function"
#define NO_HIERARCHY "use sonde profile -r FILE -o svg, where processes and functions are nested"

static const struct opt report_opts[] = {
	ROW(run.read, "input", 'i', OPT_STR, "FILE", "recording to read (default perf.data, or a pipe as stdin)",
	    .differs = "a recording of sonde, not a file of perf"),
	OPT_CALL_ROW(on_sort, "sort", 's', "KEYS", "what makes a row (comm,dso,symbol)",
		     .differs = "comm, pid, cpu, dso, symbol, overhead, sample and period"),
	OPT_CALL_ROW(on_fields, "fields", 'F', "KEYS", "the columns, or with + more of them",
		     .differs = "comm, pid, cpu, dso, symbol, overhead, sample and period"),
	OPT_CALL_ROW(on_chain, "call-graph", 'g', "HOW", "the call graph of each row (graph,0.5,caller)",
		     .loose = true, .differs = "functions by name; keys address and srcline are refused"),
	ROW(inverted, "inverted", 'G', OPT_BOOL, NULL, "call graphs from the outermost function inwards"),
	ROW(children, "children", 0, OPT_BOOL, NULL, "a column with the samples of callees too (--no-children: not)"),
	ROW(counts, "show-nr-samples", 'n', OPT_BOOL, NULL, "a column with numbers of samples"),
	ROW(periods, "show-total-period", 0, OPT_BOOL, NULL, "a column with sums of periods"),
	OPT_CALL_ROW(on_limit, "percent-limit", 0, "PERCENT", "no rows below PERCENT"),
	ROW(table.separator, "field-separator", 't', OPT_STR, "SEP",
	    "columns without padding, with SEP between them"),
	PERF_SELECT_ROWS(report_conf, 'C', 'c'),
	ROW(hist.dsos, "dsos", 'd', OPT_STRV, "FILE", "samples in these files"),
	ROW(hist.symbols, "symbols", 'S', OPT_STRV, "NAME", "samples in these functions"),
	ROW(hist.rows.symbol_part, "symbol-filter", 0, OPT_STR, "TEXT", "functions with TEXT in their name"),
	ROW(hist.rows.named, "hide-unresolved", 'U', OPT_BOOL, NULL, "functions with a name only"),
	ROW(table.quiet, "quiet", 'q', OPT_BOOL, NULL, "rows only"),
	ROW(header, "header", 0, OPT_BOOL, NULL, "facts of the host and the recording in front",
	    .differs = "host, kernel, machine, CPUs and file only"),
	ROW(header_only, "header-only", 0, OPT_BOOL, NULL, "these facts only",
	    .differs = "host, kernel, machine, CPUs and file only"),
	ROW(stats, "stats", 0, OPT_BOOL, NULL, "numbers of samples and losses only",
	    .differs = "samples and losses, no other records"),
	ROW(run.symfs, "symfs", 0, OPT_STR, "DIR", "read files with symbols below DIR",
	    .differs = "in addition to the names in the recording"),
	ROW(demangle, "demangle", 0, OPT_BOOL, NULL, "demangled names (--no-demangle: not)"),
	PERF_IGNORED("stdio", 0, NULL, "a table of text", "always so: sonde profile --top is the full screen"),
	PERF_IGNORED("stdio-color", 0, "WHEN", "colours", "ignored: the table has none"),
	PERF_IGNORED("force", 'f', NULL, "read files of other users", "always so"),
	PERF_IGNORED("verbose", 'v', NULL, "more messages", "ignored: the table stays the same"),
	PERF_IGNORED("demangle-kernel", 0, NULL, "demangled names of the kernel", "always so"),
	PERF_IGNORED("full-source-path", 0, NULL, "whole paths of source files", "ignored: no lines are shown"),
	PERF_IGNORED("skip-empty", 0, NULL, "no tables of events without samples", "always so"),
	PERF_IGNORED("group", 0, NULL, "events of a group together", "ignored: a recording has one event"),
	PERF_IGNORED("disable-order", 0, NULL, "no order by time", "ignored: sums have none"),
	REFUSED("tui", 0, NULL, SCREEN),
	REFUSED("gtk", 0, NULL, SCREEN),
	REFUSED("inline", 0, NULL, "use sonde profile -r FILE --lines -o folded"),
	REFUSED("max-stack", 0, "N", "use sonde compat perf script --max-stack N"),
	REFUSED("hierarchy", 0, NULL, NO_HIERARCHY),
	REFUSED("parent", 'p', "REGEX", NO_PARENT),
	REFUSED("exclude-other", 'x', NULL, NO_PARENT),
	REFUSED("ignore-callees", 0, "REGEX", NO_PARENT),
	REFUSED("show-ref-call-graph", 0, NULL, PERF_NO_GROUPS),
	REFUSED("group-sort-idx", 0, "N", PERF_NO_GROUPS),
	REFUSED("column-widths", 'w', "WIDTHS", "columns are as wide as their texts: use -t SEP"),
	REFUSED("pretty", 0, "KEY", "use -t SEP for rows that programs read"),
	REFUSED("percentage", 0, "HOW", "percentages are of the rows that are shown: use -n for numbers"),
	REFUSED("percent-type", 0, "TYPE", "percentages are of the rows that are shown: use -n for numbers"),
	REFUSED("show-info", 'I', NULL, "use --header"),
	REFUSED("show-cpu-utilization", 0, NULL, "use --sort comm,dso, where the kernel is a row of its own"),
	REFUSED("threads", 'T', NULL, "use --sort pid"),
	REFUSED("tasks", 0, NULL, "use sonde monitor -r FILE --json --where 'evt.type=NAME'"),
	REFUSED("mmaps", 0, NULL, "use sonde monitor -r FILE --json --where 'evt.type=NAME'"),
	REFUSED("modules", 'm', NULL, PERF_BUILT_IN),
	REFUSED("vmlinux", 'k', "FILE", PERF_BUILT_IN),
	REFUSED("ignore-vmlinux", 0, NULL, PERF_BUILT_IN),
	REFUSED("kallsyms", 0, "FILE", PERF_BUILT_IN),
	REFUSED("dump-raw-trace", 'D', NULL, "use sonde profile -r FILE -o json"),
	REFUSED("raw-trace", 0, NULL, "samples have no tracepoint fields: use sonde profile -r FILE -o json"),
	REFUSED("samples", 0, "N", "use sonde compat perf script --symbols NAME"),
	REFUSED("ns", 0, NULL, "rows have no times: use sonde compat perf script --ns"),
	REFUSED("time-quantum", 0, "TIME", "rows have no times: use sonde compat perf script -F time"),
	REFUSED("socket-filter", 0, "N", "use --cpu LIST"),
	REFUSED("mem-mode", 0, NULL, PERF_NO_DATA),
	REFUSED("branch-stack", 'b', NULL, PERF_NO_BRANCHES),
	REFUSED("branch-history", 0, NULL, PERF_NO_BRANCHES),
	REFUSED("stitch-lbr", 0, NULL, PERF_NO_BRANCHES),
	REFUSED("total-cycles", 0, NULL, PERF_NO_BRANCHES),
	REFUSED("itrace", 0, "OPTS", PERF_NO_AUX, .optional = true),
	PERF_SWITCH_ROWS,
	PERF_ASM_ROWS,
	OPT_END
};

static size_t report_sets(void *conf, struct opt_set *ret_sets)
{
	static const uint8_t columns[] = {
		PERF_COLUMN_OVERHEAD, PERF_COLUMN_COMM, PERF_COLUMN_DSO, PERF_COLUMN_SYM, PERF_COLUMN__MAX,
	};
	struct report_conf *c = conf;

	memcpy(c->table.columns, columns, sizeof(columns));
	c->hist.rows.keys[PERF_KEY_COMM] = c->hist.rows.keys[PERF_KEY_DSO] = c->hist.rows.keys[PERF_KEY_SYM] = true;
	c->children = c->demangle = true;
	c->table.chain = (struct perf_chain_opts){ .form = PERF_CHAIN_GRAPH, .min_percent = MIN_CHAIN_PERCENT };
	ret_sets[0] = (struct opt_set){ .title = "report", .opts = report_opts, .conf = c };
	return 1 + run_sets(&c->run, 0, ret_sets + 1);
}

/* ---- the sink ---- */

static int report_open(struct sink *s, _unused_ struct err *err)
{
	return perf_hist_open(s->state, &((struct report_conf *)s->opts->ctx)->hist, s->opts);
}

/* "98 ", "1K": as few digits as perf's. */
static void put_number(uint64_t n, struct buf *out)
{
	static const char units[] = " KMGTPE";
	size_t unit = 0;

	for (; n > 1000 && unit < sizeof(units) - 2; n /= 1000)
		unit++;
	buf_printf(out, "%" PRIu64 "%c", n, units[unit]);
}

static void put_comment(const struct perf_hist *h, bool hint, struct buf *out)
{
	if (hint)
		buf_add_str(
			out,
			"# To display the perf.data header info, please use --header/--header-only options.\n#\n");
	buf_printf(out, "#\n# Total Lost Samples: %" PRIu64 "\n#\n# Samples: ", h->lost);
	put_number(h->rows.all.count, out);
	buf_printf(out, " of event '%s'\n# Event count (approx.): %" PRIu64 "\n#\n",
		   h->event ? h->event : "cpu-clock", h->rows.all.value);
}

static void put_stats(const struct perf_hist *h, struct buf *out)
{
	buf_printf(out,
		   "\nAggregated stats:\n          SAMPLE events: %10" PRIu64 "\n    LOST_SAMPLES events: %10" PRIu64
		   "\n",
		   h->rows.all.count, h->lost);
}

/* At the end, when it is known whether there are call chains. */
static void settle_columns(struct report_conf *c, const struct perf_hist *h)
{
	const bool children = c->hist.rows.children && h->rows.has_chains;

	if (!c->fields_given || !children)
		perf_table_set(&c->table, PERF_COLUMN_CHILDREN, children);
	if (!c->table.chain.order_given)
		c->table.chain.callee = !children && !c->inverted;
}

static int put_all(struct report_conf *c, const struct sink *s, struct buf *out)
{
	struct perf_hist *h = s->state;
	int r = c->header_only ? 0 : perf_hist_finish(h);

	if (c->header || c->header_only)
		perf_header_put(s->opts->host, c->run.read, out);
	if (r < 0 || c->header_only)
		return r < 0 ? r : buf_error(out);
	if (c->stats) {
		put_stats(h, out);
		return buf_error(out);
	}
	settle_columns(c, h);
	if (!c->table.quiet)
		put_comment(h, !c->header, out);
	r = perf_table_put(&h->rows, &c->table, out);
	buf_add_str(out, c->table.quiet ? "\n" : "\n\n");
	return r < 0 ? r : buf_error(out);
}

static int report_close(struct sink *s)
{
	struct report_conf *c = s->opts->ctx;
	_cleanup_(buf_fini) struct buf out = { 0 };
	int r = put_all(c, s, &out);

	if (r >= 0)
		r = outfile_record(c->out, out.data, out.len);
	if (r >= 0)
		r = outfile_flush(c->out);
	perf_hist_fini(s->state);
	return r;
}

static const struct sink_ops report_sink = {
	.name = "perf-report",
	.summary = "the table of perf report",
	.flags = SINK_AT_CLOSE | SINK_META,
	.shows = SINK_SHOWS_STACKS,
	.state_size = sizeof(struct perf_hist),
	.open = report_open,
	.event = perf_hist_event,
	.close = report_close,
};

/* ---- the run ---- */

static void settle(struct report_conf *c)
{
	c->hist.rows.children = c->children && (!c->fields_given || perf_table_has(&c->table, PERF_COLUMN_CHILDREN));
	c->table.chain.sym_first =
		c->table.columns[0] < PERF_COLUMN__MAX && !c->fields_given && c->table.columns[1] == PERF_COLUMN_SYM;
	if (c->counts)
		perf_table_set(&c->table, PERF_COLUMN_SAMPLES, true);
	if (c->periods)
		perf_table_set(&c->table, PERF_COLUMN_PERIOD, true);
}

static int report_run(void *conf, const struct cmd_words *w)
{
	struct report_conf *c = conf;
	const struct stack_view view = { .by_thread = c->hist.rows.keys[PERF_KEY_PID] };
	const struct perf_input in = {
		.view = &view,
		.sink = &report_sink,
		.ctx = c,
		.select = &c->select,
		.raw_names = !c->demangle,
	};
	struct err err = { 0 };
	int status;

	if (w->words.len > 1) {
		log_error("one word is expected at most, a part of functions' names; %s is too many",
			  w->words.items[1]);
		return CMD_USAGE;
	}
	if (w->words.len)
		c->hist.rows.symbol_part = w->words.items[0];
	settle(c);
	if (outfile_open(NULL, &c->out, &err) < 0)
		return cmd_error(CMD_FAIL, "%s", err.msg);
	status = perf_input_run(&c->run, &in, w);
	outfile_free(c->out);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat perf report --stdio", "functions of perf.data, with call graphs" },
	{ "sonde compat perf report --stdio --no-children -g none -i cpu.rec", "functions only" },
	{ "sonde compat perf report --stdio --sort comm,dso -n", "files, with numbers of samples" },
	{ 0 },
};

static const struct cmd report_cmd = {
	.name = "compat perf report",
	.summary = "functions of a recording in perf report's table",
	.args = "[PART OF A NAME]",
	.doc = "Prints the table of perf report --stdio over a recording of sonde. A frame without a name is a "
	       "file and an offset, and a stack that ends early says why in its outermost frame.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct report_conf),
	.sets = report_sets,
	.run = report_run,
};

const struct dialect dialect_perf_report = { .tool = "perf", .verb = "report", .cmd = &report_cmd };
