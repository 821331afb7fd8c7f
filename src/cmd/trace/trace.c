// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde trace: a call with both sides, its children, the states of its threads, its system calls and packets.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "cmd/cmd.h"
#include "cmd/trace/trace_run.h"
#include "trace/trace.h"
#include "trace/trace_text.h"

#define CALLS_SHOWN 10u /* unless -n says otherwise */
#define WIDTH 80u	/* of what is not a terminal */

struct trace_conf {
	struct trace_run r;
	uint32_t width;
	uint64_t shown; /* calls */
	struct map ids;	/* uint64_t -> uint8_t: the words may mean both sides of a call, which is shown once */
};

static const struct opt trace_opts[] = {
	OPT_ROW(trace_conf, width, "width", 0, OPT_U32, "COLUMNS", "width of text (default: the terminal's, or 80)",
		.more = "from 120 columns on a table of states stands beside the bars"),
	OPT_END,
};

static size_t trace_sets(void *conf, struct opt_set *ret_sets)
{
	struct trace_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "Trace", .opts = trace_opts, .conf = c };
	return 1 + trace_run_sets(&c->r, ret_sets + 1);
}

static unsigned width_of(const struct trace_conf *c)
{
	struct winsize size;

	if (c->width)
		return c->width;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : WIDTH;
}

static int show(void *ctx, const struct trace_call *call)
{
	struct trace_conf *c = ctx;
	uint64_t most = c->r.run.count ? c->r.run.count : c->r.select.id ? 1 : CALLS_SHOWN;
	_cleanup_(buf_fini) struct buf out = { 0 };
	int r;

	if (c->shown == most)
		return 0;
	r = map_note(&c->ids, &call->rows[0].call.of_call.id);
	if (r <= 0)
		return r;
	if (c->shown++ && !c->r.run.json)
		buf_add_char(&out, '\n');
	r = c->r.run.json ? trace_json(call, c->r.clock_offset_ns, false, &out) : trace_text(call, width_of(c), &out);
	if (r < 0)
		return r;
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return -errno;
	if (c->shown == most)
		trace_run_stop(&c->r);
	return 0;
}

static int trace_main(void *conf, const struct cmd_words *w)
{
	struct trace_conf *c = conf;
	int status;

	if (!w->words.len)
		return cmd_error(CMD_USAGE,
				 "trace takes a call: an id (sonde rpc -v), an expression, conn TUPLE or pid PID");
	c->r.take = show;
	c->r.ctx = c;
	map_init(&c->ids, sizeof(uint64_t), sizeof(uint8_t));
	status = trace_run(&c->r, w);
	map_fini(&c->ids);
	if (status != CMD_OK || c->shown || c->r.run.explain_filter)
		return status;
	if (c->r.calls)
		log_error("none of the %llu calls seen matches", (unsigned long long)c->r.calls);
	else
		log_error("no call was seen; %s", trace_run_advice(&c->r));
	return CMD_FAIL;
}

static const struct cmd_example trace_examples[] = {
	{ "sonde rpc -v", "calls with their ids" },
	{ "sonde trace 3f09c1d2a4b7 -r all.rec", "one of them, out of a recording" },
	{ "sonde trace -r all.rec --width 160 'rpc.method=t.Front/Put and rpc.latency>100ms'", "slow ones" },
	{ "sonde trace conn 10.0.0.1:40000-10.0.0.2:443 -r all.rec", "the calls of a connection" },
	{ "sonde trace pid 812 --duration 5s -n 3", "the next three calls of a Go process, live" },
	{ "sonde trace --source http,redis --duration 9s 'rpc.latency>20ms'", "slow ones, in any language" },
	{ "sonde trace --json -r all.rec 3f09c1d2a4b7", "segments, sides and events, for programs" },
	{ 0 },
};

const struct cmd cmd_trace = {
	.name = "trace",
	.summary = "one call: both sides, children, threads, packets",
	.args = "CALL | EXPR | conn TUPLE | pid PID [-- COMMAND]",
	.doc = "Puts calls together: the client's and the server's side, the calls made meanwhile, the states of the "
	       "threads that carry them, system calls with file names, packets, retransmissions and drops. It reads "
	       "a recording of several probes (sonde record --set full) or watches this host: calls inside Go "
	       "programs, with --source also those at sockets of programs in any language (sonde rpc).\n\n"
	       "The latency is cut into segments, each with a state, a cause and the event that it is known from; "
	       "their lengths sum to the latency exactly. Bytes are followed by their range in the TCP stream; a "
	       "child belongs to the call that its goroutine serves, else, marked with ~, to the only call of the "
	       "process that contains it in time. Time that no event explains is unknown.\n\n"
	       "CALL is the id that sonde rpc -v and its JSON show; -n shows more than the first ten calls.",
	.examples = trace_examples,
	.conf_size = sizeof(struct trace_conf),
	.sets = trace_sets,
	.run = trace_main,
};
