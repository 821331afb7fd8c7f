// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A subscription as the agent takes it: the input is its words, in the form of doc/protocol.md. All code that reads
 * them runs (words, options, selection, limits, filters, chosen fields); no program is loaded. Each input has a time
 * limit, because the loop waits for this code.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/access/agent_limits.h"
#include "agent/agent_request.h"
#include "agent/agent_send.h"
#include "agent/agent_state.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "pipeline/pipeline.h"
#include "pktfilter/pktfilter.h"

/* Of processor time: 50 ms, and what the sanitizers cost. */
#define MOST_NS (50000000ull * 6)
#define READER 1000u		/* a user who sees content of its own processes only */
#define WORDS_MAX 8192	/* max-expression of agent.conf */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* lint-ok(mutable_globals): the target's world, made once */
static struct agent agent;

/* Packet filters are compiled by a worker process; fuzz_cbpf takes what that answers. */
int pktfilter_compile(const char *expr, uint64_t cpu_ns, struct pktfilter **ret, struct err *err)
{
	(void)cpu_ns;
	(void)ret;
	return err_set(err, strlen(expr) & 1 ? -ENOKEY : -EINVAL, "not here");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct err err = { 0 };

	(void)argc;
	(void)argv;
	agent.insts.n_cpus = 4;
	agent.loop = loop_new();
	agent.broadcast = broadcast_new(&agent_send_ops);
	if (!agent.loop || !agent.broadcast || pipeline_new(agent.loop, &agent.pipeline, &err) < 0)
		abort();
	agent_limits_defaults(&agent.conf.limits);
	agent.insts.pipeline = agent.content.pipeline = agent.pipeline;
	agent.insts.rights = &agent.rights;
	agent.insts.may_use = agent_limits_instance;
	agent.subscriptions = (struct shared_subscriptions){
		.broadcast = agent.broadcast,
		.insts = &agent.insts,
		.content = &agent.content,
	};
	return 0;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* In the order of agent_sub_begin(). */
static void subscribe(const struct proto_frame *f, uint32_t viewer)
{
	struct agent_conn conn = { .a = &agent, .rights = PROTO_RIGHT_READ, .passed_fd = -1, .viewer = viewer };
	struct shared_subscription *shared = NULL;
	struct err err = { 0 };
	struct agent_request q;

	if (agent_request_parse(f, &q, &err) < 0)
		return;
	q.by = &conn;
	if (agent_limits_subscription(&conn, q.bytes, &err) >= 0 &&
	    agent_content_check(&agent.content, viewer, &q, &err) >= 0) {
		for (size_t i = 0; i < q.probes.len; i++)
			agent_inst_check(&agent.insts, &q, i, &err);
		if (shared_subscription_get(&agent.subscriptions, &q, 1, viewer, &shared, &err) >= 0)
			shared_subscription_put(shared);
	}
	agent_request_fini(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct proto_frame f = {
		.type = PROTO_SUBSCRIBE, .data = data, .len = (uint32_t)MIN(size, (size_t)WORDS_MAX),
	};
	uint64_t begin_ns, took_ns;

	if (!f.len || data[f.len - 1])	/* the session lets no others through */
		return 0;
	subscribe(&f, UID_ALL);
	begin_ns = thread_ns();
	subscribe(&f, READER);
	took_ns = thread_ns() - begin_ns;
	if (took_ns > MOST_NS) {
		fprintf(stderr, "a subscription took %llu ms\n", (unsigned long long)(took_ns / 1000000));
		abort();
	}
	return 0;
}
