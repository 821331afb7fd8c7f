// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes for clients of Cilium's monitor socket: packets, drops and, if configured, Go RPCs. Also the agent's own
 * notifications (start, probes), as Cilium's agents send them.
 */
#include "agent/agent_cilium.h"

#include <string.h>
#include <time.h>

#include "agent/access/agent_content.h"
#include "agent/agent_inst.h"
#include "agent/agent_request.h"
#include "pipeline/cilium_listener.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/listen.h"
#include "ipc/proto.h"
#include "pipeline/pipeline.h"

#define DEFAULT_PROBES "net"

bool agent_cilium_wants(const struct agent_cilium *c, uint16_t instance)
{
	return instance < SONDE_INSTANCES && ((c->starting && !c->insts->of[instance]) || c->mask & 1u << instance);
}

static bool pass(void *ctx, const struct event *ev)
{
	return agent_cilium_wants(ctx, ev->instance);
}

static uint32_t viewer(void *ctx, int fd)
{
	struct peer peer;

	return listen_peer_of(fd, &peer) < 0 ? UID_NONE
					     : agent_content_viewer(((struct agent_cilium *)ctx)->content, &peer, 0);
}

static const struct event *show(void *ctx, const struct event *ev, uint32_t of)
{
	struct agent_cilium *c = ctx;

	arena_reset(&c->scratch);
	return agent_content_event(c->content, ev, of, &c->scratch, &c->shown);
}

/* "net,gohttp2" as subscription strings; agent_request_parse() checks the names. */
static void put_words(const char *list, struct buf *out)
{
	while (*list) {
		size_t len = strcspn(list, ",");

		buf_printf(out, "probe=%.*s%c", (int)len, list, 0);
		list += len + (list[len] == ',');
	}
}

static int parse(const struct agent_cilium *c, struct agent_request *ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf words = { 0 };

	put_words(c->probes ? c->probes : DEFAULT_PROBES, &words);
	if (buf_error(&words))
		return err_errno(err, buf_error(&words), "cannot serve Cilium's clients");
	return agent_request_parse(&(struct proto_frame){ .data = words.data, .len = (uint32_t)words.len }, ret, err);
}

static void start_probes(struct agent_cilium *c)
{
	struct agent_request q;
	struct err err = { 0 };
	int r = parse(c, &q, &err);

	if (r >= 0) {
		c->starting = true; /* records of a starting probe have no known instance yet */
		r = agent_inst_get_all(c->insts, &q, &c->mask, &err);
		if (r >= 0)
			r = agent_inst_snapshot(c->insts, c->mask, NULL, &err);
		if (r >= 0)
			agent_inst_started(c->insts, c->mask);
		c->starting = false;
		agent_request_fini(&q);
	}
	if (r < 0)
		log_error("cannot start probes for Cilium's clients: %s", err.msg);
}

/* Drops the references to its instances. */
static void stop_probes(struct agent_cilium *c)
{
	uint32_t mask = c->mask;

	c->mask = 0;
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i)
			agent_inst_put(c->insts, i);
}

static void run_job(void *ctx)
{
	struct agent_cilium *c = ctx;

	if (c->on && !c->mask)
		start_probes(c);
	else if (!c->on)
		stop_probes(c);
}

static void on_demand(void *ctx, bool on)
{
	struct agent_cilium *c = ctx;

	c->on = on;
	coop_submit(pipeline_coop(c->insts->pipeline), &c->job);
}

int agent_cilium_open(struct agent_cilium *c, struct loop *loop, const char *path, struct err *err)
{
	const time_t now = time(NULL);
	struct cilium_listener_opts o = {
		.path = path,
		.pass = pass,
		.viewer = viewer,
		.show = show,
		.demand = on_demand,
		.started = c->started,
		.ctx = c,
	};
	struct agent_request q;
	struct tm tm;
	int r;

	c->job = (struct coop_job){ .name = "Cilium's clients", .run = run_job, .ctx = c, .plain = true };
	gmtime_r(&now, &tm);
	strftime(c->started, sizeof(c->started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	r = parse(c, &q, err);
	if (r < 0)
		return r;
	agent_request_fini(&q);
	return cilium_listener_new(loop, pipeline_bus(c->insts->pipeline), &o, &c->listener, err);
}

void agent_cilium_close(struct agent_cilium *c)
{
	cilium_listener_free(TAKE_PTR(c->listener));
	arena_fini(&c->scratch);
}
