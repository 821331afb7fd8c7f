// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde flows: conversations at the interfaces, and what was dropped of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/flow_closing.h"
#include "cmd/flow_top.h"
#include "cmd/hubble_filter.h"
#include "cmd/packet_words.h"
#include "cmd/painter.h"
#include "cmd/run.h"
#include "cmd/tally.h"
#include "event/event.h"
#include "pktfilter/pktfilter.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_wire.h"

struct flows_conf {
	struct run_conf run;
	struct net_conf net;
	struct hubble_filter hubble;
	unsigned top;			/* enum flow_top_kind */
	uint32_t rows;
	uint64_t interval_ns;
	struct flow_top *table;		/* while it runs */
	struct painter *painter;	/* of its intervals on a terminal; NULL = none */
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

static const struct opt top_opts[] = {
	{ .name = "top", .kind = OPT_ENUM, .off = offsetof(struct flows_conf, top), .arg = "TABLE",
	  .help = "a table in place of lines: talkers, ports or drops", .aux = flow_top_names },
	OPT_ROW(flows_conf, interval_ns, "interval", 0, OPT_DURATION, "TIME",
		"show that table every TIME, of what came since; the last one is of everything (default: that only)"),
	OPT_ROW(flows_conf, rows, "rows", 0, OPT_U32, "N", "rows of it, the heaviest first; 0 = all (default 20)"),
	OPT_END
};

static size_t flows_sets(void *conf, struct opt_set *ret_sets)
{
	struct flows_conf *c = conf;

	c->net = net_conf_default;
	c->net.flow.on = true;
	c->net.flow.level = NET_AGGREGATE_MEDIUM;
	ret_sets[0] = (struct opt_set){ "Flows", flow_opts, &c->net.flow };
	c->rows = 20;
	ret_sets[1] = (struct opt_set){ "Table", top_opts, c };
	ret_sets[2] = (struct opt_set){ "Network", net_select_opts, &c->net };
	ret_sets[3] = (struct opt_set){ "Filters of Hubble", hubble_opts, &c->hubble };
	return 4 + run_sets(&c->run, ret_sets + 4);
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

/* ---- the table ---- */

static int show_table(struct flows_conf *c, bool interval)
{
	_cleanup_(buf_fini) struct buf out = { 0 };

	if (interval && c->painter)
		buf_add_str(&out, "\033[H\033[2J");
	if (flow_top_print(c->table, interval, c->run.json, c->rows, &out) < 0)
		return -ENOMEM;
	if (interval && !c->run.json)
		buf_add_char(&out, '\n');
	if (interval && c->painter) {
		painter_put(c->painter, &out);
		return 0;
	}
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return -errno;
	return 0;
}

static int on_interval(void *ctx, _unused_ uint64_t now_ns)
{
	return show_table(ctx, true);
}

static int start_table(void *ctx, struct loop *loop, _unused_ struct pipeline *p, struct err *err)
{
	struct flows_conf *c = ctx;
	int r = 0;

	if (!c->interval_ns || c->run.read)
		return 0;
	if (!c->run.json && isatty(STDOUT_FILENO))
		r = painter_new(NULL, NULL, &c->painter);
	if (r >= 0)
		r = loop_add_timer(loop, c->interval_ns, c->interval_ns, on_interval, c, NULL);
	return r < 0 ? err_errno(err, r, "cannot show the table again and again") : 0;
}

static void stop_table(void *ctx)
{
	struct flows_conf *c = ctx;

	painter_free(TAKE_PTR(c->painter));
}

/* Flows report as often as the table is shown, if that is more often. */
static int run_table(struct flows_conf *c, struct run_ops *spec)
{
	struct run_conf quiet = c->run;
	int status;

	if (flow_top_new(c->top, &c->table) < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	if (c->interval_ns)
		c->net.flow.interval_ns = MIN(c->net.flow.interval_ns, c->interval_ns);
	quiet.json = false;	/* of the table, not of events */
	spec->output = "";
	spec->watcher = &flow_top_sink;
	spec->watcher_ctx = c->table;
	spec->started = start_table;
	spec->stopped = stop_table;
	spec->started_ctx = c;
	status = run(&quiet, spec);
	if (show_table(c, false) < 0 && status == CMD_OK)
		status = CMD_FAIL;
	flow_top_free(c->table);
	c->table = NULL;
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

static int flows_run(void *conf, const struct cmd_words *w)
{
	struct flows_conf *c = conf;
	struct packet_words words = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	struct run_ops spec = {
		.unit = "flow",
		.own_netns = true,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = match_flows,
		.pass_ctx = &words,
		.cmdline = w->line,
		.ready = "sonde: ready, following flows; ^C stops",
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
		if (c->run.explain_filter)
			status = packet_words_explain(&words, &c->run);
		else
			status = c->top ? run_table(c, &spec) : run_lines(c, &spec);
	}
	packet_words_close(&words);
	hubble_filter_fini(&c->hubble);
	return status;
}

static const struct cmd_example flows_examples[] = {
	{ "sonde flows", "conversations of this host as they begin, live and end, and drops" },
	{ "sonde flows --where 'flow.event=closed and flow.bytes>1000000'", "large ones, when they are over" },
	{ "sonde flows -i eth0 tcp port 443 --json", "one interface, a pcap filter in the kernel, JSON" },
	{ "sonde flows --top talkers --interval 5s", "who speaks most, by process, every five seconds" },
	{ "sonde flows -r flows.rec --top ports", "the same of a recording, by port" },
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
