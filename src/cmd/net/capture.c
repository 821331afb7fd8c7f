// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde capture: packets into files, with process, drop reason and location. Each once per observation point: tc at
 * the interfaces, or the function that drops it.
 */
#include "cmd/net/capture_cmd.h"

#include <errno.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/closing/net_closing.h"
#include "cmd/net/packet_filter.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_wire.h"

const char *const capture_direction_names[] = {
	[NET_DIR_NONE] = "inout", [NET_DIR_IN] = "in", [NET_DIR_OUT] = "out", NULL,
};

static const struct opt capture_opts[] = { PACKET_FLOW_ROW(capture_conf, flow),
					   OPT_ROW(capture_conf, net.direction, "direction", 'Q', OPT_ENUM, "DIR",
						   "at the interface", .names = capture_direction_names),
					   OPT_END };

size_t cmd_capture_sets(void *conf, struct opt_set *ret_sets)
{
	struct capture_conf *c = conf;

	c->net = net_conf_default;
	c->net.once = true;
	c->record = record_conf_default;
	ret_sets[0] = (struct opt_set){ .title = "Capture", .opts = packet_opts, .conf = &c->net };
	ret_sets[1] = (struct opt_set){ .opts = capture_opts, .conf = c };
	ret_sets[2] = (struct opt_set){ .opts = record_opts, .conf = &c->record };
	return 3 + run_sets(&c->run, RUN_PACKETS | RUN_LINES, ret_sets + 3);
}

/* ---- files ---- */

static int set_files(struct capture_conf *c, struct run_texts *texts, struct err *err)
{
	struct run_conf *run = &c->run;

	run->rotate_like_tcpdump = run->write;
	if (run->rotate_files && !run->rotate_bytes && !run->rotate_ns && !run->rotate_events)
		return err_set(err, -EINVAL,
			       "--rotate files=N is the number of files: size=, time= or events= changes "
			       "them");
	return run_settle(run, NULL, "pcapng", texts, err);
}

/* ---- selection ---- */

static void set_net(struct capture_conf *c)
{
	c->net.verbose = c->run.verbose;
	c->net.whole_packets = packet_filter_kept(&c->run);
}

/* Packets at the interfaces, unless the filter names other kinds of events. */
static void on_needs(void *ctx, _unused_ uint32_t by_outputs, _unused_ bool by_words, const struct filter *filter)
{
	struct capture_conf *c = ctx;

	packet_filter_kinds(filter, &c->net);
	if (!c->net.kinds)
		c->net.kinds = 1u << NET_KIND_TRACE;
	if (c->record.keep_ns)
		recorder_set_net(&c->record, &c->net);
}

/* A file is used as it is; a live run takes only the requested kinds. */
static bool capture_pass(void *ctx, const struct event *ev)
{
	struct capture_conf *c = ctx;

	if (c->recorder && !recorder_pass(c->recorder, ev))
		return false;
	return packet_filter_match(c->words, ev);
}

/* A recorder has its own start message and no progress: it writes nothing until a dump. */
static void set_closing(struct capture_conf *c, struct net_closing *closing, struct run_ops *spec)
{
	closing->file = c->run.write && strcmp(c->run.write, "-") != 0 ? c->run.write : NULL;
	net_closing_set_spec(closing, spec);
	if (c->recorder) {
		recorder_set_spec(c->recorder, spec);
		return;
	}
	spec->started = net_closing_started;
	spec->stopped = net_closing_stopped;
	spec->started_ctx = closing;
}

int cmd_capture_run(void *conf, const struct cmd_words *w)
{
	struct capture_conf *c = conf;
	struct packet_filter words = { 0 };
	struct net_closing closing = { .run = &c->run };
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	static const char *const types[] = { "net", NULL };
	struct run_ops spec = {
		.unit = "packet",
		.reads = types,
		.own_netns = true,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = capture_pass,
		.pass_ctx = c,
		.cmdline = w->line,
		.ready = c->ready ? c->ready : "sonde: ready, capturing; ^C stops",
		.says_ready = c->ready != NULL,
		.needs = on_needs,
		.needs_ctx = c,
		.watcher = c->watcher,
		.watcher_ctx = c->watcher_ctx,
		.output = c->watcher ? "" : NULL,
	};
	struct err err = { 0 };
	int status = CMD_USAGE;

	c->words = &words;
	if (recorder_open(&c->record, &c->run, &c->recorder, &err) < 0 || set_files(c, &texts, &err) < 0 ||
	    packet_filter_open_flow(&c->net, &w->words, c->flow, &c->run, !c->run.read, &words, &err) < 0) {
		log_error("%s", err.msg);
	} else {
		spec.filter_text = packet_filter_use(&words, &c->run, &c->net);
		set_net(c);
		set_closing(c, &closing, &spec);
		status = c->run.explain_filter ? packet_filter_explain(&words, &c->run) : run(&c->run, &spec);
	}
	net_closing_say(&closing, status);
	packet_filter_close(&words);
	recorder_close(TAKE_PTR(c->recorder));
	return status;
}

static const struct cmd_example capture_examples[] = {
	{ "sonde capture -i eth0 -w out.pcapng tcp port 443", "a pcap filter in the kernel" },
	{ "sonde capture --where proc.name=nginx -w -", "packets of one program, for a pipe" },
	{ "sonde capture --where evt.type=drop -w drops.pcapng", "dropped packets, with reason and place" },
	{ "sonde capture -w ring.pcapng --rotate size=100M,files=10", "the last gigabyte, in ten files" },
	{ "sonde capture --keep 5s --on drop.reason=NO_SOCKET -w why.pcapng",
	  "nothing until a packet finds no socket, then the five seconds before it" },
	{ "sonde capture -r out.pcapng -w dns.pcapng udp port 53", "a part of a file" },
	{ 0 },
};

const struct cmd cmd_capture = {
	.name = "capture",
	.summary = "packets into pcapng files, with processes and drop reasons",
	.args = "[PCAP FILTER]",
	.doc = "Writes packets as tcpdump does, with comments that say whose they are. Each packet is taken once per "
	       "observation point: where traffic control sees it come in and go out at each chosen interface (all of "
	       "the namespace, without -i), on loopback where it leaves; with --where evt.type=drop where the "
	       "kernel drops it. A "
	       "packet that is forwarded passes two interfaces and is there twice.\n\n"
	       "The pcap filter runs in the kernel, and so does the selection by process, cgroup, namespace and, in "
	       "--where, proc.name and proc.pid. --rotate numbers files as tcpdump's -C, -G and -W do, in front of "
	       "the suffix. Without -w "
	       "packets are shown as lines.\n\n"
	       "With --keep it is a flight recorder: packets stay in memory, where each overwrites an old one, and "
	       "nothing is written until an event meets --on or SIGUSR2 comes. Then the packets and drops of the "
	       "TIME before, and of a short time after, are written in order; the event that triggered the dump "
	       "has recorder.trigger. The first 200 bytes of each are kept (--snaplen); a dump says what was "
	       "overwritten. SIGUSR1 prints the number of dumps.",
	.examples = capture_examples,
	.conf_size = sizeof(struct capture_conf),
	.sets = cmd_capture_sets,
	.run = cmd_capture_run,
};
