// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat perf record: samples of the CPU clock into a recording of sonde.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile.h"
#include "compat/compat.h"
#include "compat/perf/perf_opts.h"

#define DEFAULT_HZ 4000

struct record_conf {
	struct perf_event_opts event; /* at the start: functions of options take it */
	struct profile_conf profile;
	bool all_cpus, chains, dry_run, kernel_chains, user_chains;
	const char *output;

	/* while it runs */
	struct child_opts child;
	int wait_status;
	struct buf where;
};

/* "fp", "dwarf[,SIZE]", "lbr" or "no" */
static int on_call_graph(void *conf, const char *arg, struct err *err)
{
	struct record_conf *c = conf;

	c->chains = perf_opts_after_mode(arg) != arg;
	if (strcmp(arg, "no") != 0 && !c->chains)
		return err_set(err, -EINVAL, "--call-graph %s: expected fp, dwarf or lbr", arg);
	return 0;
}

#define ROW(member, ...) OPT_ROW(record_conf, member, __VA_ARGS__)
#define CPU(member, ...) OPT_ROW(record_conf, profile.cpu.member, __VA_ARGS__)

#define FULL "always so"
#define NO_PARTS "use sonde profile -o store:DIR, or --rotate with another output"
#define NO_CLANG "programs are built in: sonde has no scripts in C"
#define NO_FILTER "use --where EXPR (sonde help filter)"
#define CONTROL "stop it by a signal, or use sonde agent and sonde control"
#define ONE_THREAD "one thread reads all CPUs: a larger --ring-size helps where samples are lost"

static const struct opt record_opts[] = {
	ROW(all_cpus, "all-cpus", 'a', OPT_BOOL, NULL, "all CPUs, whatever runs there"),
	OPT_CALL_ROW(perf_opts_event, "event", 'e', "EVENT", "what is sampled, with u or k behind a colon",
		     .differs = "cpu-clock (the default), task-clock and cycles; others are refused"),
	OPT_PARSE_ROW(record_conf, profile.cpu.frequency, perf_opts_frequency, "freq", 'F', "HZ",
		      "samples per second and CPU (4000), or max"),
	CPU(period, "count", 'c', OPT_U64, "N", "instead: a sample every N events"),
	ROW(chains, NULL, 'g', OPT_BOOL, NULL, "call chains"),
	OPT_CALL_ROW(on_call_graph, "call-graph", 0, "MODE", "call chains by frame pointers, DWARF or branch records",
		     .differs = "all by the unwind tables of the files, without copies of stacks"),
	ROW(kernel_chains, "kernel-callchains", 0, OPT_BOOL, NULL, "kernel part of call chains only"),
	ROW(user_chains, "user-callchains", 0, OPT_BOOL, NULL, "user part of call chains only"),
	ROW(profile.run.pids, "pid", 'p', OPT_U32V, "PID", "these processes"),
	CPU(tids, "tid", 't', OPT_U32V, "TID", "these threads"),
	ROW(event.uid, "uid", 'u', OPT_STR, "USER", "processes of this user"),
	CPU(cpus, "cpu", 'C', OPT_STRV, "CPU", "these CPUs, as 0-3,8"),
	ROW(profile.run.cgroups, "cgroup", 'G', OPT_STRV, "PATH", "this cgroup",
	    .differs = "a path of the unified hierarchy, for the whole run"),
	ROW(event.user, "all-user", 0, OPT_BOOL, NULL, "samples in user mode only"),
	ROW(event.kernel, "all-kernel", 0, OPT_BOOL, NULL, "samples in the kernel only"),
	ROW(output, "output", 'o', OPT_STR, "FILE", "the recording (perf.data); - is standard output",
	    .differs = "a recording of sonde, which perf script, report and others of sonde compat read"),
	ROW(profile.run.quiet, "quiet", 'q', OPT_BOOL, NULL, "no messages"),
	ROW(profile.run.verbose, "verbose", 'v', OPT_COUNT, NULL, "counts of samples and losses at the end"),
	ROW(dry_run, "dry-run", 0, OPT_BOOL, NULL, "check the options and exit"),
	PERF_IGNORED("timestamp", 'T', NULL, "times of samples", FULL),
	PERF_IGNORED("sample-cpu", 0, NULL, "CPUs of samples", FULL),
	PERF_IGNORED("period", 'P', NULL, "periods of samples", FULL),
	PERF_IGNORED("sample-identifier", 0, NULL, "identifiers of events", FULL),
	PERF_IGNORED("stat", 's', NULL, "counts per thread", FULL),
	PERF_IGNORED("namespaces", 0, NULL, "namespaces of processes", FULL),
	PERF_IGNORED("all-cgroups", 0, NULL, "cgroups of processes", FULL),
	PERF_IGNORED("buildid-all", 0, NULL, "build ids of all files", FULL),
	PERF_IGNORED("buildid-mmap", 0, NULL, "build ids in mappings", FULL),
	PERF_IGNORED("no-buildid", 'B', NULL, "no build ids", "ignored: names are taken while recording"),
	PERF_IGNORED("no-buildid-cache", 'N', NULL, "no cache of build ids", "ignored: sonde has none"),
	PERF_IGNORED("no-bpf-event", 0, NULL, "no events of BPF programs",
		     "ignored: only names of programs are taken"),
	PERF_IGNORED("exclude-perf", 0, NULL, "no samples of the tool itself",
		     "ignored: it is a process like others"),
	PERF_IGNORED("per-thread", 0, NULL, "rings per thread", "ignored: rings are those of CPUs"),
	PERF_IGNORED("mmap-pages", 'm', "PAGES", "size of rings", "ignored: --ring-size sets it"),
	PERF_IGNORED("mmap-flush", 0, "N", "least bytes to read", "ignored: --latency sets the delay"),
	PERF_IGNORED("no-buffering", 0, NULL, "read at once", "ignored: --latency sets the delay"),
	PERF_IGNORED("aio", 0, "N", "asynchronous writes", "ignored: writes hold no sample up", .optional = true),
	PERF_IGNORED("tail-synthesize", 0, NULL, "state at the end", "ignored: state is read at the start"),
	PERF_IGNORED("synth", 0, "WHAT", "state from before the start", "ignored: all of it is taken"),
	PERF_IGNORED("num-thread-synthesize", 0, "N", "threads that read state", "ignored: one does"),
	PERF_IGNORED("proc-map-timeout", 0, "MS", "limit of reading maps", "ignored: the kernel reports mappings"),
	PERF_IGNORED("kcore", 0, NULL, "copy of /proc/kcore",
		     "ignored: names of the kernel are taken while recording"),
	PERF_IGNORED("strict-freq", 0, NULL, "fail where the kernel lowers the frequency", FULL),
	PERF_IGNORED("group", 0, NULL, "one group of counters", "ignored: one event is sampled"),
	PERF_IGNORED("running-time", 0, NULL, "times of counters", "ignored: the clock always runs"),
	REFUSED("no-inherit", 'i', NULL, "children are selected with their parent: use -p PID for a process alone"),
	REFUSED("delay", 'D', "MS", "start sonde later: sleep 1; sonde compat perf record -p PID"),
	REFUSED("branch-any", 'b', NULL, PERF_NO_BRANCHES),
	REFUSED("branch-filter", 'j', "MASK", PERF_NO_BRANCHES),
	REFUSED("data", 'd', NULL, PERF_NO_DATA),
	REFUSED("phys-data", 0, NULL, PERF_NO_DATA),
	REFUSED("data-page-size", 0, NULL, PERF_NO_DATA),
	REFUSED("code-page-size", 0, NULL, PERF_NO_DATA),
	REFUSED("weight", 'W', NULL, PERF_NO_DATA),
	REFUSED("intr-regs", 'I', "REGS", PERF_NO_REGS, .optional = true),
	REFUSED("user-regs", 0, "REGS", PERF_NO_REGS, .optional = true),
	REFUSED("raw-samples", 'R', NULL, "tracepoints are not sampled: use sonde syscalls or sonde monitor"),
	REFUSED("filter", 0, "FILTER", NO_FILTER),
	REFUSED("clockid", 'k', "CLOCK",
		"times are those of CLOCK_BOOTTIME: sonde profile -o json has the wall clock"),
	REFUSED("no-samples", 'n', NULL, "use sonde record for state without samples"),
	REFUSED("realtime", 'r', "PRIO", "use chrt around the command; --no-boost leaves priorities alone"),
	REFUSED("off-cpu", 0, NULL, "use sonde profile --mode off-cpu"),
	REFUSED("switch-events", 0, NULL, "use sonde profile --mode off-cpu"),
	REFUSED("snapshot", 'S', "OPTS", PERF_NO_AUX, .optional = true),
	REFUSED("aux-sample", 0, "OPTS", PERF_NO_AUX, .optional = true),
	REFUSED("transaction", 0, NULL, "samples have no transaction state: use perf with a CPU that has it"),
	REFUSED("overwrite", 0, NULL, "use sonde record --keep TIME, the flight recorder"),
	REFUSED("switch-output", 0, "WHEN", NO_PARTS, .optional = true),
	REFUSED("switch-output-event", 0, "EVENT", NO_PARTS),
	REFUSED("switch-max-files", 0, "N", NO_PARTS),
	REFUSED("max-size", 0, "SIZE", NO_PARTS),
	REFUSED("timestamp-filename", 0, NULL, "name it: -o perf.data.$(date +%s)"),
	REFUSED("timestamp-boundary", 0, NULL, "use sonde compat perf script -F time on the recording"),
	REFUSED("compression-level", 'z', "N", "compress the file: -r reads zstd and gzip", .optional = true),
	REFUSED("control", 0, "FDS", CONTROL),
	REFUSED("threads", 0, "SPEC", ONE_THREAD, .optional = true),
	REFUSED("affinity", 0, "MODE", ONE_THREAD),
	REFUSED("debuginfod", 0, "URLS", "names come from this host: sonde profile --symfs DIR adds files",
		.optional = true),
	REFUSED("vmlinux", 0, "FILE", PERF_BUILT_IN),
	REFUSED("clang-path", 0, "PATH", NO_CLANG),
	REFUSED("clang-opt", 0, "OPTS", NO_CLANG),
	OPT_END
};

static size_t record_sets(void *conf, struct opt_set *ret_sets)
{
	struct record_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "record", .opts = record_opts, .conf = c };
	return 1 + cmd_profile_sets(&c->profile, ret_sets + 1);
}

/* ---- the run ---- */

/* A command only says how long to record where something else says what. */
static bool selects(const struct record_conf *c)
{
	const struct cpu_conf *cpu = &c->profile.cpu;

	return c->all_cpus || c->profile.run.pids.len || cpu->tids.len || cpu->cpus.len || c->event.uid;
}

static int check(const struct record_conf *c, struct err *err)
{
	const struct run_conf *run = &c->profile.run;

	if (run->outputs.len || run->json || run->write || run->read)
		return err_set(err, -EINVAL, "perf record writes a recording: use sonde profile for other outputs");
	return 0;
}

static int prepare(struct record_conf *c, struct err *err)
{
	struct profile_conf *p = &c->profile;
	int r = check(c, err);

	if (r >= 0)
		r = perf_opts_apply(&c->event, &p->run, &p->cpu, &c->where, err);
	if (r < 0)
		return r;
	if (!p->cpu.frequency && !p->cpu.period)
		p->cpu.frequency = DEFAULT_HZ;
	if (!c->chains)
		p->cpu.depth = p->cpu.kernel_depth = 1;
	p->cpu.user_only |= c->user_chains;
	p->cpu.kernel_only |= c->kernel_chains;
	p->run.write = c->output ? c->output : "perf.data";
	p->run.write_format = "rec";
	c->child = (struct child_opts){ .ret_wait = &c->wait_status, .aside = selects(c) };
	p->child = &c->child;
	return 0;
}

/* perf keeps the file before as perf.data.old. */
static void keep_old(const char *path)
{
	_cleanup_(buf_fini) struct buf old = { 0 };
	struct stat st;

	if (!strcmp(path, "-") || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	buf_printf(&old, "%s.old", path);
	if (rename(path, buf_str(&old)) < 0)
		log_warn("cannot keep %s as %s: %s", path, buf_str(&old), strerror(errno));
}

static void say_end(const char *path, uint64_t samples)
{
	struct stat st = { 0 };

	if (strcmp(path, "-") != 0 && stat(path, &st) < 0)
		return;
	fprintf(stderr, "[ perf record: Captured and wrote %.3f MB %s (%" PRIu64 " samples) ]\n",
		(double)st.st_size / 1024 / 1024, path, samples);
}

static int record(struct record_conf *c, const struct cmd_words *w)
{
	const char *path = c->profile.run.write;
	bool quiet = c->profile.run.quiet;
	int status;

	keep_old(path);
	c->profile.run.quiet = true; /* its own last line replaces those of sonde profile */
	status = cmd_profile_main(&c->profile, NULL, w);
	if (!quiet)
		say_end(path, c->profile.samples);
	return status;
}

static int record_run(void *conf, const struct cmd_words *w)
{
	struct record_conf *c = conf;
	struct err err = { 0 };
	int r = prepare(c, &err), status = CMD_OK;

	if (r < 0) {
		status = cmd_fail(r, &err);
	} else if (!c->dry_run) {
		status = record(c, w);
	}
	buf_fini(&c->where);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat perf record -F 99 -a -g -- sleep 10", "all CPUs for ten seconds" },
	{ "sonde compat perf record -g -p 1234 -o app.rec", "a process, until Ctrl-C" },
	{ "sonde compat perf record -g ./app", "a command and its children" },
	{ 0 },
};

static const struct cmd record_cmd = {
	.name = "compat perf record",
	.summary = "CPU samples into a recording",
	.args = "[COMMAND [ARGUMENTS]]",
	.doc = "Samples the CPU clock as perf record does. The file is a recording of sonde: perf script and perf "
	       "report of sonde compat read it, and sonde profile -r makes flame graphs and other formats of it; "
	       "perf itself does not read it.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct record_conf),
	.sets = record_sets,
	.run = record_run,
};

const struct dialect dialect_perf_record = {
	.tool = "perf",
	.verb = "record",
	.cmd = &record_cmd,
	.native = "profile",
	.first_word_ends = true,
};
