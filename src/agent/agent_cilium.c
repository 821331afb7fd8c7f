// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clients of Cilium's monitor at the agent: packets, drops and (if asked for) calls, from probes that are loaded
 * while somebody listens. Also what becomes of the agent, as Cilium's agents tell it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/agent_impl.h"
#include "pipeline/cilium_listener.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "cilium/notify.h"
#include "event/event.h"
#include "probe/probe.h"

#define DEFAULT_PROBES "net"

bool agent_cilium_wants(const struct agent *a, uint16_t instance)
{
	return instance < SONDE_INSTANCES &&
	       ((a->cilium_starting && !a->insts[instance]) || a->cilium_mask & 1u << instance);
}

static bool pass(void *ctx, const struct event *ev)
{
	return agent_cilium_wants(ctx, ev->instance);
}

static uint32_t viewer(void *ctx, int fd)
{
	struct peer peer;

	return listen_peer_of(fd, &peer) < 0 ? UID_NONE : agent_content_of(ctx, &peer, 0);
}

static const struct event *show(void *ctx, const struct event *ev, uint32_t of)
{
	struct agent *a = ctx;

	arena_reset(&a->content.scratch);
	return agent_content_event(a, ev, of, &a->content.scratch, &a->content.shown);
}

/* "net,gohttp2" as the words of a subscription; whether there are such probes is seen when they are taken. */
static void put_words(const char *list, struct buf *out)
{
	while (*list) {
		size_t len = strcspn(list, ",");

		buf_printf(out, "probe=%.*s%c", (int)len, list, 0);
		list += len + (list[len] == ',');
	}
}

static int parse(const struct agent *a, struct request *ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf words = { 0 };

	put_words(a->conf.cilium_probes ? a->conf.cilium_probes : DEFAULT_PROBES, &words);
	if (buf_error(&words))
		return err_errno(err, buf_error(&words), "cannot serve Cilium's clients");
	return agent_inst_request_parse(&(struct proto_frame){ .data = words.data, .len = (uint32_t)words.len }, ret,
					err);
}

static int get_instances(struct agent *a, struct request *q, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < q->wants.len; i++) {
		uint16_t instance;

		r = agent_inst_get(a, q, i, &instance, err);
		if (r >= 0 && a->cilium_mask & 1u << instance)
			agent_inst_put(a, instance); /* twice the same */
		else if (r >= 0)
			a->cilium_mask |= 1u << instance;
	}
	return r;
}

/* What was there before, for the decoders here: clients that have it already do not get it again. */
static int snapshot(struct agent *a, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(a->rights.working);
	struct agent_conn nobody = { 0 };
	int r;

	a->snapshot_for = &nobody;
	r = pipeline_snapshot(a->pipeline, a->cilium_mask, err);
	a->snapshot_for = NULL;
	return r;
}

static void start_probes(struct agent *a)
{
	struct request q;
	struct err err = { 0 };
	int r = parse(a, &q, &err);

	if (r >= 0) {
		a->cilium_starting = true;	/* what a probe tells while it starts has no known instance yet */
		r = get_instances(a, &q, &err);
		if (r >= 0)
			r = snapshot(a, &err);
		if (r >= 0)
			agent_inst_started(a, a->cilium_mask);
		a->cilium_starting = false;
		agent_inst_request_fini(&q);
	}
	if (r < 0)
		log_error("Cilium's clients see nothing: %s", err.msg);
}

/* Gives its instances back. */
static void agent_cilium_stop(struct agent *a)
{
	uint32_t mask = a->cilium_mask;

	a->cilium_mask = 0;
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i)
			agent_inst_put(a, i);
}

static void run_job(void *ctx)
{
	struct agent *a = ctx;

	if (a->cilium_on && !a->cilium_mask)
		start_probes(a);
	else if (!a->cilium_on)
		agent_cilium_stop(a);
}

static void wanted(void *ctx, bool on)
{
	struct agent *a = ctx;

	a->cilium_on = on;
	coop_submit(pipeline_coop(a->pipeline), &a->cilium_job);
}

void agent_cilium_tell(struct agent *a, const char *what, const char *probe)
{
	char json[160];

	if (!a->cilium)
		return;
	snprintf(json, sizeof(json), "{\"message\":\"sonde: %s%s%s\"}", what, *probe ? " " : "", probe);
	cilium_listener_tell(a->cilium, CILIUM_AGENT_MESSAGE, json);
}

int agent_cilium_open(struct agent *a, struct err *err)
{
	const time_t now = time(NULL);
	struct cilium_listener_opts o = {
		.path = a->conf.cilium_socket, .pass = pass, .viewer = viewer, .show = show,
		.wanted = wanted, .started = a->started, .ctx = a,
	};
	struct request q;
	struct tm tm;
	int r;

	a->cilium_job = (struct coop_job){ .name = "Cilium's clients", .run = run_job, .ctx = a, .plain = true };
	if (!o.path)
		return 0;
	gmtime_r(&now, &tm);
	strftime(a->started, sizeof(a->started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	r = parse(a, &q, err);
	if (r < 0)
		return r;
	agent_inst_request_fini(&q);
	return cilium_listener_new(a->loop, pipeline_bus(a->pipeline), &o, &a->cilium, err);
}
