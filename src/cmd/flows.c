// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde flows: conversations at the interfaces, and what was dropped of them.
 */
#include <errno.h>
#include <string.h>

#include "agent/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/hubble_filter.h"
#include "cmd/packet_words.h"
#include "cmd/run.h"
#include "event/event.h"
#include "pktfilter/pktfilter.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/net_flow_wire.h"
#include "probes/net/net_wire.h"

struct flows_conf {
	struct run_conf run;
	struct net_conf net;
	struct hubble_filter hubble;
};

static const char *const level_names[] = {
	[NET_AGGREGATE_NONE] = "none", [NET_AGGREGATE_LOW] = "low", [NET_AGGREGATE_MEDIUM] = "medium",
	[NET_AGGREGATE_MAX] = "max", NULL,
};
_Static_assert(ARRAY_SIZE(level_names) == NET_AGGREGATE__MAX + 1, "each level has a name");

static const struct opt flow_opts[] = {
	{ .name = "aggregation", .kind = OPT_ENUM, .off = offsetof(struct net_flow_conf, level), .arg = "LEVEL",
	  .help = "none: each packet; low: new, TCP flags, each second, closed; medium (default): the same with "
		  "--report in place of a second; max: new and closed only", .aux = level_names },
	OPT_ROW(net_flow_conf, interval_ns, "report", 0, OPT_DURATION, "TIME",
		"how often a flow that lives is told of (default 5s)"),
	OPT_ROW(net_flow_conf, idle_ns, "idle", 0, OPT_DURATION, "TIME",
		"a flow that is silent for so long has ended (default 60s)"),
	OPT_ROW(net_flow_conf, max, "max-flows", 0, OPT_U32, "N",
		"flows at a time and namespace; packets of more are counted as lost (default 65536)"),
	OPT_ROW(net_flow_conf, dns, "dns", 0, OPT_BOOL, NULL,
		"names of addresses out of DNS answers that pass (UDP port 53; the default)"),
	OPT_END
};

static size_t flows_sets(void *conf, struct opt_set *ret_sets)
{
	struct flows_conf *c = conf;

	c->net = net_conf_default;
	c->net.flow.on = true;
	c->net.flow.level = NET_AGGREGATE_MEDIUM;
	ret_sets[0] = (struct opt_set){ "Flows", flow_opts, &c->net.flow };
	ret_sets[1] = (struct opt_set){ "Network", probe_find("net")->opts, &c->net };
	ret_sets[2] = (struct opt_set){ "Filters of Hubble", hubble_opts, &c->hubble };
	return 3 + run_sets(&c->run, ret_sets + 3);
}

/* Live, the kernel has decided about the packets of flows, one by one. */
static bool match_flows(void *ctx, const struct event *ev)
{
	const struct packet_words *w = ctx;

	return ev->desc->type == NET_EV_FLOW ? net_conf_pass(w->net, ev) : packet_words_match(ctx, ev);
}

/* A sum cannot be corrected later: what decides about packets must be able to do so where they are counted. */
static bool can_count(const struct flows_conf *c, const struct opt_strv *typed, const struct packet_words *words)
{
	char why[160] = "";

	if (c->run.read && typed->len) {
		log_error("the flows of a recording have no packets that a pcap filter could look at: use --where, "
			  "--from and --to");
		return false;
	}
	if (c->run.read || !words->filter || pktfilter_in_kernel(words->filter, why, sizeof(why)))
		return true;
	log_error("flows are counted in the kernel, where this filter cannot run: %s", why);
	return false;
}

static int flows_run(void *conf, const struct cmd_words *w)
{
	struct flows_conf *c = conf;
	struct packet_words words = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	struct run_spec spec = {
		.probes = probes, .n_probes = ARRAY_SIZE(probes), .pass = match_flows, .pass_ctx = &words,
		.cmdline = w->line, .ready = "sonde: ready, following flows; ^C stops",
	};
	struct err err = { 0 };
	int status = CMD_USAGE;

	if (!c->net.flow.max || !c->net.flow.interval_ns)
		log_error("--max-flows and --report must be more than 0");
	else if (packet_words_open(&c->net, &w->words, !c->run.read, &words, &err) < 0 ||
		 hubble_filter_use(&c->hubble, &c->run, "net.flow", &err) < 0)
		log_error("%s", err.msg);
	else if (can_count(c, &w->words, &words)) {
		spec.filter_text = packet_words_use(&words, &c->run, &c->net);
		c->net.kinds = 1u << NET_KIND_DROP;
		status = c->run.explain_filter ? packet_words_explain(&words, &c->run) : run(&c->run, &spec);
	}
	packet_words_close(&words);
	hubble_filter_fini(&c->hubble);
	return status;
}

static const struct cmd_example flows_examples[] = {
	{ "sonde flows", "conversations of this host as they begin, live and end, and drops" },
	{ "sonde flows --where 'flow.event=closed and flow.bytes>1000000'", "large ones, when they are over" },
	{ "sonde flows -i eth0 tcp port 443 --json", "one interface, a pcap filter in the kernel, JSON" },
	{ "sonde flows --verdict DROPPED --from-ip 10.0.0.0/8 --not --port 53", "as `hubble observe` takes it" },
	{ "sonde flows -o hubble:flows.json", "for `hubble observe --input-file` and other readers of flows" },
	{ "sonde flows --aggregation none udp port 53", "each packet of name look-ups" },
	{ 0 },
};

const struct cmd cmd_flows = {
	.name = "flows", .summary = "conversations: who spoke to whom, how much, and how it ended",
	.args = "[PCAP FILTER]",
	.doc = "Counts packets into flows in the kernel and tells of each direction when a flow begins, when a TCP "
	       "flag is seen for the first time, every few seconds while it lives, and when it ends: packets, bytes, "
	       "TCP state, handshake time, retransmissions, what connection tracking knows (both sides of a "
	       "translation), the route, and the process at the local end. Drops appear among them with their "
	       "reason.\n\n"
	       "A flow is a conversation at one interface: a forwarded one shows at each interface that it passes. "
	       "The arrow points to where the packets of a line go; the end that sent the first packet stands first.",
	.examples = flows_examples,
	.letters = "t=type j=json n=numeric c=count i=iface 4=ipv4 6=ipv6",
	.conf_size = sizeof(struct flows_conf), .sets = flows_sets, .run = flows_run,
};
