/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run of sonde trace and sonde explain: all probes live, or a recording, into one fold (src/trace).
 */
#ifndef CMD_TRACE_RUN_H
#define CMD_TRACE_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "cmd/run/run.h"
#include "cmd/trace/trace_select.h"
#include "probes/call/call.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/gohttp2/gohttp2.h"
#include "probes/net/net_conf.h"
#include "probes/sys/sys_conf.h"

struct cmd_words;
struct trace_call;

struct trace_run {
	struct run_conf run;
	uint64_t window_bytes, min_wait_ns; /* options */
	struct net_conf net;
	struct cpu_conf cpu;
	struct sys_conf sys;
	struct gohttp2_conf gohttp2;
	struct call_conf call;

	/* set by the command */
	int (*take)(void *ctx, const struct trace_call *c); /* a chosen call; 0, or -errno that ends the run */
	void *ctx;

	/* filled by the run */
	struct trace_select select;
	struct loop *loop;	/* while it runs */
	uint64_t calls, evicted; /* rpc.call events seen; facts that left the window */
	int64_t clock_offset_ns;
	struct trace *trace;
};

/* Sets the defaults and lists the option sets that both commands have. Returns their number. */
size_t trace_run_sets(struct trace_run *t, struct opt_set *ret_sets);

/* Runs until the end of the recording, --duration or a signal. Returns an exit status. */
int trace_run(struct trace_run *t, const struct cmd_words *w);

/* Advice for a run without calls: half a sentence. */
const char *trace_run_advice(const struct trace_run *t);

/* Ends the run: nothing more is needed. */
void trace_run_stop(struct trace_run *t);

#endif
