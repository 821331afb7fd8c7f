// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/net/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/pipeline.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_event.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/net_wire.h"
#include "sonde/wire.h"

struct recorder {
	const struct record_conf *conf;
	struct filter *on;		/* NULL = signals only */
	struct pipeline *pipeline;	/* of the run; NULL = not yet */
	uint32_t dumps;
	uint64_t packets;		/* total of all rings */
	bool complained;
};

const struct record_conf record_conf_default = { .after_ns = NS_PER_S, .memory = 64u << 20 };

const struct opt record_opts[] = { OPT_ROW(record_conf, keep_ns, "keep", 0, OPT_DURATION, "TIME",
					   "flight recorder: keep TIME in memory",
					   .more = "packets are written when --on or SIGUSR2 triggers a dump"),
				   OPT_ROW(record_conf, on, "on", 0, OPT_STR, "EXPR", "dump when an event meets EXPR",
					   .more = "an event expression: drop.reason=NO_SOCKET"),
				   OPT_ROW(record_conf, after_ns, "after", 0, OPT_DURATION, "TIME",
					   "keep recording TIME after the trigger (1s)"),
				   OPT_ROW(record_conf, memory, "memory", 0, OPT_BYTES, "SIZE",
					   "memory for packets (default 64M)", .more = "all CPUs together"),
				   OPT_ROW(record_conf, dumps, "dumps", 0, OPT_U32, "N", "stop after N dumps"),
				   OPT_END };

int recorder_open(const struct record_conf *c, const struct run_conf *run, struct recorder **ret, struct err *err)
{
	*ret = NULL;
	if (!c->keep_ns && (c->on || c->dumps))
		return err_set(err, -EINVAL, "--on and --dumps go with --keep TIME: how much to write then");
	if (!c->keep_ns)
		return 0;
	if (run->read)
		return err_set(err, -EINVAL, "--keep and --read exclude each other");
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return err_errno(err, -ENOMEM, "cannot set up the recorder");
	(*ret)->conf = c;
	return 0;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	filter_free(r->on);
	free(r);
}

void recorder_set_net(const struct record_conf *c, struct net_conf *net)
{
	static const char *plain = "200";	/* 256 bytes with the slot's header */

	net->keep = (struct net_recorder_conf){
		.keep_ns = c->keep_ns,
		.after_ns = c->after_ns,
		.bytes = c->memory,
	};
	net->kinds |= 1u << NET_KIND_TRACE | 1u << NET_KIND_DROP;
	net->whole_packets = false;
	if (!net->snaplen.len && vec_grow(&net->snaplen) >= 0)	/* without memory for it: 128 */
		net->snaplen.items[net->snaplen.len++] = plain;
}

/* ---- triggers ---- */

static void complain(struct recorder *r, const struct err *err)
{
	if (!r->complained)
		log_warn("no dump can be made: %s", err->msg);
	r->complained = true;
}

static void ask(struct recorder *r, const char **words, size_t n)
{
	const struct opt_strv args = { .items = words, .len = n };
	struct err err = { 0 };

	if (!r->pipeline)
		return;
	if (pipeline_call(r->pipeline, "net", 0, "dump", &args, &err) < 0)
		complain(r, &err);
}

static void ask_for(struct recorder *r, const struct event *ev)
{
	char on[NET_RECORDER_DUMP_TEXT + 3], at[32], type[16], cpu[16], instance[24];
	const char *words[] = { on, at, type, cpu, instance };

	snprintf(on, sizeof(on), "on=%s", r->conf->on);
	snprintf(at, sizeof(at), "at=%" PRIu64, ev->ts_ns);
	snprintf(type, sizeof(type), "type=%u", ev->desc->type);
	snprintf(cpu, sizeof(cpu), "cpu=%u", ev->cpu);
	snprintf(instance, sizeof(instance), "instance=%u", ev->instance);
	ask(r, words, ARRAY_SIZE(words));
}

static void note_dump(struct recorder *r, const struct event *ev)
{
	const struct net_recorder_dump_event *b = ev->body;

	r->dumps++;
	r->packets += b->packets;
	log_info("sonde: dump %u: %" PRIu64 " packets and %" PRIu64 " drops, %.3f s before and %.3f s after the "
		 "trigger", b->number, b->packets, b->drops, (double)b->before_ns / 1e9, (double)b->after_ns / 1e9);
	if (b->missing_ns)
		log_warn("its first %.3f s were overwritten before the trigger; a larger --memory or a shorter "
			 "--snaplen helps",
			 (double)b->missing_ns / 1e9);
	if (r->conf->dumps && r->dumps >= r->conf->dumps)
		pipeline_stop(r->pipeline);
}

bool recorder_pass(struct recorder *r, const struct event *ev)
{
	if (ev->flags & SONDE_RF_KEPT) {
		if (ev->desc->type == NET_EV_DUMP)
			note_dump(r, ev);
		return true;
	}
	if (r->on && filter_match(r->on, ev))
		ask_for(r, ev);
	return false;
}

/* ---- the run ---- */

static int on_dump_signal(void *ctx, _unused_ int signo)
{
	static const char *word = "signal=1";

	ask(ctx, &word, 1);
	return 0;
}

static int on_info_signal(void *ctx, _unused_ int signo)
{
	const struct recorder *r = ctx;

	log_info("sonde: %u dumps, %" PRIu64 " packets", r->dumps, r->packets);
	return 0;
}

static int set_up(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct recorder *r = ctx;
	int ret = 0;

	if (r->conf->on)
		ret = filter_parse(pipeline_registry(p), r->conf->on, &r->on, err);
	if (ret < 0)
		return err_prefix(err, "--on");
	if (filter_also(r->on))
		pipeline_need(p, 1u << SEC_PARAMS);
	ret = loop_add_signal(loop, SIGUSR2, on_dump_signal, r, NULL);
	if (ret >= 0)
		ret = loop_add_signal(loop, SIGUSR1, on_info_signal, r, NULL);
	return ret < 0 ? err_errno(err, ret, "cannot wait for signals") : 0;
}

static int started(void *ctx, _unused_ struct loop *loop, struct pipeline *p, _unused_ struct err *err)
{
	struct recorder *r = ctx;

	r->pipeline = p;
	return 0;
}

void recorder_set_spec(struct recorder *r, struct run_ops *spec)
{
	spec->ready = r->conf->on ? "sonde: ready, recording; SIGUSR2 dumps too, ^C stops" :
				    "sonde: ready, recording; SIGUSR2 dumps, ^C stops";
	spec->why_local = "--keep";
	spec->unit = NULL;	/* an empty run is normal */
	spec->setup = set_up;
	spec->started = started;
	spec->started_ctx = r;
}
