// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat perf script: samples of a recording in the lines of perf script.
 */

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "compat/compat.h"
#include "compat/perf/perf_input.h"
#include "compat/perf/perf_lines.h"
#include "compat/perf/perf_opts.h"
#include "compat/perf/perf_select.h"
#include "sinks/outfile.h"

struct script_conf {
	struct perf_lines lines; /* at the start: functions of options take it */
	struct perf_select select;
	struct run_conf run;
	bool demangle, inlines;
};

static int on_fields(void *conf, const char *arg, struct err *err)
{
	return perf_lines_fields(arg, &((struct perf_lines *)conf)->fields, err);
}

#define ROW(member, ...) OPT_ROW(script_conf, member, __VA_ARGS__)

#define NO_SCRIPTS "sonde runs no scripts: pipe the lines of sonde compat perf script, or sonde profile -o json"
#define NO_RECORDS "recordings have no such records of perf: use sonde profile -r FILE -o json"
#define STATE "use sonde monitor -r FILE --json --where 'evt.type=NAME', which shows events of processes"

static const struct opt script_opts[] = {
	ROW(run.read, "input", 'i', OPT_STR, "FILE", "recording to read (default perf.data, or a pipe as stdin)",
	    .differs = "a recording of sonde, not a file of perf"),
	OPT_CALL_ROW(on_fields, "fields", 'F', "FIELDS", "fields of lines; +FIELD and -FIELD change the default",
		     .differs =
			     "comm tid pid time cpu event ip sym symoff dso period srcline; the CPU is always known"),
	ROW(lines.no_chain, "hide-call-graph", 'G', OPT_BOOL, NULL, "the innermost frame only"),
	PERF_SELECT_ROWS(script_conf, 'C', 'c'),
	ROW(lines.symbols, "symbols", 'S', OPT_STRV, "NAME", "samples in these functions",
	    .differs = "names only, no addresses"),
	ROW(lines.dsos, "dsos", 0, OPT_STRV, "FILE", "samples in these files"),
	ROW(lines.stop, "stop-bt", 0, OPT_STRV, "NAME", "call chains end at these functions"),
	ROW(lines.max_stack, "max-stack", 0, OPT_U32, "N", "most frames of a call chain"),
	ROW(lines.ns, "ns", 0, OPT_BOOL, NULL, "times with nine decimals"),
	ROW(lines.reltime, "reltime", 0, OPT_BOOL, NULL, "times since the first sample"),
	ROW(lines.deltatime, "deltatime", 0, OPT_BOOL, NULL, "times since the sample before"),
	ROW(lines.header, "header", 0, OPT_BOOL, NULL, "facts of the host and the recording in front",
	    .differs = "host, kernel, machine, CPUs and file only"),
	ROW(lines.header_only, "header-only", 0, OPT_BOOL, NULL, "these facts only",
	    .differs = "host, kernel, machine, CPUs and file only"),
	ROW(run.symfs, "symfs", 0, OPT_STR, "DIR", "read files with symbols below DIR",
	    .differs = "in addition to the names in the recording"),
	ROW(inlines, "inline", 0, OPT_BOOL, NULL, "inlined functions", .differs = "not by default; slower"),
	ROW(demangle, "demangle", 0, OPT_BOOL, NULL, "demangled names (--no-demangle: not)"),
	PERF_IGNORED("force", 'f', NULL, "read files of other users", "always so"),
	PERF_IGNORED("verbose", 'v', NULL, "more messages", "ignored: lines stay the same"),
	PERF_IGNORED("demangle-kernel", 0, NULL, "demangled names of the kernel", "always so"),
	PERF_IGNORED("full-source-path", 0, NULL, "whole paths of source files", "always so"),
	PERF_IGNORED("show-lost-events", 0, NULL, "lost samples", "sonde profile -r FILE --stats counts them"),
	PERF_IGNORED("all-cpus", 'a', NULL, "of live scripts", "ignored: a recording has the CPUs it has"),
	REFUSED("dump-raw-trace", 'D', NULL, NO_RECORDS),
	REFUSED("dump-unsorted-raw-trace", 0, NULL, NO_RECORDS),
	REFUSED("debug-mode", 'd', NULL, "use sonde profile -r FILE --stats for what was lost"),
	REFUSED("Latency", 'L', NULL, "samples have no irq and preemption state: use sonde top for run queues"),
	REFUSED("list", 'l', NULL, NO_SCRIPTS),
	REFUSED("script", 's', "NAME", NO_SCRIPTS),
	REFUSED("gen-script", 'g', "LANG", NO_SCRIPTS),
	REFUSED("dlfilter", 0, "FILE", "use --where EXPR (sonde help filter)"),
	REFUSED("dlarg", 0, "ARG", "use --where EXPR (sonde help filter)"),
	REFUSED("list-dlfilters", 0, NULL, "use --where EXPR (sonde help filter)"),
	REFUSED("show-info", 'I', NULL, "use --header"),
	REFUSED("vmlinux", 'k', "FILE", PERF_BUILT_IN),
	REFUSED("kallsyms", 0, "FILE", PERF_BUILT_IN),
	REFUSED("show-kernel-path", 0, NULL, "the kernel's file is not recorded: sonde doctor names its BTF"),
	REFUSED("show-task-events", 0, NULL, STATE),
	REFUSED("show-mmap-events", 0, NULL, STATE),
	REFUSED("show-namespace-events", 0, NULL, STATE),
	REFUSED("show-bpf-events", 0, NULL, STATE),
	REFUSED("show-cgroup-events", 0, NULL, STATE),
	REFUSED("show-text-poke-events", 0, NULL, NO_RECORDS),
	REFUSED("show-round-events", 0, NULL, NO_RECORDS),
	REFUSED("show-switch-events", 0, NULL, "use sonde profile --mode off-cpu, which records waits"),
	PERF_SWITCH_ROWS,
	REFUSED("addr-range", 0, "N", "use --symbols NAME"),
	REFUSED("per-event-dump", 0, NULL, "a recording has one event: redirect the lines"),
	REFUSED("max-blocks", 0, "N", PERF_NO_BRANCHES),
	REFUSED("stitch-lbr", 0, NULL, PERF_NO_BRANCHES),
	REFUSED("itrace", 0, "OPTS", PERF_NO_AUX, .optional = true),
	REFUSED("insn-trace", 0, "FORM", PERF_NO_AUX, .optional = true),
	REFUSED("xed", 0, "FORM", PERF_NO_AUX, .optional = true),
	REFUSED("call-trace", 0, "FORM", PERF_NO_AUX, .optional = true),
	REFUSED("call-ret-trace", 0, "FORM", PERF_NO_AUX, .optional = true),
	REFUSED("graph-function", 0, "NAME", PERF_NO_AUX),
	REFUSED("guest-code", 0, NULL, PERF_NO_GUESTS),
	REFUSED("guestkallsyms", 0, "FILE", PERF_NO_GUESTS),
	REFUSED("guestmodules", 0, "FILE", PERF_NO_GUESTS),
	REFUSED("guestmount", 0, "DIR", PERF_NO_GUESTS),
	REFUSED("guestvmlinux", 0, "FILE", PERF_NO_GUESTS),
	OPT_END
};

static size_t script_sets(void *conf, struct opt_set *ret_sets)
{
	struct script_conf *c = conf;

	c->lines.fields = perf_lines_default();
	c->demangle = true;
	ret_sets[0] = (struct opt_set){ .title = "script", .opts = script_opts, .conf = c };
	return 1 + run_sets(&c->run, 0, ret_sets + 1);
}

static int print_lines(struct script_conf *c, const struct cmd_words *w)
{
	const struct stack_view view = { 0 };
	const struct perf_input in = {
		.view = &view,
		.sink = &perf_lines_sink,
		.ctx = &c->lines,
		.select = &c->select,
		.lines = c->inlines || c->lines.fields & PERF_FIELD_SRCLINE,
		.raw_names = !c->demangle,
	};
	struct err err = { 0 };
	int status;

	if (outfile_open(NULL, &c->lines.out, &err) < 0)
		return cmd_error(CMD_FAIL, "%s", err.msg);
	status = perf_input_run(&c->run, &in, w);
	outfile_free(c->lines.out);
	return status;
}

static int script_run(void *conf, const struct cmd_words *w)
{
	struct script_conf *c = conf;

	if (w->words.len)
		return cmd_error(CMD_USAGE, "perf script %s is not supported: " NO_SCRIPTS, w->words.items[0]);
	c->lines.header |= c->lines.header_only;
	c->lines.file = c->run.read ? c->run.read : "perf.data";
	return print_lines(c, w);
}

static const struct cmd_example examples[] = {
	{ "sonde compat perf script", "samples of perf.data" },
	{ "sonde compat perf script -i cpu.rec -F comm,ip,sym", "names and call chains" },
	{ "sonde compat perf script | stackcollapse-perf.pl | flamegraph.pl > cpu.svg", "a flame graph" },
	{ 0 },
};

static const struct cmd script_cmd = {
	.name = "compat perf script",
	.summary = "samples of a recording in perf script's lines",
	.args = "",
	.doc = "Prints the samples of a recording of sonde in the lines of perf script, which flame graph tools "
	       "read. A frame without a name is a file and an offset, and a stack that ends early says why in its "
	       "outermost frame.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct script_conf),
	.sets = script_sets,
	.run = script_run,
};

const struct dialect dialect_perf_script = { .tool = "perf", .verb = "script", .cmd = &script_cmd };
