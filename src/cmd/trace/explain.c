// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde explain: where slow calls of an operation spend more time than normal ones.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/trace/trace_run.h"
#include "trace/trace_explain.h"

DEFINE_CLEANUP(struct trace_explain *, trace_explain_free)

struct explain_conf {
	struct trace_run r;
	bool failed;
};

static const struct opt explain_opts[] = {
	OPT_ROW(explain_conf, failed, "failed", 0, OPT_BOOL, NULL, "failed calls against normal ones"),
	OPT_END,
};

static size_t explain_sets(void *conf, struct opt_set *ret_sets)
{
	struct explain_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "Explain", .opts = explain_opts, .conf = c };
	return 1 + trace_run_sets(&c->r, ret_sets + 1);
}

static int add_call(void *ctx, const struct trace_call *call)
{
	return trace_explain_add(ctx, call);
}

static int explain_main(void *conf, const struct cmd_words *w)
{
	struct explain_conf *c = conf;
	_cleanup_(trace_explain_freep) struct trace_explain *e = trace_explain_new(c->failed);
	_cleanup_(buf_fini) struct buf out = { 0 };
	int status;

	if (!e)
		return cmd_error(CMD_FAIL, "out of memory");
	c->r.take = add_call;
	c->r.ctx = e;
	status = trace_run(&c->r, w);
	if ((status != CMD_OK && status < CMD_BY_SIGNAL) || c->r.run.explain_filter)
		return status;
	if (trace_explain_print(e, c->r.run.json, &out) < 0)
		return cmd_error(CMD_FAIL, "out of memory");
	if (!out.len && !w->words.len) {
		log_warn("no call was seen; %s", trace_run_advice(&c->r));
		return status;
	}
	if (!out.len) {
		log_error("none of the %llu calls seen is of this operation (sonde rpc -c lists operations)",
			  (unsigned long long)c->r.calls);
		return CMD_FAIL;
	}
	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return CMD_FAIL;
	return status;
}

static const struct cmd_example explain_examples[] = {
	{ "sonde explain t.Front/Put --duration 30s", "one operation, live" },
	{ "sonde explain --source postgresql --duration 30s", "SQL statements of programs in any language" },
	{ "sonde explain -r all.rec", "all operations of a recording" },
	{ "sonde explain -r all.rec --failed 'rpc.method=t.Front/Put'", "its failed calls against the others" },
	{ 0 },
};

const struct cmd cmd_explain = {
	.name = "explain",
	.summary = "why calls of an operation are slow",
	.args = "[METHOD | EXPR] [-- COMMAND]",
	.doc = "Compares the slow calls of an operation (above the 95th percentile, or failed) with its normal ones "
	       "(between the quartiles): the latency of each call is cut into exclusive segments, as sonde trace "
	       "shows them, and the mean time of each cause in normal calls is taken from that in slow ones.\n\n"
	       "A cause is named if the lower bound of the difference, from 1,000 resamplings with a fixed seed, is "
	       "more than a tenth of the excess, more than 1 ms and more than 5 % of the call. With fewer than 3 "
	       "slow or 20 normal calls, or without such a cause, it says so and exits with status 0. Time that no "
	       "event explains is always shown.\n\n"
	       "Causes: on CPU, run queue, throttled (CPU quota of the cgroup), stopped, lock (and its holder), "
	       "kernel lock, disk, page fault, memory reclaim, accept queue, receive queue, zero window, connect, "
	       "network, retransmission (and the drop), DNS, a server that is not watched, other waits.",
	.examples = explain_examples,
	.conf_size = sizeof(struct explain_conf),
	.sets = explain_sets,
	.run = explain_main,
};
