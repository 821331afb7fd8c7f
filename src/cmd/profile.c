// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile: where the CPU time goes, by stack. Options, header lines and the default text are those of bcc's
 * profile(8); what this file adds is in the outputs.
 */
#include "cmd/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/closing.h"
#include "cmd/cmd.h"
#include "cmd/cpu_source.h"
#include "probe/probe.h"
#include "sinks/sink.h"
#include "sym/sym.h"

#define NS_PER_S 1000000000ULL
#define PROFILE_NICE (-10)	/* on a full host the tables for a new file would come after its samples */
#define SAMPLE_RING_BYTES (1u << 20)	/* per CPU: of samples, hundreds of ms even at 10,000 a second */
#define DEFAULT_HZ 49		/* no divisor of timers that tick 50, 100 or 1000 times a second */

#define ROW(member, ...) OPT_ROW(profile_conf, member, __VA_ARGS__)

static const struct opt profile_opts[] = {
	ROW(folded, "folded", 'f', OPT_BOOL, NULL, "one line per stack, for flame graphs (as -o folded)"),
	ROW(delimited, "delimited", 'd', OPT_BOOL, NULL, "a delimiter between kernel and user frames"),
	ROW(annotations, "annotations", 'a', OPT_BOOL, NULL, "_[k] behind kernel frames in folded text"),
	ROW(addresses, "address", 'A', OPT_BOOL, NULL, "raw addresses in front of frames, in bcc's text"),
	ROW(per_thread, "per-thread", 0, OPT_BOOL, NULL, "count the threads of a process apart"),
	ROW(lines, "lines", 0, OPT_BOOL, NULL,
	    "source file, line and inlined functions (DWARF; Go's own table), where the output has them"),
	ROW(stats, "stats", 0, OPT_BOOL, NULL,
	    "at the end, on stderr: how complete the stacks of each process are, what was lost, what it cost"),
	ROW(top, "top", 0, OPT_BOOL, NULL, "live view of functions and processes in the terminal"),
	ROW(diff, "diff", 0, OPT_BOOL, NULL,
	    "compare two recordings, OLD and NEW: folded lines with two counts, or -o svg:FILE"),
	ROW(stack_storage, "stack-storage-size", 0, OPT_U64, "N",
	    "most different stacks kept; the rest counts as lost (default: as many as 256 MB hold)"),
	ROW(hash_storage, "hash-storage-size", 0, OPT_U64, "N",
	    "most rows of process, name and stack kept; here a row is a stack, and the smaller of both limits holds"),
	ROW(max_depth, "perf-max-stack-depth", 0, OPT_U64, "N", "most frames of a stack, kernel and user each"),
	ROW(cgroupmap, "cgroupmap", 0, OPT_STR, "FILE",
	    "only the cgroups whose ids are keys of this pinned BPF map at the start"),
	ROW(mntnsmap, "mntnsmap", 0, OPT_STR, "FILE",
	    "only the mount namespaces whose inodes are keys of this pinned BPF map at the start"),
	ROW(ebpf, "ebpf", 0, OPT_BOOL, NULL,
	    "print the C text of the programs that run in the kernel, and nothing else"),
	ROW(title, "title", 0, OPT_STR, "TEXT", "title of the flame graph"),
	ROW(width, "width", 0, OPT_U32, "PIXELS", "width of the flame graph (default 1200)"),
	ROW(height, "height", 0, OPT_U32, "PIXELS", "height of one frame in it (default 16)"),
	OPT_END,
};

static size_t profile_sets(void *conf, struct opt_set *ret_sets)
{
	const struct probe_ops *cpu = probe_find("cpu");
	struct profile_conf *c = conf;

	c->cpu = cpu_conf_default;
	c->cpu.frequency = 0;	/* so that -F can be told from the default */
	ret_sets[0] = (struct opt_set){ "Profile", profile_opts, c };
	ret_sets[1] = (struct opt_set){ "Sampling", cpu->opts, &c->cpu };
	return 2 + run_sets(&c->run, ret_sets + 2);
}

/* ---- what does not go together ---- */

static int refuse(struct err *err, const char *a, const char *b)
{
	return err_set(err, -EINVAL, "%s and %s exclude each other", a, b);
}

static int check_pairs(const struct profile_conf *c, struct err *err)
{
	if (c->run.pids.len && c->cpu.tids.len)
		return refuse(err, "-p", "-L");
	if (c->cpu.user_only && c->cpu.kernel_only)
		return refuse(err, "-U", "-K");
	if (c->cpu.frequency && c->cpu.period)
		return refuse(err, "-F", "-c");
	if (c->cpu.off_cpu && c->cpu.wall)
		return refuse(err, "--off-cpu", "--wall");
	if (c->folded && c->top)
		return refuse(err, "-f", "--top");
	if (c->cpu.off_cpu && (c->cpu.period || c->cpu.frequency))
		return refuse(err, "--off-cpu", c->cpu.period ? "-c" : "-F");
	if (c->run.count)
		return err_set(err, -EINVAL, "--count: -c takes a sample every N events, --duration ends a run");
	return 0;
}

static int check_outputs(const struct profile_conf *c, struct err *err)
{
	if (c->folded && (c->run.outputs.len || c->run.json))
		return err_set(err, -EINVAL, "-f and %s exclude each other: -o folded:FILE writes folded lines to a "
			       "file", c->run.json ? "--json" : "-o");
	for (size_t i = 0; i < c->run.outputs.len; i++) {
		const char *path, *text = c->run.outputs.items[i];
		const struct sink_ops *ops = sink_of_output(text, NULL, &path);

		if (ops && ops->shows && strcmp(ops->shows, SINK_SHOWS_STACKS) != 0)
			return err_set(err, -EINVAL, "-o %s: format %s is for %s, not for stacks (sonde help outputs "
				       "lists the formats)", text, ops->name, ops->shows);
	}
	return 0;
}

/* The one word that bcc's command takes is the duration in seconds. */
static int take_words(struct profile_conf *c, const struct cmd_words *w, struct err *err)
{
	const char *word = w->words.len ? w->words.items[0] : NULL;
	uint64_t secs;

	if (w->words.len > 1)
		return err_set(err, -EINVAL, "one word is expected at most, the duration in seconds; %s is too many",
			       w->words.items[1]);
	if (w->command.len && c->run.read)
		return refuse(err, "-r", "a command behind --");
	if (!word)
		return 0;
	if (str_to_u64(word, 10, &secs) < 0 || !secs || secs > UINT64_MAX / NS_PER_S)
		return err_set(err, -EINVAL, "%s is no duration in seconds (a command to run goes behind --)", word);
	if (c->run.duration_ns)
		return refuse(err, "--duration", "a duration as a word");
	c->run.duration_ns = secs * NS_PER_S;
	return 0;
}

/* ---- the header line ---- */

static void add_list(struct buf *b, const char *what, const struct opt_u32v *v)
{
	buf_printf(b, "%s [", what);
	for (size_t i = 0; i < v->len; i++)
		buf_printf(b, "%s%u", i ? ", " : "", v->items[i]);
	buf_add_char(b, ']');
}

static void add_how(struct buf *b, const struct cpu_conf *cpu)
{
	if (cpu->off_cpu)
		buf_add_str(b, "Tracing off-CPU time (us)");
	else if (cpu->period)
		buf_printf(b, "Sampling at every %" PRIu64 " events", cpu->period);
	else
		buf_printf(b, "Sampling at %u Hertz", cpu->frequency);
	if (cpu->wall)
		buf_add_str(b, " and tracing off-CPU time (us)");
}

static void add_whom(struct buf *b, const struct profile_conf *c, const struct opt_strv *command)
{
	buf_add_str(b, " of ");
	if (c->run.pids.len)
		add_list(b, "PID", &c->run.pids);
	else if (c->cpu.tids.len)
		add_list(b, "TID", &c->cpu.tids);
	else if (command->len)
		buf_printf(b, "%s and its children", command->items[0]);
	else
		buf_add_str(b, "all threads");
	buf_printf(b, " by %s stack", c->cpu.user_only ? "user" : c->cpu.kernel_only ? "kernel" : "user + kernel");
}

/* Byte for byte bcc's line, for what bcc can say. NULL if memory ran out; the caller's. */
static char *header_line(const struct profile_conf *c, const struct opt_strv *command)
{
	struct buf b = { 0 };

	add_how(&b, &c->cpu);
	add_whom(&b, c, command);
	for (size_t i = 0; i < c->cpu.cpus.len; i++)
		buf_printf(&b, "%s%s", i ? "," : " on CPU#", c->cpu.cpus.items[i]);
	if (c->run.duration_ns)
		buf_printf(&b, " for %" PRIu64 " secs.", (uint64_t)(c->run.duration_ns / NS_PER_S));
	else if (command->len)
		buf_add_str(&b, " until it ends.");
	else
		buf_add_str(&b, "... Hit Ctrl-C to end.");
	if (buf_add_char(&b, '\0') < 0)
		buf_fini(&b);
	return b.data;
}

/* ---- the run ---- */

/* That of a recording is the value of its samples. */
static uint64_t sample_period(const struct profile_conf *c)
{
	if (c->cpu.off_cpu || c->run.read)
		return 0;
	return c->cpu.period ? c->cpu.period : NS_PER_S / MAX(c->cpu.frequency, 1u);
}

static void set_view(const struct profile_conf *c, struct stack_view *v)
{
	*v = (struct stack_view){
		.user_only = c->cpu.user_only, .kernel_only = c->cpu.kernel_only,
		.delimiter = c->delimited && !c->cpu.user_only && !c->cpu.kernel_only,
		.annotate = c->annotations, .addresses = c->addresses, .by_thread = c->per_thread,
		.weight = c->cpu.off_cpu ? STACK_OFF_CPU : c->cpu.wall ? STACK_WALL : STACK_SAMPLES,
		.period = sample_period(c),
		.title = c->title, .width = c->width, .height = c->height,
		.max_entries = c->stack_storage && c->hash_storage ? MIN(c->stack_storage, c->hash_storage)
								   : MAX(c->stack_storage, c->hash_storage),
	};
}

static int apply_cgroup_map(struct profile_conf *c, struct buf *text, struct err *err)
{
	_cleanup_free_ uint64_t *ids = NULL;
	size_t n = 0;
	int r = c->cgroupmap ? profile_map_keys("--cgroupmap", c->cgroupmap, &ids, &n, err) : 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		buf_printf(text, "%" PRIu64, ids[i]);
		buf_add_char(text, '\0');
	}
	if (r >= 0 && buf_error(text))
		r = err_errno(err, -ENOMEM, "--cgroupmap");
	for (const char *p = text->data; r >= 0 && p && p < text->data + text->len; p += strlen(p) + 1) {
		if (vec_grow(&c->run.cgroups) < 0)
			return err_errno(err, -ENOMEM, "--cgroupmap");
		c->run.cgroups.items[c->run.cgroups.len++] = p;
	}
	return r;
}

static int prepare(struct profile_conf *c, const struct cmd_words *w, struct watch *watch, struct buf *ids,
		   struct err *err)
{
	int r = check_pairs(c, err);

	if (r >= 0)
		r = check_outputs(c, err);
	if (r >= 0)
		r = take_words(c, w, err);
	if (r < 0)
		return r;
	if (!c->cpu.frequency)
		c->cpu.frequency = DEFAULT_HZ;
	if (!c->run.ring_bytes && !c->cpu.off_cpu && !c->cpu.wall)
		c->run.ring_bytes = SAMPLE_RING_BYTES;
	if (c->max_depth > UINT16_MAX)
		return err_set(err, -EINVAL, "--perf-max-stack-depth %" PRIu64 ": more than %d is not possible",
			       c->max_depth, UINT16_MAX);
	if (c->max_depth)
		c->cpu.depth = c->cpu.kernel_depth = (uint32_t)c->max_depth;
	r = apply_cgroup_map(c, ids, err);
	if (r >= 0 && c->mntnsmap)
		r = mntns_filter_new(c->mntnsmap, &watch->mntns, err);
	return r;
}

static int started(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct watch *w = ctx;
	const struct run_conf *c = &w->conf->run;
	int r = 0;

	if (w->top)
		return top_start(w->top, loop, p, err);
	if (!w->has_command && profile_writes_file(w->conf))
		r = progress_new(loop, c, profile_progress, w, &w->progress);
	return r < 0 ? err_errno(err, r, "cannot show progress") : 0;
}

static void stopped(void *ctx)
{
	struct watch *w = ctx;

	progress_free(TAKE_PTR(w->progress));
}

static bool pass_mntns(void *ctx, const struct event *ev)
{
	struct watch *w = ctx;

	return !w->mntns || mntns_filter_pass(w->mntns, ev) || ev->desc->aggregate;
}

/* bcc's header is part of its text. With other outputs it tells a person at a terminal what is going on. */
static const char *place_header(const struct profile_conf *c, const char *header, struct stack_view *view)
{
	bool text = !c->run.outputs.len && !c->run.json && !c->folded && !c->top;

	if (c->run.read || c->top)
		return NULL;
	for (size_t i = 0; i < c->run.outputs.len; i++)
		text |= !strncmp(c->run.outputs.items[i], "bcc", strcspn(c->run.outputs.items[i], ":"));
	if (text)
		view->header = header;
	return !text && !c->run.quiet && isatty(STDERR_FILENO) ? header : NULL;
}

static int run_profile(struct profile_conf *c, const struct cmd_words *w, struct watch *watch,
		       struct stack_view *view)
{
	const struct pipeline_probe probes[] = { { .ops = probe_find("cpu"), .conf = &c->cpu } };
	_cleanup_free_ char *header = header_line(c, &w->command);
	const struct sym_opts symbols = { .lines = c->lines };
	struct run_ops spec = {
		.unit = "sample",
		.hertz = c->cpu.period ? 0 : c->cpu.frequency,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = pass_mntns,
		.pass_ctx = watch,
		.cmdline = w->line,
		.output = c->top      ? ""
			  : c->folded ? "folded"
				      : "bcc",
		.stack = view,
		.symbols = &symbols,
		.command = &w->command,
		.watcher = &watch_sink,
		.watcher_ctx = watch,
		.left_out = &watch->full,
		.started = started,
		.stopped = stopped,
		.started_ctx = watch,
		.nice = c->cpu.no_nice ? 0 : PROFILE_NICE,
	};
	int status;

	spec.ready = place_header(c, header, view);
	status = run(&c->run, &spec);
	top_free(watch->top);
	watch->top = NULL;
	if (status != 128 + SIGPIPE)
		watch_report(watch);
	buf_fini(&watch->reasons);
	buf_fini(&watch->closing);
	return status;
}

static void add_word(struct buf *b, bool given, const char *word)
{
	if (given)
		buf_printf(b, "%s%s", b->len ? ", " : "", word);
}

/* --explain-filter */
static int explain(const struct profile_conf *c, const struct cmd_words *w)
{
	_cleanup_(buf_fini) struct buf kernel = { 0 }, user = { 0 };

	add_word(&kernel, c->run.pids.len, "--pid");
	add_word(&kernel, c->cpu.tids.len, "--tid");
	add_word(&kernel, c->cpu.cpus.len, "--cpu");
	add_word(&kernel, c->run.comms.len, "--comm");
	add_word(&kernel, c->run.cgroups.len, "--cgroup");
	add_word(&kernel, c->run.netns.len, "--netns");
	add_word(&kernel, w->command.len, "the command and its children");
	add_word(&user, c->run.containers.len, "--container");
	add_word(&user, c->mntnsmap, "--mntnsmap");
	add_word(&user, c->run.where, "--where");
	printf("In the kernel, before a stack is walked: %s.\nIn user space, of what is left: %s.\n",
	       kernel.len ? buf_str(&kernel) : "nothing, every thread passes",
	       user.len ? buf_str(&user) : "nothing, all of it is counted");
	return CMD_OK;
}

/* --ebpf */
static int print_source(void)
{
	return fputs(cpu_source, stdout) < 0 ? CMD_FAIL : CMD_OK;
}

static int profile_run(void *conf, const struct cmd_words *w)
{
	struct profile_conf *c = conf;
	struct watch watch = { .conf = c, .has_command = w->command.len };
	struct stack_view view;
	_cleanup_(buf_fini) struct buf ids = { 0 };
	struct err err = { 0 };
	int r, status;

	if (c->ebpf)
		return print_source();
	if (c->diff)
		return profile_diff(c, w);
	r = prepare(c, w, &watch, &ids, &err);
	set_view(c, &view);
	if (r >= 0 && c->top && !c->run.explain_filter)
		r = top_new(&view, &watch.top, &err);
	if (r < 0) {
		log_error("%s", err.msg);
		status = cmd_exit_status(r);
	} else if (c->run.explain_filter) {
		status = explain(c, w);
	} else {
		status = run_profile(c, w, &watch, &view);
	}
	mntns_filter_free(watch.mntns);
	return status;
}

static const struct cmd_example profile_examples[] = {
	{ "sonde profile", "count stacks of all CPUs until Ctrl-C, as bcc's profile does" },
	{ "sonde profile -F 99 -o cpu.svg 10", "a flame graph of ten seconds" },
	{ "sonde profile -p 812 -o pprof:cpu.pb.gz --duration 30s", "for go tool pprof" },
	{ "sonde profile -o folded -- make -j8", "run a command and profile it with its children" },
	{ "sonde profile --off-cpu -p 812 10", "where a process waits, in microseconds" },
	{ "sonde profile -o rec:new.rec 10", "a recording, to look at in any format later" },
	{ "sonde profile -r new.rec --stats", "the same stacks, and how complete they are" },
	{ "sonde profile --diff old.rec new.rec -o svg:diff.svg", "what grew and what shrank" },
	{ "sonde profile --top", "live" },
	{ 0 },
};

const struct cmd cmd_profile = {
	.name = "profile", .summary = "where CPU time goes: stacks of all processes, counted",
	.args = "[SECONDS]",
	.doc = "Interrupts every CPU so many times a second and counts the stacks that it finds: kernel and user "
	       "part, of programs with or without frame pointers. Options and default output are those of bcc's "
	       "profile.\n\n"
	       "A stack that could not be walked to its end says why in its outermost frame; what was lost is "
	       "counted, told at the end, and stored in outputs that have room for it. Nothing is limited by the "
	       "size of a table, so the storage options of bcc are limits to set, not sizes to guess.\n\n"
	       "With --off-cpu the weight of a stack is the time that its threads did not run, in microseconds; the "
	       "part that they were ready and waited for a CPU is an innermost frame of its own.",
	.examples = profile_examples,
	.letters = "p=pid L=tid U=user-stacks-only K=kernel-stacks-only F=frequency c=period I=include-idle C=cpu",
	.conf_size = sizeof(struct profile_conf), .sets = profile_sets, .run = profile_run,
};
