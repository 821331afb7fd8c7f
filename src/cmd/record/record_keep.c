// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record/record_keep.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/record/record_sets.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"

#define LOOK_NS (250 * NS_PER_MS)	/* between two looks for a complete dump */

#define ROW(member, ...) OPT_ROW(record_keep, member, __VA_ARGS__)

const struct opt record_keep_opts[] = {
	ROW(keep_ns, "keep", 0, OPT_DURATION, "TIME", "flight recorder: keep TIME in memory, write on a trigger",
	    .more = "the store gets a dump for each trigger, SIGUSR2 or an event that meets --on; recording goes on. "
		    "Triggers within TIME after a dump are counted only"),
	ROW(on, "on", 0, OPT_STR, "EXPR", "dump when an event meets EXPR (help filter)"),
	ROW(after_ns, "after", 0, OPT_DURATION, "TIME", "keep recording TIME after the trigger (1s)"),
	ROW(exec, "exec", 0, OPT_STR, "COMMAND", "run COMMAND after each dump",
	    .more = "by the shell, with SONDE_STORE and SONDE_DUMP, the dump's number, in its environment"),
	OPT_END,
};

int record_keep_check(const struct record_keep *k, bool has_store, struct err *err)
{
	if (!k->keep_ns && (k->on || k->exec || k->after_ns))
		return err_set(err, -EINVAL, "--on, --after and --exec belong to --keep TIME");
	if (k->keep_ns && !has_store)
		return err_set(err, -EINVAL, "--keep writes dumps to a store: --store NAME or -w DIR names it");
	return 0;
}

/* ---- triggers ---- */

static void trigger(const struct record_keep *k, const char *why)
{
	if (pipeline_trigger(k->pipeline) > 0)
		log_info("sonde: trigger: %s", why);
}

void record_keep_event(struct record_keep *k, const struct event *ev)
{
	char why[96];

	if (!k->filter || !k->pipeline || ev->desc->class != EVENT_DATA || ev->flags & SONDE_RF_SNAPSHOT ||
	    !filter_match(k->filter, ev))
		return;
	snprintf(why, sizeof(why), "%s, process %u", ev->desc->name, ev->tgid);
	trigger(k, why);
}

static int on_signal(void *ctx, _unused_ int signo)
{
	trigger(ctx, "SIGUSR2");
	return 0;
}

/* ---- complete dumps ---- */

static void start_command(struct record_keep *k)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)k->exec, NULL };
	char number[24];
	extern char **environ;
	int r;

	snprintf(number, sizeof(number), "%" PRIu64, k->dumps);
	if (setenv("SONDE_STORE", k->store, 1) < 0 || setenv("SONDE_DUMP", number, 1) < 0)
		return;
	r = posix_spawn(&k->child, "/bin/sh", NULL, NULL, argv, environ);
	if (r) {
		log_warn("--exec: %s", strerror(r));
		k->child = 0;
	}
}

static int check_dumps(void *ctx, _unused_ uint64_t now_ns)
{
	struct record_keep *k = ctx;
	uint64_t dumps, more;

	if (k->child > 0 && waitpid(k->child, NULL, WNOHANG) != 0)
		k->child = 0;
	pipeline_dumps(k->pipeline, &dumps, &more);
	if (dumps <= k->dumps)
		return 0;
	k->dumps = dumps;
	log_info("sonde: dump %" PRIu64 " is in %s; %" PRIu64 " further triggers so far", dumps, k->store, more);
	if (k->exec && !k->child)
		start_command(k);
	return 0;
}

/* ---- --on ---- */

struct types { const struct record_sets *sets; struct err *err; };

static bool makes(const struct record_member *m, const struct event_desc *d)
{
	const struct net_conf *net = m->conf;
	unsigned kinds;

	if (!decode_makes(m->ops->decoder, d))
		return false;
	if (strcmp(m->ops->name, "net") != 0 || net->flow.on)
		return strcmp(m->ops->name, "net") != 0 || !strcmp(d->name, "net.flow");
	kinds = net_conf_kinds(d->name);
	return !net->kinds || !kinds || net->kinds & kinds;
}

static int check_type(void *ctx, const char *name, const struct event_desc *const *descs, size_t n)
{
	const struct types *t = ctx;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < t->sets->members.len; k++)
			if (makes(&t->sets->members.items[k], descs[i]))
				return 0;
	return err_set(t->err, -EINVAL, "--on: nothing in this set makes %s; add a set or probe that does (--set)",
		       name);
}

int record_keep_begin(struct record_keep *k, const struct record_sets *sets, struct loop *loop, struct pipeline *p,
		      struct err *err)
{
	struct types types = { .sets = sets, .err = err };
	int r;

	if (!k->keep_ns)
		return 0;
	k->pipeline = p;
	r = k->on ? filter_parse(pipeline_registry(p), k->on, &k->filter, err) : 0;
	if (r < 0)
		return err_prefix(err, "--on");
	r = filter_eval_types(k->filter, pipeline_registry(p), check_type, &types);
	if (r < 0)
		return r;
	r = loop_add_signal(loop, SIGUSR2, on_signal, k, NULL);
	if (r >= 0)
		r = loop_add_timer(loop, LOOK_NS, LOOK_NS, check_dumps, k, NULL);
	return r < 0 ? err_errno(err, r, "cannot set up the flight recorder") : 0;
}

void record_keep_end(struct record_keep *k)
{
	filter_free(k->filter);
	k->filter = NULL;
	k->pipeline = NULL;
}
