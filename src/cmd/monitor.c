// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde monitor: packets at their observation points and drops with reason, place and process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cilium_listener.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/hubble_filter.h"
#include "cmd/net_closing.h"
#include "cmd/packet_words.h"
#include "cmd/run.h"
#include "pktfilter/pktfilter.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/net_wire.h"

struct monitor_conf {
	struct run_conf run;
	struct net_conf net;
	struct hubble_filter hubble;
	const char *cilium;
	const char *cilium_socket;
	const char *flow;
	uint64_t reconnect_ns;
	struct cilium_listener *listener;	/* of that socket, while it runs */
};

static const struct opt cilium_opts[] = {
	OPT_ROW(monitor_conf, cilium, "cilium", 0, OPT_STR, "PATH",
		"show what the Cilium agent at this socket tells, instead of this host (auto: where Cilium has it)"),
	OPT_ROW(monitor_conf, reconnect_ns, "reconnect", 0, OPT_DURATION, "TIME",
		"wait before connecting to that agent again (default 12s)"),
	OPT_ROW(monitor_conf, cilium_socket, "cilium-socket", 0, OPT_STR, "PATH",
		"serve Cilium's monitor protocol 1.2 on this socket; stock clients connect there"),
	OPT_END,
};

static const struct opt monitor_opts[] = {
	OPT_ROW(monitor_conf, flow, "flow", 0, OPT_STR, "FLOW",
		"only this conversation, both directions and both sides of a translation: an id of sonde flows, or "
		"\"tcp 10.0.0.1:4711 -> 10.0.0.2:80\""),
	OPT_END,
};

static const struct opt map_opts[] = {
	OPT_ROW(net_map_conf, path, "map", 0, OPT_STR, "PATH",
		"show the events that another datapath writes to the map pinned there, instead of this host"),
	OPT_ROW(net_map_conf, names, "names", 0, OPT_STR, "FILE",
		"the table of that datapath's numbers (default: Cilium's)"),
	OPT_ROW(net_map_conf, take_over, "take-over", 0, OPT_BOOL, NULL,
		"even if another process reads that map, which then gets nothing more"),
	OPT_END,
};

static size_t monitor_sets(void *conf, struct opt_set *ret_sets)
{
	struct monitor_conf *c = conf;

	c->net = net_conf_default;
	ret_sets[0] = (struct opt_set){ "Network", probe_find("net")->opts, &c->net };
	ret_sets[1] = (struct opt_set){ "One conversation", monitor_opts, c };
	ret_sets[2] = (struct opt_set){ "Filters of Hubble", hubble_opts, &c->hubble };
	ret_sets[3] = (struct opt_set){ "Cilium", cilium_opts, c };
	ret_sets[4] = (struct opt_set){ "Another datapath", map_opts, &c->net.map };
	return 5 + run_sets(&c->run, ret_sets + 5);
}

static void set_net(struct monitor_conf *c)
{
	c->net.verbose = c->run.verbose;
	c->net.whole_packets = packet_words_kept(&c->run);
	for (size_t i = 0; i < c->run.types.len; i++)
		c->net.kinds |= net_conf_kinds(c->run.types.items[i]);
}

/* As Cilium's client finds it. */
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
	const struct cilium_listener_opts o = { .path = c->cilium_socket };
	int r = o.path ? cilium_listener_new(loop, pipeline_bus(p), &o, &c->listener, err) : 0;

	pipeline_set_listener(p, c->listener);
	return r;
}

static void stop_listener(void *ctx)
{
	struct monitor_conf *c = ctx;

	cilium_listener_free(c->listener);
	c->listener = NULL;
}

#define READY_KINDS ((1u << NET_KIND_DROP) | (1u << NET_KIND_TRACE))

/* The watched kinds of events, and where. */
static void put_ready(const struct monitor_conf *c, struct buf *out)
{
	const struct opt_strv *netns = &c->run.netns;
	unsigned kinds = c->net.kinds ? c->net.kinds & READY_KINDS : READY_KINDS;

	buf_add_str(out, "sonde: ready, watching");
	if (c->net.endpoints || !kinds) {
		buf_add_str(out, "; ^C stops");
		return;
	}
	if (netns->len) {
		buf_printf(out, " %s of network namespace", kinds == 1u << NET_KIND_DROP ? "drops" :
			   kinds == 1u << NET_KIND_TRACE ? "packets" : "packets and drops");
		for (size_t i = 0; i < netns->len; i++)
			buf_printf(out, "%s%s", i ? ", " : " ", netns->items[i]);
	} else {
		buf_printf(out, " %s%s%s", kinds & 1u << NET_KIND_TRACE ? "packets of this network namespace" : "",
			   kinds == READY_KINDS ? ", " : "", kinds & 1u << NET_KIND_DROP ? "drops of all" : "");
		if (kinds == 1u << NET_KIND_DROP)
			buf_add_str(out, " network namespaces");
	}
	buf_add_str(out, "; ^C stops");
}

static int monitor_run(void *conf, const struct cmd_words *w)
{
	struct monitor_conf *c = conf;
	struct packet_words words = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	struct run_ops spec = {
		.unit = "packet",
		.own_netns = true,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = packet_words_match,
		.pass_ctx = &words,
		.cmdline = w->line,
		.socket = cilium_path(c->cilium),
		.socket_format = "cilium",
		.reconnect_ns = c->reconnect_ns,
		.setup = start_listener,
		.stopped = stop_listener,
		.started_ctx = c,
	};
	struct net_closing closing = { .run = &c->run };
	_cleanup_(buf_fini) struct buf ready = { 0 };
	struct err err = { 0 };
	int status = CMD_USAGE;

	if (!!c->cilium + !!c->run.read + !!c->net.map.path > 1) {
		log_error("--cilium, --map and --read: one input, please");
		return CMD_USAGE;
	}
	c->net.endpoints = c->cilium || c->run.read || c->net.map.path;
	c->run.local |= c->net.map.path != NULL;	/* the path is this process's */
	if (packet_words_open_flow(&c->net, &w->words, c->flow, &c->run, !c->net.endpoints, &words, &err) < 0 ||
	    hubble_filter_use(&c->hubble, &c->run, "net.trace", &err) < 0)
		log_error("%s", err.msg);
	else {
		spec.filter_text = packet_words_use(&words, &c->run, &c->net);
		set_net(c);
		put_ready(c, &ready);
		spec.ready = buf_str(&ready);
		net_closing_set_spec(&closing, &spec);
		status = c->run.explain_filter ? packet_words_explain(&words, &c->run) : run(&c->run, &spec);
	}
	net_closing_say(&closing, status);
	packet_words_close(&words);
	hubble_filter_fini(&c->hubble);
	return status;
}

static const struct cmd_example monitor_examples[] = {
	{ "sonde monitor", "packets of this network namespace and drops of all, live" },
	{ "sonde monitor --netns all", "packets and drops of every network namespace" },
	{ "sonde monitor --type drop", "drops only" },
	{ "sonde monitor -i eth0 tcp port 443", "a pcap filter, evaluated in the kernel" },
	{ "sonde monitor --where 'proc.name=nginx and drop.reason exists'", "drops that concern nginx" },
	{ "sonde monitor -o pcapng:out.pcapng -o text", "a capture with reasons and processes, and the lines too" },
	{ "sonde monitor -r out.pcapng -vv", "dissect a capture" },
	{ "sonde monitor --map /sys/fs/bpf/vpc/sonde_events --names vpc.tsv", "a datapath of one's own" },
	{ 0 },
};

const struct cmd cmd_monitor = {
	.name = "monitor", .summary = "packets and drops, live, with the processes they belong to",
	.args = "[PCAP FILTER]",
	.doc = "Shows each packet at its observation points (to and from endpoints, host, stack, overlay, network) "
	       "and each drop with the kernel's reason, the function that dropped it, and the process whose socket "
	       "it concerns. Trailing words are a pcap filter (pcap-filter(7)) that runs in the kernel; --where "
	       "takes event words.\n\n"
	       "Packets are those of the network namespace in which the command runs, drops those of all; --netns "
	       "names the namespaces for both (all: those that exist at the start). Lines name the namespace of an "
	       "event from elsewhere, as in blue/eth0.\n\n"
	       "A packet belongs to the owner of its socket, never merely to the process that happened to run: "
	       "owner.by says how the owner was found.",
	.examples = monitor_examples,
	.letters = "t=type j=json n=numeric c=count i=iface s=snaplen 4=ipv4 6=ipv6",
	.conf_size = sizeof(struct monitor_conf), .sets = monitor_sets, .run = monitor_run,
};
