// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde flows: flows at the interfaces, and their drops.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/closing/flow_closing.h"
#include "cmd/net/flows.h"
#include "cmd/net/packet_filter.h"
#include "cmd/top/top.h"
#include "cmd/closing/tally.h"
#include "event/event.h"
#include "pktfilter/pktfilter.h"
#include "probe/probe.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_wire.h"
#include "view/view.h"

static const char *const level_names[] = {
	[NET_AGGREGATE_NONE] = "none", [NET_AGGREGATE_LOW] = "low", [NET_AGGREGATE_MEDIUM] = "medium",
	[NET_AGGREGATE_MAX] = "max", NULL,
};
_Static_assert(ARRAY_SIZE(level_names) == NET_AGGREGATE__MAX + 1, "each level has a name");

/* "TABLE[:ROWS]" */
static int on_top(void *conf, const char *arg, struct err *err)
{
	static const char *const tables[] = { "talkers", "ports", "drops", "connections" };
	struct flows_conf *c = conf;
	size_t len = strcspn(arg, ":");

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (strlen(tables[i]) == len && !memcmp(tables[i], arg, len))
			c->top = view_find(tables[i]);
	if (!c->top || (arg[len] && str_to_u32(arg + len + 1, 10, &c->rows) < 0))
		return err_set(err, -EINVAL,
			       "--top %s: expected talkers, ports, connections or drops, and a number of rows as in "
			       "talkers:20",
			       arg);
	return 0;
}

static const struct opt flows_opts[] = {
	PACKET_FLOW_ROW(flows_conf, flow),
	OPT_ROW(flows_conf, net.flow.level, "aggregation", 0, OPT_ENUM, "LEVEL", "events per flow",
		.names = level_names,
		.more = "none: each packet; low: new, TCP flags, each second, closed; medium (default): the same "
			"with --interval in place of a second; max: new and closed"),
	OPT_ROW(flows_conf, interval_ns, "interval", 0, OPT_DURATION, "TIME", "between reports of a live flow (5s)",
		.more = "with --top also between tables, which by default is printed once at the end"),
	OPT_ROW(flows_conf, net.flow.idle_ns, "idle", 0, OPT_DURATION, "TIME",
		"a flow ends when silent for TIME (60s)"),
	OPT_ROW(flows_conf, net.flow.max, "max-flows", 0, OPT_U32, "N", "flows at a time and namespace (65536)",
		.more = "packets of further flows are counted as lost"),
	OPT_ROW(flows_conf, net.flow.dns, "dns", 0, OPT_BOOL, NULL, "names from DNS answers (--no-dns: none)",
		.more = "those that pass on UDP port 53"),
	OPT_CALL_ROW(on_top, "top", 0, "TABLE[:ROWS]", "a table: talkers, ports, connections or drops",
		     .more = "live on a terminal (see sonde top), else the first ROWS (default 20, 0 = all)"),
	OPT_END
};

size_t flows_sets(void *conf, struct opt_set *ret_sets)
{
	struct flows_conf *c = conf;

	c->net = net_conf_default;
	c->net.flow.on = true;
	c->net.flow.level = NET_AGGREGATE_MEDIUM;
	c->rows = 20;
	ret_sets[0] = (struct opt_set){ .title = "Flows", .opts = packet_opts, .conf = &c->net };
	ret_sets[1] = (struct opt_set){ .opts = flows_opts, .conf = c };
	return 2 + run_sets(&c->run, RUN_PACKETS | RUN_LINES, ret_sets + 2);
}

/* Live, the kernel has filtered the packets of flows, one by one. */
static bool match_flows(void *ctx, const struct event *ev)
{
	const struct packet_filter *w = ctx;

	return ev->desc->type == NET_EV_FLOW ? net_conf_pass(w->net, ev) : packet_filter_match(ctx, ev);
}

/* A sum cannot be corrected later: a packet filter must run where packets are counted. */
static bool can_count(const struct flows_conf *c, const struct opt_strv *typed, const struct packet_filter *words)
{
	char why[160] = "";

	if (c->run.read && typed->len) {
		log_error("the flows of a recording have no packets that a pcap filter could look at: use --where");
		return false;
	}
	if (c->run.read || !words->filter || pktfilter_in_kernel(words->filter, why, sizeof(why)))
		return true;
	log_error("flows are counted in the kernel, where this filter cannot run: %s", why);
	return false;
}

static int run_top(struct flows_conf *c, struct run_ops *spec)
{
	static const char *const types[] = { "net.flow", "net.drop", NULL };
	const struct top_opts opts = {
		.types = types,
		.view = c->top,
		.run = &c->run,
		.command = "sonde flows",
		.words = c->run.where,
		.interval_ns = c->interval_ns,
		.rows = c->rows,
	};
	struct err err = { 0 };
	struct top *t = NULL;
	int status = top_new(&opts, &t, &err);

	if (status < 0)
		return cmd_fail(status, &err);
	if (top_on_screen(t) && !c->interval_ns)
		c->net.flow.interval_ns = NS_PER_S;
	status = top_run(t, spec);
	top_free(t);
	return status;
}

static int run_lines(struct flows_conf *c, struct run_ops *spec)
{
	_cleanup_(buf_fini) struct buf nothing = { 0 };
	struct flow_closing closing;
	struct tally tally = {
		.conf = &c->run, .event = flow_closing_event, .closing = flow_closing_line, .ctx = &closing,
		.nothing = &nothing,
	};
	int status;

	tally_add_no_traffic(&nothing, &c->net.iface, c->run.netns.len);
	flow_closing_init(&closing);
	spec->watcher = &tally_sink;
	spec->watcher_ctx = spec->started_ctx = &tally;
	spec->started = tally_started;
	status = run(&c->run, spec);
	tally_report(&tally, status);
	flow_closing_fini(&closing);
	return status;
}

static int run_watcher(struct flows_conf *c, struct run_ops *spec)
{
	spec->watcher = c->watcher;
	spec->watcher_ctx = c->watcher_ctx;
	spec->output = "";
	spec->unit = NULL;
	return run(&c->run, spec);
}

static int flows_live(struct flows_conf *c, struct packet_filter *words, struct run_ops *spec)
{
	spec->filter_text = packet_filter_use(words, &c->run, &c->net);
	c->net.kinds = 1u << NET_KIND_DROP;
	if (c->run.explain_filter)
		return packet_filter_explain(words, &c->run);
	if (c->watcher)
		return run_watcher(c, spec);
	return c->top ? run_top(c, spec) : run_lines(c, spec);
}

int flows_run(void *conf, const struct cmd_words *w)
{
	struct flows_conf *c = conf;
	struct packet_filter words = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	static const char *const types[] = { "net.flow", "net.drop", NULL };
	struct run_ops spec = {
		.unit = "flow",
		.reads = c->packets ? NULL : types,
		.otlp = "otlp-metrics",
		.own_netns = true,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = match_flows,
		.pass_ctx = &words,
		.cmdline = w->line,
		.ready = "sonde: ready, following flows; ^C stops",
	};
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int status = CMD_USAGE;

	if (c->interval_ns)
		c->net.flow.interval_ns = c->interval_ns;
	if (!c->net.flow.max)
		log_error("--max-flows must be more than 0");
	else if (run_settle(&c->run, NULL, "rec", &texts, &err) < 0 ||
		 packet_filter_open_flow(&c->net, &w->words, c->flow, &c->run, !c->run.read, &words, &err) < 0)
		log_error("%s", err.msg);
	else if (can_count(c, &w->words, &words))
		status = flows_live(c, &words, &spec);
	packet_filter_close(&words);
	return status;
}

static const struct cmd_example flows_examples[] = {
	{ "sonde flows", "conversations of this host as they begin, live and end, and drops" },
	{ "sonde flows --where 'flow.event=closed and flow.bytes>1000000'", "large ones, when they are over" },
	{ "sonde flows -i eth0 tcp port 443 --json", "one interface, a pcap filter in the kernel, JSON" },
	{ "sonde flows --top talkers --interval 5s", "most bytes by process, every five seconds" },
	{ "sonde flows -r flows.rec --top ports", "the same of a recording, by port" },
	{ "sonde flows -o hubble:flows.json", "for `hubble observe --input-file` and other readers of flows" },
	{ "sonde flows --aggregation none udp port 53", "each packet of name look-ups" },
	{ 0 },
};

const struct cmd cmd_flows = {
	.name = "flows",
	.summary = "endpoints, packets and bytes of flows, and how each ended",
	.args = "[PCAP FILTER]",
	.doc = "Counts packets into flows in the kernel and reports each direction when a flow begins, when a TCP "
	       "flag is seen for the first time, every few seconds while it lives, and when it ends: packets, bytes, "
	       "TCP state, handshake time, retransmissions, what connection tracking knows (both sides of a "
	       "translation), the route, and the process at the local end. Drops appear among them with their "
	       "reason.\n\n"
	       "A flow is a conversation at one interface: a forwarded one shows at each interface that it passes. "
	       "The arrow points to where the packets of a line go; the end that sent the first packet stands first.",
	.examples = flows_examples,
	.conf_size = sizeof(struct flows_conf),
	.sets = flows_sets,
	.run = flows_run,
};
