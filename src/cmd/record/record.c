// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde record: packets, stacks, system calls and RPCs in one run, which means one process, one set of rings, one
 * selection and one stream in the order of time; into a store (src/store), or any other output.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/record/record_sets.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile.h"
#include "cmd/record/record_keep.h"
#include "cmd/record/record_store.h"
#include "cmd/run/run.h"
#include "event/decode.h"
#include "event/event.h"
#include "pipeline/pipeline.h"
#include "probe/budget/budget.h"
#include "probe/probe.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/gohttp2/gohttp2.h"
#include "probes/net/net_conf.h"
#include "probes/sys/sys_conf.h"
#include "sinks/sink.h"
#include "stack/view.h"
#include "store/store_writer.h"
#include "sym/sym.h"

#define BOOST_NICE (-10)	/* on a full host the tables for a new file would come after its samples */

struct record_conf {
	struct run_conf run;
	struct opt_strv set;
	uint32_t frequency;	/* 0 = that of the set */
	uint64_t snaplen;
	const char *max_cpu; /* "2%"; NULL = no limit */
	/* the store */
	const char *store;	/* a name below RECORD_STORE_ROOT; NULL = by -w, or the default */

	struct record_keep keep;

	/* set by the command */
	struct record_sets sets;
	unsigned max_cpu_permille; /* 0 = no limit */
	struct buf output;	/* "store:DIR" */
};

static const struct opt record_opts[] = {
	OPT_ROW(record_conf, set, "set", 0, OPT_STRV, "SET,...",
		"light (default), normal, full, or probes (PROBE:OPTION)",
		.more = "probes: net, cpu, sys, gohttp2, also by the commands that show them alone (monitor, "
			"profile, syscalls, rpc), with options as in net:kinds=2:snaplen=128. light: drops, flows, "
			"samples at 19 Hz, RPCs, waits from 10 ms on without stacks, calls that took 100 ms or "
			"failed. normal: samples at 49 Hz, waits from 1 ms on with stacks, calls from 10 ms on. "
			"full: also packet headers and all calls that a connection is made, read or written with"),
	OPT_PARSE_ROW(record_conf, frequency, cmd_profile_frequency, "frequency", 'F', "HZ",
		      "samples of stacks per second and CPU"),
	OPT_ROW(record_conf, snaplen, "snaplen", 's', OPT_BYTES, "SIZE", "bytes of data of each call (default 0)"),
	OPT_ROW(record_conf, max_cpu, "max-cpu", 0, OPT_STR, "PERCENT", "record less above PERCENT of a CPU",
		.more = "of all probes and this process together, measured every second. The most expensive probe "
			"is reduced first: calls to a part of the time, samples to a lower frequency, waits first to "
			"those without user stacks, then to 1 in N, packets and drops to 1 in N. Flows and RPCs are "
			"not reduced. Each change is an event, sonde.sampling; the ledgers count what is left out"),
	OPT_END,
};

static const struct opt store_opts[] = {
	OPT_ROW(record_conf, store, "store", 0, OPT_STR, "NAME", "write the store " RECORD_STORE_ROOT "/NAME",
		.more = "the default, as NAME " RECORD_STORE_DEFAULT ", if no output is named; -w DIR names a "
			"directory elsewhere"),
	OPT_END,
};

static size_t record_sets(void *conf, struct opt_set *ret_sets)
{
	struct record_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "Recording", .opts = record_opts, .conf = c };
	ret_sets[1] = (struct opt_set){ .title = "Store", .opts = store_opts, .conf = c };
	ret_sets[2] = (struct opt_set){ .opts = record_keep_opts, .conf = &c->keep };
	return 3 + run_sets(&c->run, RUN_LINES, ret_sets + 3);
}

/* ---- the store ---- */

/* -w PATH is a store, unless its name or what is there says that it is a file. */
static bool is_store(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode);
	return strcmp(path, "-") != 0 && !sink_find_suffix(path);
}

static bool names_output(const struct record_conf *c)
{
	return c->run.write || c->run.json || c->run.outputs.len || c->run.format || c->run.read;
}

/* -w DIR, --store NAME or nothing become an output. */
static int choose_store(struct record_conf *c, struct err *err)
{
	const char *name = c->store ? c->store : names_output(c) || c->sets.memory ? NULL : RECORD_STORE_DEFAULT;
	struct opt_strv *outputs = &c->run.outputs;

	if (name && (!*name || strchr(name, '/') || *name == '.'))
		return err_set(err, -EINVAL, "--store %s: a name without slashes; -w names a directory elsewhere",
			       name);
	if (c->run.write && is_store(c->run.write))
		buf_printf(&c->output, "store:%s", TAKE_PTR(c->run.write));
	else if (name)
		buf_printf(&c->output, "store:" RECORD_STORE_ROOT "/%s", name);
	if (!c->output.len)
		return 0;
	if (name && mkdir(RECORD_STORE_ROOT, 0755) < 0 && errno != EEXIST)
		return err_errno(err, -errno, "cannot create " RECORD_STORE_ROOT);
	buf_str(&c->output);
	if (buf_error(&c->output) < 0 || vec_push(outputs, c->output.data) < 0)
		return err_errno(err, -ENOMEM, "cannot take the options");
	return 0;
}

/* ---- the probes ---- */

static bool has_probe(const struct record_conf *c, const char *name)
{
	return vec_find(it, &c->sets.members, !strcmp(it->ops->name, name));
}

static size_t list_probes(struct record_conf *c, struct pipeline_probe *ret)
{
	for (size_t i = 0; i < c->sets.members.len; i++)
		ret[i] = (struct pipeline_probe){ .ops = c->sets.members.items[i].ops,
						  .conf = c->sets.members.items[i].conf };
	return c->sets.members.len;
}

static int take_sets(struct record_conf *c, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < c->set.len; i++)
		r = record_sets_add(&c->sets, c->set.items[i], err);
	if (!c->set.len && !c->run.read)
		r = record_sets_add(&c->sets, RECORD_SET_DEFAULT, err);
	for (size_t i = 0; r >= 0 && i < c->sets.members.len; i++)
		if (!strcmp(c->sets.members.items[i].ops->name, "call"))
			log_warn("--set call records the first bytes of what sockets carry, passwords included");
	if (r >= 0 && c->sets.members.len + c->run.probes.len >= SONDE_INSTANCES)
		return err_set(err, -E2BIG, "--set: too many probes");
	return r;
}

/* The command's own options go to each probe that has them. */
static void configure(struct record_conf *c, const struct cmd_words *w)
{
	vec_each(m, &c->sets.members) {
		if (!strcmp(m->ops->name, "net")) {
			((struct net_conf *)m->conf)->netns = &c->run.netns;
			((struct net_conf *)m->conf)->verbose |= c->run.verbose;
		} else if (!strcmp(m->ops->name, "cpu") && c->frequency) {
			((struct cpu_conf *)m->conf)->frequency = c->frequency;
		} else if (!strcmp(m->ops->name, "sys")) {
			((struct sys_conf *)m->conf)->snaplen |= c->snaplen;
		} else if (!strcmp(m->ops->name, "gohttp2")) {
			((struct gohttp2_conf *)m->conf)->serving = has_probe(c, "cpu") || has_probe(c, "sys");
			((struct gohttp2_conf *)m->conf)->ranges = has_probe(c, "net");
			((struct gohttp2_conf *)m->conf)->command = w->command.len ? w->command.items[0] : NULL;
		}
	}
}

/* Options that need the event types: packet filters, filters of calls. */
static int complete(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct record_conf *c = ctx;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < c->sets.members.len && !c->run.read; i++) {
		const struct record_member *m = &c->sets.members.items[i];

		if (m->ops->conf_init && !m->plain)
			r = m->ops->conf_init(m->conf, &c->run.netns, pipeline_registry(p), err);
	}
	return r < 0 ? r : record_keep_begin(&c->keep, &c->sets, loop, p, err);
}

/* ---- the run ---- */

/* A recording may have more than --set asks for. */
static bool is_chosen(void *ctx, const struct event *ev)
{
	struct record_conf *c = ctx;

	record_keep_event(&c->keep, ev);
	if (ev->desc->class != EVENT_DATA || !c->sets.members.len)
		return true;
	for (size_t i = 0; i < c->sets.members.len; i++)
		if (decode_makes(c->sets.members.items[i].ops->decoder, ev->desc))
			return true;
	for (unsigned i = 0; all_probes[i]; i++)
		if (decode_makes(all_probes[i]->decoder, ev->desc))
			return false;
	return true;
}

/* Captures are about descriptors and processes: see sonde syscalls. */
static void on_needs(void *ctx, uint32_t by_outputs, bool by_words, _unused_ const struct filter *filter)
{
	struct record_conf *c = ctx;

	if (!by_words && !(by_outputs & 1u << SEC_PARAMS))
		return;
	for (size_t i = 0; i < c->sets.members.len; i++) {
		struct sys_conf *sys = c->sets.members.items[i].conf;

		if (!strcmp(c->sets.members.items[i].ops->name, "sys"))
			sys->context = sys->scan = sys->keep_state = true;
	}
}

static uint64_t sample_period(const struct record_conf *c)
{
	for (size_t i = 0; i < c->sets.members.len; i++) {
		const struct cpu_conf *cpu = c->sets.members.items[i].conf;

		if (!strcmp(c->sets.members.items[i].ops->name, "cpu") && cpu->frequency && !c->run.read)
			return 1000000000u / cpu->frequency;
	}
	return 0;
}

static int record_all(struct record_conf *c, const struct cmd_words *w, const char *words)
{
	struct pipeline_probe probes[SONDE_INSTANCES];
	const struct stack_view view = { .period = sample_period(c) };
	const struct sym_opts symbols = { 0 };
	const struct run_stacks stacks = { .view = &view, .symbols = &symbols };
	const bool stacks_too = has_probe(c, "cpu") || !c->sets.members.len;
	const struct store_writer_opts store = {
		.keep_ns = c->keep.keep_ns, .after_ns = c->keep.after_ns ? c->keep.after_ns : NS_PER_S,
	};
	const struct run_ops spec = {
		.unit = "event",
		.ledgers = true,
		.own_netns = has_probe(c, "net"),
		.probes = probes,
		.n_probes = list_probes(c, probes),
		.pass = is_chosen,
		.pass_ctx = c,
		.cmdline = w->line,
		.ready = w->command.len ? NULL : "sonde: ready, recording; ^C stops",
		.command = &w->command,
		.filter_text = words,
		.stacks = stacks_too ? &stacks : NULL,
		.needs = on_needs,
		.needs_ctx = c,
		.setup = complete,
		.store = &store,
		.started_ctx = c,
		.why_local = c->output.len ? "a store"
			     : c->max_cpu  ? "--max-cpu"
					   : NULL,
		.max_cpu_permille = c->max_cpu_permille,
		.nice = has_probe(c, "cpu") ? BOOST_NICE : 0,
	};

	return run(&c->run, &spec);
}

/* A limit of the sys probe's own would steer it, too. */
static int limit_cpu(struct record_conf *c, struct err *err)
{
	if (!c->max_cpu)
		return 0;
	if (c->run.read)
		return err_set(err, -EINVAL, "--max-cpu limits live probes, not -r");
	for (size_t i = 0; i < c->sets.members.len; i++) {
		const struct sys_conf *sys = c->sets.members.items[i].conf;

		if (!strcmp(c->sets.members.items[i].ops->name, "sys") && sys->max_cpu)
			return err_set(err, -EINVAL,
				       "--max-cpu and sys:max-cpu exclude each other: the first "
				       "limits all probes");
	}
	return budget_parse(c->max_cpu, &c->max_cpu_permille, err);
}

static int prepare(struct record_conf *c, const char *words, struct run_texts *texts, struct err *err)
{
	int r = take_sets(c, err);

	if (r >= 0)
		r = limit_cpu(c, err);
	if (r >= 0)
		r = choose_store(c, err);
	if (r >= 0)
		r = record_keep_check(&c->keep, c->output.len, err);
	if (c->output.len)
		c->keep.store = c->output.data + strlen("store:");
	return r < 0 ? r : run_settle(&c->run, words, "rec", texts, err);
}

static int record_run(void *conf, const struct cmd_words *w)
{
	struct record_conf *c = conf;
	_cleanup_free_ char *words = run_join_words(&w->words);
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int r = prepare(c, words, &texts, &err), status;

	if (r < 0) {
		status = cmd_fail(r, &err);
	} else if (c->run.explain_filter) {
		puts("--pid, --cgroup, proc.name and proc.pid are evaluated in the kernel for all probes, other "
		     "fields in user space.");
		status = CMD_OK;
	} else {
		configure(c, w);
		status = record_all(c, w, words);
	}
	record_keep_end(&c->keep);
	record_sets_fini(&c->sets);
	buf_fini(&c->output);
	return status;
}

static const struct cmd_example record_examples[] = {
	{ "sonde record --max-size 2G", "record the host into /var/lib/sonde/default until ^C" },
	{ "sonde record -w web --duration 10s", "ten seconds, into the directory web" },
	{ "sonde record --set net,sys -p 812 -w one.rec", "packets and calls of one process, into a file" },
	{ "sonde record --set cpu,rpc --json -- ./server", "of a command and its children, as JSON" },
	{ "sonde record -w web --keep 30s --on drop.reason=NO_SOCKET", "the half minute before each such drop" },
	{ "sonde record -r all.rec --set sys", "the calls of a recording" },
	{ 0 },
};

const struct cmd cmd_record = {
	.name = "record",
	.summary = "packets, stacks, system calls and RPCs in one run",
	.args = "[EXPR] [-- COMMAND]",
	.doc = "Runs several probes at once: one process, one set of rings, one stream of events in the order of "
	       "time. The selection (--pid, --container, --netns...) applies to all of them in the kernel; the "
	       "trailing words are an event expression (sonde help filter). The closing lines have the ledger of "
	       "each probe.\n\n"
	       "A store is a directory of compressed segments, each of which can be read alone, also while it is "
	       "written and after a crash: sonde profile -r its stacks, sonde syscalls -r its calls. --since and "
	       "--until read a part of it. On a full disk the oldest segment makes room; without one, records are "
	       "left out and counted. With a name that ends in .rec, -w writes a single file.",
	.examples = record_examples,
	.conf_size = sizeof(struct record_conf),
	.sets = record_sets,
	.run = record_run,
};
