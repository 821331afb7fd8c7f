// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde monitor: packets at their observation points and drops with reason, location and process.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/cilium_listener.h"
#include "pipeline/pipeline.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/net/monitor.h"
#include "cmd/closing/net_closing.h"
#include "cmd/net/packet_filter.h"
#include "probe/probe.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_wire.h"

static const struct opt monitor_opts[] = {
	PACKET_FLOW_ROW(monitor_conf, flow),
	OPT_ROW(monitor_conf, cilium, "cilium", 0, OPT_STR, "PATH", "events of the Cilium agent at this socket",
		.more = "instead of this host's; auto: where Cilium has its socket"),
	OPT_ROW(monitor_conf, reconnect_ns, "reconnect", 0, OPT_DURATION, "TIME", "pause before it reconnects (12s)"),
	OPT_ROW(monitor_conf, serve_cilium, "serve-cilium", 0, OPT_STR, "PATH",
		"serve Cilium's clients on this socket", .more = "with Cilium's monitor protocol 1.2"),
	OPT_ROW(monitor_conf, net.map.path, "event-map", 0, OPT_STR, "PATH",
		"events of another datapath, from its pinned map",
		.more = "instead of this host's packets"),
	OPT_ROW(monitor_conf, net.map.names, "event-names", 0, OPT_STR, "FILE", "names of that datapath's numbers",
		.more = "by default Cilium's"),
	OPT_ROW(monitor_conf, net.map.take_over, "steal", 0, OPT_BOOL, NULL,
		"read the map although another process does", .more = "which then receives no more events"),
	OPT_END,
};

size_t monitor_sets(void *conf, struct opt_set *ret_sets)
{
	struct monitor_conf *c = conf;

	c->net = net_conf_default;
	ret_sets[0] = (struct opt_set){ .title = "Packets", .opts = packet_opts, .conf = &c->net };
	ret_sets[1] = (struct opt_set){ .opts = monitor_opts, .conf = c };
	return 2 + run_sets(&c->run, RUN_PACKETS | RUN_LINES, ret_sets + 2);
}

/* Searches for the socket as Cilium's client does. */
static const char *cilium_path(const char *typed)
{
	const char *env = getenv("CILIUM_MONITOR_SOCK");

	if (!typed || strcmp(typed, "auto"))
		return typed;
	return env && *env ? env : "/var/run/cilium/monitor1_2.sock";
}

static int start_listener(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct monitor_conf *c = ctx;
	const struct cilium_listener_opts o = { .path = c->serve_cilium };
	int r = o.path ? cilium_listener_new(loop, pipeline_bus(p), &o, &c->listener, err) : 0;

	pipeline_settings(p)->listener = c->listener;
	return r;
}

static void stop_listener(void *ctx)
{
	struct monitor_conf *c = ctx;

	cilium_listener_free(TAKE_PTR(c->listener));
}

#define READY_KINDS ((1u << NET_KIND_DROP) | (1u << NET_KIND_TRACE))

static void put_netns(const struct opt_strv *netns, struct buf *out)
{
	for (size_t i = 0; i < netns->len; i++)
		if (!strcmp(netns->items[i], NET_NS_ALL)) {
			buf_add_str(out, " of all network namespaces");
			return;
		}
	buf_add_str(out, " of network namespace");
	for (size_t i = 0; i < netns->len; i++)
		buf_printf(out, "%s%s", i ? ", " : " ", netns->items[i]);
}

/* These kinds of events, and their attach points. */
static void put_kinds(const struct monitor_conf *c, unsigned kinds, struct buf *out)
{
	const struct opt_strv *netns = &c->run.netns;

	if (netns->len) {
		buf_printf(out, " %s", kinds == 1u << NET_KIND_DROP ? "drops" :
			   kinds == 1u << NET_KIND_TRACE ? "packets" : "packets and drops");
		put_netns(netns, out);
	} else {
		buf_printf(out, " %s%s%s", kinds & 1u << NET_KIND_TRACE ? "packets of this network namespace" : "",
			   kinds == READY_KINDS ? ", " : "", kinds & 1u << NET_KIND_DROP ? "drops of all" : "");
		if (kinds == 1u << NET_KIND_DROP)
			buf_add_str(out, " network namespaces");
	}
}

static unsigned kinds_asked(const struct monitor_conf *c)
{
	if (c->net.endpoints)
		return 0;
	return c->net.kinds ? c->net.kinds & READY_KINDS : READY_KINDS;
}

/* Names the kinds that are watched, and those asked for that are not: their hook has been reported. */
static void put_ready(const struct monitor_conf *c, bool some, struct buf *out)
{
	static const char *const none[] = {
		[1u << NET_KIND_TRACE] = "no packets", [1u << NET_KIND_DROP] = "no drops",
		[READY_KINDS] = "neither packets nor drops",
	};
	unsigned kinds = kinds_asked(c) & ~c->lacks;

	buf_add_str(out, "sonde: ready, watching");
	if (kinds)
		put_kinds(c, kinds, out);
	else if (!c->lacks)
		buf_add_str(out, c->cilium ? " events of the Cilium agent" : c->net.map.path ? " events of the map" :
			    " what the filter selects");
	if (c->lacks)
		buf_printf(out, "%s %s", kinds ? ", but" : "", none[c->lacks]);
	else if (some)
		buf_add_str(out, ", but not all packets");
	buf_add_str(out, "; ^C stops");
}

static int on_started(void *ctx, _unused_ struct loop *loop, struct pipeline *p, _unused_ struct err *err)
{
	struct monitor_conf *c = ctx;
	unsigned kinds;

	c->lacks = ((pipeline_hook_failed(p, NET_HOOK_PACKETS) ? 1u << NET_KIND_TRACE : 0) |
		    (pipeline_hook_failed(p, NET_HOOK_DROPS) ? 1u << NET_KIND_DROP : 0)) & kinds_asked(c);
	kinds = kinds_asked(c) & ~c->lacks;
	if (!c->net.endpoints && !(kinds & 1u << NET_KIND_TRACE)) {	/* it cannot say "no packets" */
		c->ops->unit = kinds && !(c->net.kinds & ~READY_KINDS) ? "drop" : "event";
		c->ops->own_netns = false;
	}
	put_ready(c, pipeline_hook_failed(p, NET_HOOK_SOME), &c->ready);
	c->ops->ready = buf_str(&c->ready);
	return 0;
}

/* The filter is compiled: it gives the kinds of events. */
static void on_needs(void *ctx, _unused_ uint32_t by_outputs, _unused_ bool by_words, const struct filter *filter)
{
	struct monitor_conf *c = ctx;

	packet_filter_kinds(filter, &c->net);
	c->net.losses = !c->net.kinds || c->net.kinds == net_conf_kinds("net");
}

static bool has_one_input(const struct monitor_conf *c)
{
	if (!!c->cilium + !!c->run.read + !!c->net.map.path <= 1)
		return true;
	log_error("--cilium, --event-map and --read exclude each other");
	return false;
}

static int monitor_live(struct monitor_conf *c, struct packet_filter *words, struct run_ops *spec)
{
	struct net_closing closing = { .run = &c->run };
	int status;

	spec->filter_text = packet_filter_use(words, &c->run, &c->net);
	c->net.verbose = c->run.verbose;
	c->net.whole_packets = packet_filter_kept(&c->run);
	c->ops = spec;
	net_closing_set_spec(&closing, spec);
	status = c->run.explain_filter ? packet_filter_explain(words, &c->run) : run(&c->run, spec);
	closing.neither = !c->net.endpoints && !kinds_asked(c);
	closing.no_packets = c->lacks & 1u << NET_KIND_TRACE;
	closing.no_drops = c->lacks & 1u << NET_KIND_DROP;
	net_closing_say(&closing, status);
	buf_fini(&c->ready);
	return status;
}

int monitor_run(void *conf, const struct cmd_words *w)
{
	struct monitor_conf *c = conf;
	struct packet_filter words = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	static const char *const types[] = { "net", NULL };
	const struct run_input input = {
		.socket = cilium_path(c->cilium),
		.socket_format = "cilium",
		.reconnect_ns = c->reconnect_ns,
	};
	struct run_ops spec = {
		.unit = "packet",
		.reads = types,
		.otlp = "otlp-logs",
		.own_netns = true,
		.ready = "",
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = packet_filter_match,
		.pass_ctx = &words,
		.cmdline = w->line,
		.input = &input,
		.needs = on_needs,
		.needs_ctx = c,
		.setup = start_listener,
		.started = on_started,
		.stopped = stop_listener,
		.started_ctx = c,
		.why_local = c->net.map.path ? "--event-map" : NULL,
	};
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int status = CMD_USAGE;

	if (!has_one_input(c))
		return CMD_USAGE;
	c->net.endpoints = c->cilium || c->run.read || c->net.map.path;
	if (run_settle(&c->run, NULL, "rec", &texts, &err) < 0 ||
	    packet_filter_open_flow(&c->net, &w->words, c->flow, &c->run, !c->net.endpoints, &words, &err) < 0)
		log_error("%s", err.msg);
	else
		status = monitor_live(c, &words, &spec);
	packet_filter_close(&words);
	return status;
}

static const struct cmd_example monitor_examples[] = {
	{ "sonde monitor", "packets of this network namespace, drops of all" },
	{ "sonde monitor -i eth0 tcp port 443", "a pcap filter, run in the kernel" },
	{ "sonde monitor --where evt.type=drop", "drops only" },
	{ "sonde monitor --where evt.type=refused", "connections that listeners refuse" },
	{ "sonde monitor --where evt.type=mib", "losses that only the kernel's counters tell, each second" },
	{ "sonde monitor --where 'proc.name=nginx and drop.reason exists'", "drops of nginx" },
	{ "sonde monitor --netns all", "packets of every network namespace" },
	{ "sonde monitor -o pcapng:out.pcapng -o text", "a capture with reasons and processes, and lines" },
	{ "sonde monitor -r out.pcapng -vv", "dissect a capture" },
	{ "sonde monitor --event-map /sys/fs/bpf/vpc/sonde_events --event-names vpc.tsv",
	  "events of another datapath" },
	{ 0 },
};

const struct cmd cmd_monitor = {
	.name = "monitor",
	.summary = "packets and drops, live, with the processes they belong to",
	.args = "[PCAP FILTER]",
	.doc = "Shows each packet at its observation points (to and from endpoints, host, stack, overlay, network) "
	       "and each drop with the kernel's reason, the function that dropped it, and the process whose socket "
	       "it concerns. Trailing words are a pcap filter (pcap-filter(7)) that runs in the kernel; --where "
	       "takes an event expression, and evt.type=drop in it loads the probes of drops only.\n\n"
	       "Packets are those of the network namespace in which the command runs, drops those of all; --netns "
	       "names the namespaces for both (all: those that exist at the start). Lines name the namespace of an "
	       "event from elsewhere, as in blue/eth0. Lines show a packet on loopback twice, as it leaves and as it "
	       "comes in; a file of packets (-w x.pcapng) has it once.\n\n"
	       "A connection that a listener refuses, because its queue is full, is not a drop to the kernel: "
	       "it is shown with the listener's queue, its limit and its process. The last line compares their "
	       "number with the kernel's count, ListenDrops of nstat(8).\n\n"
	       "A packet belongs to the owner of its socket, never merely to the process that happened to run: "
	       "owner.how says how the owner was found.",
	.examples = monitor_examples,
	.conf_size = sizeof(struct monitor_conf),
	.sets = monitor_sets,
	.run = monitor_run,
};
