// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde profile: where CPU time goes, by stack. Header lines and the default text are those of bcc's profile(8).
 */
#include "cmd/profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/closing/closing.h"
#include "cmd/cmd.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probe/probe.h"
#include "sinks/otlp/otlp_signals.h"
#include "sinks/sink.h"
#include "sym/sym.h"

#define PROFILE_NICE (-10)	/* on a loaded host the tables for a new file would arrive after its samples */
#define SAMPLE_RING_BYTES (1u << 20)	/* per CPU: hundreds of ms of samples even at 10,000 a second */
#define OTLP_FORMAT "otlp-profiles"
#define DEFAULT_HZ 49		/* not a divisor of timers that tick 50, 100 or 1000 times a second */

static const char *const mode_names[] = {
	[PROFILE_ON_CPU] = "on-cpu",
	[PROFILE_OFF_CPU] = "off-cpu",
	[PROFILE_WALL] = "wall",
	NULL,
};
_Static_assert(ARRAY_SIZE(mode_names) == PROFILE_MODE__MAX + 1, "a name per mode");

static const char *const stacks_names[] = {
	[PROFILE_BOTH] = "both",
	[PROFILE_USER] = "user",
	[PROFILE_KERNEL] = "kernel",
	NULL,
};
_Static_assert(ARRAY_SIZE(stacks_names) == PROFILE_STACKS__MAX + 1, "a name per choice");

/* ---- options over a struct cpu_conf ---- */

/* "NAME[:PERIOD]" */
static int on_event(void *conf, const char *arg, struct err *err)
{
	struct cpu_conf *cpu = conf;
	size_t len = strcspn(arg, ":");

	for (unsigned i = 0; cpu_event_names[i]; i++) {
		if (strlen(cpu_event_names[i]) != len || memcmp(cpu_event_names[i], arg, len) != 0)
			continue;
		cpu->event = i;
		if (!arg[len] || (str_to_u64(arg + len + 1, 10, &cpu->period) >= 0 && cpu->period))
			return 0;
	}
	return err_set(err, -EINVAL, "--event %s: expected auto, cycles or clock, and a period as in cycles:1000000",
		       arg);
}

int cmd_profile_frequency(void *ret, const char *arg, struct err *err)
{
	uint32_t hz;

	if (str_to_u32(arg, 10, &hz) < 0 || !hz)
		return err_set(err, -EINVAL, "--frequency %s: expected samples per second, at least 1", arg);
	*(uint32_t *)ret = hz;
	return 0;
}

/* "MIN[-MAX]" */
static int on_block(void *conf, const char *arg, struct err *err)
{
	struct cpu_conf *cpu = conf;
	size_t len = strcspn(arg, "-");
	char min[32];

	snprintf(min, sizeof(min), "%.*s", (int)len, arg);
	if ((*min && str_to_duration_ns(min, &cpu->min_block_ns) < 0) ||
	    (arg[len] && str_to_duration_ns(arg + len + 1, &cpu->max_block_ns) < 0))
		return err_set(err, -EINVAL, "--block %s: expected MIN[-MAX], such as 1ms or 1ms-5s", arg);
	return 0;
}

/* "USER[,KERNEL]" */
static int on_depth(void *conf, const char *arg, struct err *err)
{
	struct cpu_conf *cpu = conf;
	size_t len = strcspn(arg, ",");
	char user[32];

	snprintf(user, sizeof(user), "%.*s", (int)len, arg);
	if ((*user && str_to_u32(user, 10, &cpu->depth) < 0) ||
	    (arg[len] && str_to_u32(arg + len + 1, 10, &cpu->kernel_depth) < 0))
		return err_set(err, -EINVAL, "--depth %s: expected USER[,KERNEL] frames, such as 512,127", arg);
	return 0;
}

static const struct opt sampling_opts[] = {
	OPT_PARSE_ROW(cpu_conf, frequency, cmd_profile_frequency, "frequency", 'F', "HZ",
		      "samples per second and CPU (default 49)"),
	OPT_CALL_ROW(on_event, "event", 0, "NAME[:PERIOD]", "auto, cycles or clock; every PERIOD events",
		     .more = "auto (the default) is cycles where the machine counts them; an event of the clock is a "
			     "nanosecond"),
	OPT_ROW(cpu_conf, cpus, "cpu", 0, OPT_STRV, "LIST", "these CPUs, as 0-3,8"),
	OPT_CALL_ROW(on_block, "block", 0, "MIN[-MAX]", "times off CPU of this length (1us)"),
	OPT_ROW(cpu_conf, idle, "idle", 0, OPT_BOOL, NULL, "idle CPUs too"),
	OPT_CALL_ROW(on_depth, "depth", 0, "USER[,KERNEL]", "frames per stack (512,127)",
		     .more = "of a stack off CPU 127; for more kernel frames raise kernel.perf_event_max_stack"),
	OPT_ROW(cpu_conf, unwind_bytes, "unwind-memory", 0, OPT_BYTES, "SIZE", "unwind tables in the kernel (64M)"),
	OPT_ROW(cpu_conf, no_nice, "no-boost", 0, OPT_BOOL, NULL, "leave scheduling priorities alone",
		.more = "on a busy host the first stacks of a program are then truncated"),
	OPT_END
};

/* ---- options of the command ---- */

#define ROW(member, ...) OPT_ROW(profile_conf, member, __VA_ARGS__)

static const struct opt profile_opts[] = {
	ROW(mode, "mode", 0, OPT_ENUM, "MODE", "threads", .names = mode_names,
	    .more = "on-cpu counts samples, off-cpu the time that threads do not run, wall both"),
	ROW(stacks, "stacks", 0, OPT_ENUM, "WHICH", "parts of stacks", .names = stacks_names),
	ROW(per_thread, "per-thread", 0, OPT_BOOL, NULL, "count the threads of a process separately"),
	ROW(lines, "lines", 0, OPT_BOOL, NULL, "source lines and inlined functions",
	    .more = "from DWARF or Go's own table, in outputs that have them"),
	ROW(stats, "stats", 0, OPT_BOOL, NULL, "completeness, loss and cost, on stderr"),
	ROW(top, "top", 0, OPT_BOOL, NULL, "functions live, full screen (see sonde top)"),
	ROW(title, "title", 0, OPT_STR, "TEXT", "title of the flame graph"),
	OPT_END,
};

size_t cmd_profile_sets(void *conf, struct opt_set *ret_sets)
{
	struct profile_conf *c = conf;

	c->cpu = cpu_conf_default;
	c->cpu.frequency = 0; /* 0 = no -F */
	ret_sets[0] = (struct opt_set){ .title = "Profile", .opts = sampling_opts, .conf = &c->cpu };
	ret_sets[1] = (struct opt_set){ .opts = profile_opts, .conf = c };
	return 2 + run_sets(&c->run, 0, ret_sets + 2);
}

/* ---- option conflicts ---- */

static int refuse(struct err *err, const char *a, const char *b)
{
	return err_set(err, -EINVAL, "%s and %s exclude each other", a, b);
}

static int check_pairs(const struct profile_conf *c, struct err *err)
{
	if (c->cpu.frequency && c->cpu.period)
		return refuse(err, "-F", "--event NAME:PERIOD");
	if (c->cpu.off_cpu && (c->cpu.period || c->cpu.frequency))
		return refuse(err, "--mode off-cpu", c->cpu.period ? "--event NAME:PERIOD" : "-F");
	return 0;
}

static int check_outputs(const struct profile_conf *c, struct err *err)
{
	for (size_t i = 0; i < c->run.outputs.len; i++) {
		const char *path, *text = c->run.outputs.items[i];
		const struct sink_ops *ops = sink_of_output(text, NULL, &path), *signals[OTLP_SIGNALS];

		if (ops && otlp_signals(ops, path, OTLP_FORMAT, signals))
			ops = signals[0];
		if (ops && ops->shows && strcmp(ops->shows, SINK_SHOWS_STACKS) != 0)
			return err_set(err, -EINVAL, "-o %s: format %s is for %s, not for stacks (sonde help outputs "
				       "lists the formats)", text, ops->name, ops->shows);
	}
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

/* Byte for byte bcc's line, for options that bcc has. NULL without memory; owned by the caller. */
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

/* The period of a recording is the value of its samples. */
static uint64_t sample_period(const struct profile_conf *c)
{
	if (c->cpu.off_cpu || c->run.read)
		return 0;
	return c->cpu.period ? c->cpu.period : NS_PER_S / MAX(c->cpu.frequency, 1u);
}

static void set_view(const struct profile_conf *c, struct stack_view *v)
{
	*v = (struct stack_view){
		.user_only = c->cpu.user_only,
		.kernel_only = c->cpu.kernel_only,
		.delimiter = c->view.delimiter && !c->cpu.user_only && !c->cpu.kernel_only,
		.annotate = c->view.annotate,
		.addresses = c->view.addresses,
		.by_thread = c->per_thread,
		.weight = c->cpu.off_cpu ? STACK_OFF_CPU
			  : c->cpu.wall	 ? STACK_WALL
					 : STACK_SAMPLES,
		.period = sample_period(c),
		.title = c->title,
		.max_entries = c->view.max_entries,
	};
}

static void set_modes(struct profile_conf *c)
{
	c->cpu.off_cpu |= c->mode == PROFILE_OFF_CPU;
	c->cpu.wall |= c->mode == PROFILE_WALL;
	c->cpu.user_only |= c->stacks == PROFILE_USER;
	c->cpu.kernel_only |= c->stacks == PROFILE_KERNEL;
}

static int prepare(struct profile_conf *c, const struct cmd_words *w, struct err *err)
{
	int r = check_pairs(c, err);

	if (r >= 0)
		r = check_outputs(c, err);
	if (r < 0)
		return r;
	if (w->command.len && c->run.read)
		return refuse(err, "-r", "a command behind --");
	if (!c->cpu.frequency)
		c->cpu.frequency = DEFAULT_HZ;
	if (!c->run.ring_bytes && !c->cpu.off_cpu && !c->cpu.wall)
		c->run.ring_bytes = SAMPLE_RING_BYTES;
	return 0;
}

/* The kernel compares thread.tid; names and processes it compares for every probe. */
static int push_threads(void *ctx, const struct filter_conjunct *part)
{
	struct profile_conf *c = ctx;

	if (!part->field || strcmp(part->field, "thread.tid") != 0 || part->negated || c->cpu.tids.len ||
	    (part->op != FILTER_EQ && part->op != FILTER_IN))
		return 0;
	for (size_t i = 0; i < part->n_values; i++) {
		if (part->values[i].number > UINT32_MAX || part->values[i].negative)
			continue; /* matches no thread */
		if (vec_push(&c->cpu.tids, (uint32_t)part->values[i].number) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Calls only say what goroutines serve. */
static bool is_shown(void *ctx, const struct event *ev)
{
	const struct profile_conf *c = ctx;

	if (ev->desc->class == EVENT_DATA && probe_find("gohttp2")->decoder->probe == ev->desc->type >> 8)
		return false;
	return !c->pass || c->pass(c->pass_ctx, ev);
}

#define PROBES_WITH_RPC 2	/* calls tell which samples an expression about RPCs means */

static void on_needs(void *ctx, _unused_ uint32_t by_outputs, _unused_ bool by_words, const struct filter *filter)
{
	struct profile_conf *c = ctx;

	filter_conjuncts(filter, push_threads, ctx);
	if (filter && filter_uses(filter, "rpc"))
		*c->n_probes = PROBES_WITH_RPC;
}

static int started(void *ctx, struct loop *loop, _unused_ struct pipeline *p, struct err *err)
{
	struct watch *w = ctx;
	const struct run_conf *c = &w->conf->run;
	int r = 0;

	if (!w->has_command && profile_closing_writes_file(w->conf))
		r = closing_progress_new(loop, c, profile_closing_progress, w, &w->progress);
	return r < 0 ? err_errno(err, r, "cannot show progress") : 0;
}

static void stopped(void *ctx)
{
	struct watch *w = ctx;

	closing_progress_free(TAKE_PTR(w->progress));
}

/* bcc's header is part of its text. With other outputs it informs a user at a terminal. */
static const char *place_header(const struct profile_conf *c, const char *header, struct stack_view *view)
{
	bool text = !c->run.outputs.len && !c->run.json && !c->output && !c->top;

	if (c->run.read || c->top)
		return NULL;
	for (size_t i = 0; i < c->run.outputs.len; i++)
		text |= !strncmp(c->run.outputs.items[i], "bcc", strcspn(c->run.outputs.items[i], ":"));
	if (text)
		view->header = header;
	return !text && !c->run.quiet && isatty(STDERR_FILENO) ? header : NULL;
}

/* The option that refuses samples, for the message of an empty run. */
static const char *selected_by(const struct cpu_conf *cpu)
{
	if (cpu->tids.len)
		return "--tid";
	if (!cpu->off_cpu && !cpu->wall)
		return NULL;
	return cpu->min_block_ns ? "--min-block-time" : cpu->max_block_ns ? "--max-block-time" : NULL;
}

static int run_profile(struct profile_conf *c, const struct cmd_words *w, struct watch *watch,
		       struct stack_view *view)
{
	const struct pipeline_probe probes[] = {
		{ .ops = probe_find("cpu"), .conf = &c->cpu }, { .ops = probe_find("gohttp2"), .conf = &c->rpc },
	};
	static const char *const types[] = { "cpu", NULL };
	_cleanup_free_ char *header = header_line(c, &w->command);
	const struct sym_opts symbols = { .lines = c->lines };
	const struct run_stacks stacks = {
		.view = view,
		.symbols = &symbols,
		.left_out = &watch->full,
		.hertz = c->cpu.period ? 0 : c->cpu.frequency,
	};
	struct run_ops spec = {
		.unit = "sample",
		.reads = types,
		.stacks = &stacks,
		.otlp = OTLP_FORMAT,
		.probes = probes,
		.n_probes = 1,
		.pass = is_shown,
		.pass_ctx = c,
		.cmdline = w->line,
		.output = c->top      ? ""
			  : c->output ? c->output
				      : "bcc",
		.needs = on_needs,
		.needs_ctx = c,
		.filter_text = c->filter_text,
		.selects = selected_by(&c->cpu),
		.command = &w->command,
		.child = c->child,
		.watcher = &watch_sink,
		.watcher_ctx = watch,
		.started = started,
		.stopped = stopped,
		.started_ctx = watch,
		.nice = c->cpu.no_nice ? 0 : PROFILE_NICE,
	};
	int status;

	_Static_assert(ARRAY_SIZE(probes) == PROBES_WITH_RPC, "the last probe is optional");
	c->rpc = gohttp2_conf_default;
	c->rpc.serving = true;
	c->n_probes = &spec.n_probes;
	spec.ready = place_header(c, header, view);
	status = watch->top ? profile_top_run(watch->top, &spec) : run(&c->run, &spec);
	profile_top_free(TAKE_PTR(watch->top));
	c->samples = watch->samples;
	if (status != CMD_BY_SIGNAL + SIGPIPE)
		profile_watch_report(watch);
	buf_fini(&watch->reasons);
	buf_fini(&watch->closing);
	return status;
}

static void add_word(struct buf *b, bool given, const char *word)
{
	if (given)
		buf_printf(b, "%s%s", b->len ? ", " : "", word);
}

static int explain_part(void *ctx, const struct filter_conjunct *c)
{
	struct buf *parts = ctx; /* decided by the kernel, by user space */
	bool goes_down =
		c->field && !c->negated && (c->op == FILTER_EQ || c->op == FILTER_IN) &&
		(!strcmp(c->field, "proc.name") || !strcmp(c->field, "proc.pid") || !strcmp(c->field, "thread.tid"));

	add_word(&parts[!goes_down], true, c->text);
	return 0;
}

static int explain_where(const struct profile_conf *c, struct buf parts[2], struct err *err)
{
	struct pipeline *p = NULL;
	struct filter *f = NULL;
	int r = pipeline_new(NULL, &p, err);

	if (r >= 0)
		r = filter_parse(pipeline_registry(p), c->run.where ? c->run.where : "", &f, err);
	if (r >= 0)
		r = filter_conjuncts(f, explain_part, parts);
	filter_free(f);
	pipeline_free(p);
	return r;
}

/* --explain-filter */
static int explain(const struct profile_conf *c, const struct cmd_words *w)
{
	struct buf parts[2] = { 0 };
	struct err err = { 0 };
	int r = explain_where(c, parts, &err);

	add_word(&parts[0], c->run.pids.len, "--pid");
	add_word(&parts[0], c->cpu.tids.len, "threads");
	add_word(&parts[0], c->cpu.cpus.len, "--cpu");
	add_word(&parts[0], c->run.cgroups.len, "--cgroup");
	add_word(&parts[0], c->run.netns.len, "--netns");
	add_word(&parts[0], w->command.len, "the command and its children");
	add_word(&parts[1], c->run.containers.len, "--container");
	add_word(&parts[1], c->pass, "mount namespaces");
	if (r < 0)
		log_error("%s", err.msg);
	else
		printf("In the kernel, before a stack is walked: %s.\nIn user space, of what is left: %s.\n",
		       parts[0].len ? buf_str(&parts[0]) : "nothing, every thread passes",
		       parts[1].len ? buf_str(&parts[1]) : "nothing, all of it is counted");
	buf_fini(&parts[0]);
	buf_fini(&parts[1]);
	return r < 0 ? cmd_exit_status(r) : CMD_OK;
}

static int profile_live(struct profile_conf *c, const struct cmd_words *w)
{
	struct watch watch = { .conf = c, .has_command = w->command.len };
	struct stack_view view;
	struct err err = { 0 };
	int r = prepare(c, w, &err);

	set_view(c, &view);
	if (r >= 0 && c->top && !c->run.explain_filter)
		r = profile_top_new(c, &view, &watch.top, &err);
	if (r < 0)
		return cmd_fail(r, &err);
	return c->run.explain_filter ? explain(c, w) : run_profile(c, w, &watch, &view);
}

int cmd_profile_main(struct profile_conf *c, const char *words, const struct cmd_words *w)
{
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int status;

	set_modes(c);
	c->filter_text = words;
	if (run_settle(&c->run, words, "rec", &texts, &err) < 0) {
		status = cmd_fail(err.code, &err);
	} else {
		status = profile_live(c, w);
	}
	vec_fini(&c->cpu.tids);
	return status;
}

static int diff(struct profile_conf *c, const struct cmd_words *w)
{
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };

	set_modes(c);
	if (run_settle(&c->run, NULL, "rec", &texts, &err) >= 0)
		return profile_diff(c, w);
	return cmd_fail(err.code, &err);
}

static int profile_run(void *conf, const struct cmd_words *w)
{
	struct profile_conf *c = conf;
	_cleanup_free_ char *words = run_join_words(&w->words);

	return w->words.len && !strcmp(w->words.items[0], "diff") ? diff(c, w) : cmd_profile_main(c, words, w);
}

static const struct cmd_example profile_examples[] = {
	{ "sonde profile", "count stacks of all CPUs until Ctrl-C" },
	{ "sonde profile -F 99 -o cpu.svg --duration 10s", "a flame graph of ten seconds" },
	{ "sonde profile -p 812 -o pprof:cpu.pb.gz --duration 30s", "for go tool pprof" },
	{ "sonde profile -o folded -- make -j8", "run a command and profile it with its children" },
	{ "sonde profile --mode off-cpu proc.name=nginx", "where a program waits, in microseconds" },
	{ "sonde profile -w new.rec --duration 10s", "a recording, for any format later" },
	{ "sonde profile -r new.rec --stats", "the same stacks, and how complete they are" },
	{ "sonde profile diff old.rec new.rec -o svg:diff.svg", "what grew and what shrank" },
	{ "sonde profile --top", "live" },
	{ "sonde profile rpc.path=/shop.Cart/Add -o add.svg", "the CPU time of one method of a Go server" },
	{ 0 },
};

const struct cmd cmd_profile = {
	.name = "profile",
	.summary = "where CPU time goes: stacks of all processes, counted",
	.args = "[EXPR | diff OLD NEW] [-- COMMAND]",
	.doc = "Interrupts every CPU at a fixed frequency and counts the stacks that it finds: kernel and user "
	       "part, of programs with or without frame pointers. The default output is that of bcc's profile, whose "
	       "options sonde compat profile-bpfcc takes. The trailing words are an event expression (sonde help "
	       "filter): proc.name, proc.pid and thread.tid are compared in the kernel.\n\n"
	       "A stack that could not be walked to its end says why in its outermost frame; what was lost is "
	       "counted, reported at the end, and stored in outputs that have room for it.\n\n"
	       "An expression about RPCs (rpc.path=/shop.Cart/Add) selects the samples of goroutines that serve "
	       "such a call in a Go server, and of those that they start; the calls are watched meanwhile, as "
	       "sonde rpc does.\n\n"
	       "diff compares two recordings: folded lines with two counts, or with -o svg:FILE a flame graph.\n\n"
	       "With --mode off-cpu the weight of a stack is the time that its threads did not run, in "
	       "microseconds; time in the run queue is an innermost frame of its own.",
	.examples = profile_examples,
	.conf_size = sizeof(struct profile_conf),
	.sets = cmd_profile_sets,
	.run = profile_run,
};
