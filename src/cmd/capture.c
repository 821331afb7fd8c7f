// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde capture: packets into files, with what is known of them. Each once per observation point: tc at the
 * interfaces, or the place where the kernel drops.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/net_closing.h"
#include "cmd/packet_words.h"
#include "cmd/recorder.h"
#include "cmd/run.h"
#include "event/event.h"
#include "pktfilter/pktfilter.h"
#include "probe/probe.h"
#include "probes/net/net.h"
#include "probes/net/net_wire.h"

struct capture_conf {
	struct run_conf run;
	struct net_conf net;
	const char *write;
	const char *file_size;
	const char *flow;
	bool dropped;
	struct record_conf record;
	struct packet_words *words;	/* while it runs */
	struct recorder *recorder;	/* likewise; NULL = packets are written as they come */
};

static const char *const direction_names[] = {
	[NET_DIR_NONE] = "inout", [NET_DIR_IN] = "in", [NET_DIR_OUT] = "out", NULL,
};

static const struct opt capture_opts[] = {
	OPT_ROW(capture_conf, write, "write", 'w', OPT_STR, "FILE",
		"write packets to FILE (pcapng); - is standard output; without it they are shown as text"),
	OPT_ROW(capture_conf, file_size, "file-size", 'C', OPT_STR, "N",
		"go on in another file (FILE, FILE1, ...) after N million bytes; with k, m or g KiB, MiB or GiB"),
	OPT_ROW(capture_conf, flow, "flow", 0, OPT_STR, "FLOW",
		"only this conversation, both directions and both sides of a translation: an id of sonde flows, or "
		"\"tcp 10.0.0.1:4711 -> 10.0.0.2:80\""),
	OPT_ROW(capture_conf, dropped, "dropped", 0, OPT_BOOL, NULL,
		"only packets that the kernel drops, with reason and place; no hook at any interface"),
	{ .name = "direction", .key = 'Q', .kind = OPT_ENUM, .off = offsetof(struct capture_conf, net.direction),
	  .arg = "DIR", .help = "in, out or inout (default): direction at the interface", .aux = direction_names },
	OPT_END
};

static size_t capture_sets(void *conf, struct opt_set *ret_sets)
{
	struct capture_conf *c = conf;

	c->net = net_conf_default;
	c->net.once = true;
	ret_sets[0] = (struct opt_set){ "Capture", capture_opts, c };
	ret_sets[1] = (struct opt_set){ "Network", probe_find("net")->opts, &c->net };
	ret_sets[2] = (struct opt_set){ "Recorder", record_opts, &c->record };
	c->record = record_conf_default;
	return 3 + run_sets(&c->run, ret_sets + 3);
}

/* ---- files ---- */

/* tcpdump's unit is a million bytes. */
static int set_file_size(struct run_conf *run, const char *text, struct err *err)
{
	uint64_t n;

	if (str_to_u64(text, 10, &n) == 0 && n && n <= UINT64_MAX / 1000000)
		run->rotate_bytes = n * 1000000;
	else if (str_to_bytes(text, &n) == 0 && n && text[strspn(text, "0123456789")])
		run->rotate_bytes = n;
	else
		return err_set(err, -EINVAL, "-C %s: millions of bytes are wanted, or a size such as 500k or 1g",
			       text);
	return 0;
}

/* @mem holds the output's text. */
static int set_files(struct capture_conf *c, struct buf *mem, struct err *err)
{
	struct run_conf *run = &c->run;
	bool changes = c->file_size || run->rotate_bytes || run->rotate_ns || run->rotate_events;
	int r = c->file_size ? set_file_size(run, c->file_size, err) : 0;

	if (r < 0)
		return r;
	run->rotate_like_tcpdump = c->write;
	if (c->write && run->rotate_files && !changes)
		return err_set(err, -EINVAL, "-W says how many files there are: -C, -G or --rotate-events when to "
			       "change them");
	if (!c->write)
		return 0;
	buf_printf(mem, "pcapng:%s", c->write);
	if (buf_error(mem) < 0 || vec_grow(&run->outputs) < 0)
		return err_errno(err, -ENOMEM, "cannot set up the output");
	run->outputs.items[run->outputs.len++] = buf_str(mem);
	return 0;
}

/* ---- what is captured ---- */

static void set_net(struct capture_conf *c)
{
	c->net.verbose = c->run.verbose;
	c->net.whole_packets = packet_words_kept(&c->run);
	c->net.kinds = c->dropped ? 1u << NET_KIND_DROP : 0;
	for (size_t i = 0; i < c->run.types.len; i++)
		c->net.kinds |= net_conf_kinds(c->run.types.items[i]);
	if (!c->net.kinds)
		c->net.kinds = 1u << NET_KIND_TRACE;
	if (c->record.keep_ns)
		recorder_set_net(&c->record, &c->net);
}

/* A file holds what it holds; of a live run only what was asked for comes. */
static bool capture_pass(void *ctx, const struct event *ev)
{
	struct capture_conf *c = ctx;

	if (c->recorder && !recorder_pass(c->recorder, ev))
		return false;
	if (c->dropped && ev->desc->type != NET_EV_DROP && ev->desc->class == EVENT_DATA)
		return false;
	return packet_words_match(c->words, ev);
}

/* A recorder has words of its own at the start and no progress: nothing is written until it dumps. */
static void set_closing(struct capture_conf *c, struct net_closing *closing, struct run_ops *spec)
{
	closing->file = c->write && strcmp(c->write, "-") != 0 ? c->write : NULL;
	net_closing_set_spec(closing, spec);
	if (c->recorder) {
		recorder_set_spec(c->recorder, spec);
		return;
	}
	spec->started = net_closing_started;
	spec->stopped = net_closing_stopped;
	spec->started_ctx = closing;
}

static int capture_run(void *conf, const struct cmd_words *w)
{
	struct capture_conf *c = conf;
	struct packet_words words = { 0 };
	struct net_closing closing = { .run = &c->run };
	_cleanup_(buf_fini) struct buf mem = { 0 };
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	struct run_ops spec = {
		.unit = "packet",
		.own_netns = true,
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.pass = capture_pass,
		.pass_ctx = c,
		.cmdline = w->line,
		.ready = "sonde: ready, capturing; ^C stops",
	};
	struct err err = { 0 };
	int status = CMD_USAGE;

	c->words = &words;
	if (recorder_open(&c->record, &c->run, &c->recorder, &err) < 0 || set_files(c, &mem, &err) < 0 ||
	    packet_words_open_flow(&c->net, &w->words, c->flow, &c->run, !c->run.read, &words, &err) < 0) {
		log_error("%s", err.msg);
	} else {
		spec.filter_text = packet_words_use(&words, &c->run, &c->net);
		set_net(c);
		set_closing(c, &closing, &spec);
		status = c->run.explain_filter ? packet_words_explain(&words, &c->run) : run(&c->run, &spec);
	}
	net_closing_say(&closing, status);
	packet_words_close(&words);
	recorder_close(c->recorder);
	c->recorder = NULL;
	return status;
}

static const struct cmd_example capture_examples[] = {
	{ "sonde capture -i eth0 -w out.pcapng tcp port 443", "one interface, a pcap filter in the kernel" },
	{ "sonde capture --comm nginx -w -", "one program's packets as they come, for a reader behind a pipe" },
	{ "sonde capture --dropped -w drops.pcapng", "only what the kernel drops, with reason and place" },
	{ "sonde capture -w ring.pcapng -C 100 -W 10", "the last gigabyte, in ten files" },
	{ "sonde capture --keep 5s --on drop.reason=NO_SOCKET -w why.pcapng",
	  "nothing until a packet finds no socket, then the five seconds before it" },
	{ "sonde capture -r out.pcapng -w dns.pcapng udp port 53", "a part of a file" },
	{ 0 },
};

const struct cmd cmd_capture = {
	.name = "capture", .summary = "packets into pcapng files, with processes and drop reasons",
	.args = "[PCAP FILTER]",
	.doc = "Writes packets as tcpdump does, with comments that say whose they are. Each packet is taken once per "
	       "observation point: where traffic control sees it come in and go out at each chosen interface (all of "
	       "the namespace, without -i), on loopback where it leaves; with --dropped where the kernel drops it. A "
	       "packet that is forwarded passes two interfaces and is there twice.\n\n"
	       "The pcap filter runs in the kernel, and so does the selection by process, command name, cgroup and "
	       "namespace. -C, -G and -W change files as tcpdump's do; --rotate-events does it by number of packets. "
	       "Without -w packets are shown as lines.\n\n"
	       "With --keep it is a flight recorder: packets stay in memory, where each overwrites an old one, and "
	       "nothing is written until an event meets --on or SIGUSR2 comes. Then all of the time before and some "
	       "after it goes to the output in order, packets and drops, and what set it off has recorder.trigger. "
	       "The first 200 bytes of each are kept (--snaplen); a dump says what its memory had no room for. "
	       "SIGUSR1 says how many dumps there were.",
	.examples = capture_examples,
	.letters = "j=json n=numeric c=count i=iface s=snaplen G=rotate-time W=rotate-files",
	.conf_size = sizeof(struct capture_conf), .sets = capture_sets, .run = capture_run,
};
