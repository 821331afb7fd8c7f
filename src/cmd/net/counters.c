// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde counters: packets and bytes by fate, location and reason, added up in the kernel.
 */
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/net/packet_filter.h"
#include "cmd/run/run.h"
#include "cmd/closing/tally.h"
#include "event/event.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/count/net_count_wire.h"

struct counters_conf {
	struct run_conf run;
	struct net_conf net;
};

static const struct opt counters_opts[] = {
	OPT_ROW(net_count_conf, interval_ns, "interval", 0, OPT_DURATION, "TIME",
		"report every TIME (default: at the end)", .more = "packets since the report before"),
	OPT_ROW(net_count_conf, events, "events", 0, OPT_BOOL, NULL, "the packets and drops too",
		.more = "--rate limits them, not the counters"),
	OPT_ROW(net_count_conf, max, "max-counters", 0, OPT_U32, "N", "different counters (default 4096)",
		.more = "packets of further ones are counted together as 'rest'"),
	OPT_ROW(net_count_conf, map, "event-map", 0, OPT_STR, "PATH", "counters that another datapath pinned there",
		.more = "Cilium's or the event library's, read once"),
	OPT_ROW(net_count_conf, names, "event-names", 0, OPT_STR, "FILE", "its table of numbers and names",
		.more = "by default Cilium's"),
	OPT_ROW(net_count_conf, policy, "policy", 0, OPT_BOOL, NULL, "rule counters of running `sonde policy`, once"),
	OPT_END
};

static size_t counters_sets(void *conf, struct opt_set *ret_sets)
{
	struct counters_conf *c = conf;

	c->net = net_conf_default;
	c->run.time = TIME_NONE;
	ret_sets[0] = (struct opt_set){ .title = "Counters", .opts = packet_opts, .conf = &c->net };
	ret_sets[1] = (struct opt_set){ .opts = counters_opts, .conf = &c->net.count };
	return 2 + run_sets(&c->run, RUN_PACKETS | RUN_LINES, ret_sets + 2);
}

/* Counters carry no packet bytes to filter: the kernel has filtered packet by packet. */
static bool match_counters(void *ctx, const struct event *ev)
{
	return ev->desc->type == NET_EV_COUNT || packet_filter_match(ctx, ev);
}

/* Another datapath's map is read once. */
static int read_once(_unused_ void *ctx, _unused_ struct loop *loop, struct pipeline *p, _unused_ struct err *err)
{
	pipeline_stop(p);
	return 0;
}

/* Reports a usage error; 0 or an exit status. */
static int check(const struct counters_conf *c, const struct cmd_words *w)
{
	const struct net_count_conf *n = &c->net.count;

	if (!n->max)
		log_error("--max-counters must be more than 0");
	else if (n->map && w->words.len)
		log_error("--event-map: another datapath's counters know no packets, so packet words (%s) cannot "
			  "choose",
			  w->words.items[0]);
	else if (n->map && (n->events || c->run.read))
		log_error("--event-map and %s exclude each other", c->run.read ? "--read" : "--events");
	else if (n->names && !n->map)
		log_error("--event-names goes with --event-map");
	else if (n->policy && (w->words.len || n->map || n->events || c->run.read))
		log_error("--policy and packet words, --event-map, --events or --read exclude each other");
	else
		return 0;
	return CMD_USAGE;
}

/* Without reports, totals are known only at the end. */
static int run_counters(struct counters_conf *c, struct run_ops *spec)
{
	_cleanup_(buf_fini) struct buf nothing = { 0 };
	struct tally tally = { .conf = &c->run, .nothing = &nothing };

	if (c->net.count.interval_ns && !spec->started) {
		tally_add_no_traffic(&nothing, &c->net.iface, c->run.netns.len);
		spec->watcher = &tally_sink;
		spec->watcher_ctx = spec->started_ctx = &tally;
		spec->started = tally_started;
	}
	return run(&c->run, spec);
}

static int counters_run(void *conf, const struct cmd_words *w)
{
	struct counters_conf *c = conf;
	struct packet_filter words = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	static const char *const types[] = { "net", "net.count", NULL };
	struct run_ops spec = {
		.otlp = "otlp-metrics",
		.unit = "packet",
		.reads = types,
		.own_netns = true,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = match_counters,
		.pass_ctx = &words,
		.cmdline = w->line,
		.ready = "sonde: ready, counting; ^C stops",
	};
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int status = check(c, w);

	if (status)
		return status;
	if (run_settle(&c->run, NULL, "rec", &texts, &err) < 0 ||
	    packet_filter_open(&c->net, &w->words, !c->run.read, &words, &err) < 0)
		return cmd_error(CMD_USAGE, "%s", err.msg);
	spec.filter_text = packet_filter_use(&words, &c->run, &c->net);
	c->net.count.on = true;
	c->net.count.client = (uint32_t)getpid();
	if (c->net.count.map || c->net.count.policy) {
		spec.why_local = c->net.count.policy ? "--policy" : "--event-map";
		spec.ready = "sonde: ready, reading counters";
		spec.started = c->net.count.interval_ns || c->run.duration_ns ? NULL : read_once;
	}
	status = c->run.explain_filter ? packet_filter_explain(&words, &c->run) : run_counters(c, &spec);
	packet_filter_close(&words);
	return status;
}

static const struct cmd_example counters_examples[] = {
	{ "sonde counters --duration 10s", "packets by interface, drops by reason and place, of ten seconds" },
	{ "sonde counters --interval 1s --where 'count.kind=drop'", "drops, second by second" },
	{ "sonde counters -i eth0 tcp port 443 --json", "of one interface and a pcap filter, as JSON" },
	{ "sonde counters --duration 15s -o prometheus:sonde.prom", "for Prometheus' textfile collector" },
	{ "sonde counters --policy --interval 1s", "what the rules of `sonde policy` decide, second by second" },
	{ "sonde counters --event-map /sys/fs/bpf/tc/globals/cilium_metrics", "what Cilium has counted" },
	{ 0 },
};

const struct cmd cmd_counters = {
	.name = "counters",
	.summary = "packets and bytes by point, interface, drop reason and place",
	.args = "[PCAP FILTER]",
	.doc = "Adds up in the kernel, per CPU: packets at the observation points of each interface and direction, "
	       "drops by reason and place in the kernel, XDP verdicts that could not be carried out. Rate limits "
	       "and full rings do not affect them. Packets are counted as the kernel handles them: where it joins "
	       "or has yet to split them (GRO, GSO), one is several on the wire.\n\n"
	       "With --event-map it shows what another datapath has counted: Cilium's, or one that is built with "
	       "sonde/datapath.bpf.h, whose own points and files --event-names lists. With --policy it shows "
	       "the verdicts of each `sonde policy` that runs on this host.",
	.examples = counters_examples,
	.conf_size = sizeof(struct counters_conf),
	.sets = counters_sets,
	.run = counters_run,
};
