// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/daemon/hubble_keep.h"

#include <errno.h>
#include <stdio.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/daemon/keeper.h"
#include "cmd/daemon/remote.h"
#include "cmd/run/run.h"
#include "http/http2_library.h"
#include "http/http_listen.h"
#include "hubble/hubble_observer.h"
#include "ipc/client.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_wire.h"
#include "sinks/sink.h"

#define NAME "sonde agent: Hubble"
#define PREFIX "hubble-listen"

/* ---- the server ---- */

static int take(struct sink *s, const struct event *ev)
{
	return hubble_observer_event(s->opts->ctx, ev);
}

static int flush(struct sink *s)
{
	hubble_observer_flush(s->opts->ctx);
	return 0;
}

static const struct sink_ops observer_sink = {
	.name = "hubble-observer", .summary = "flows of Hubble's clients", .flags = SINK_NO_FILE, .event = take,
	.flush = flush,
};

/* To the same as sonde flows, so that both share one instance. */
static int subscribe(int fd, struct client **ret, struct err *err)
{
	const struct probe_select all = { 0 };
	const struct run_conf run = { 0 };
	struct net_conf net = net_conf_default;
	const struct pipeline_probe probe = { .ops = probe_find("net"), .conf = &net };
	const struct run_ops spec = { .probes = &probe, .n_probes = 1, .cmdline = NAME };
	int r = client_attach(fd, NAME, ret, err);

	net.flow.on = true;
	net.flow.level = NET_AGGREGATE_MEDIUM;
	net.kinds = 1u << NET_KIND_DROP;
	return r < 0 ? r : remote_subscribe(*ret, &run, &spec, &all, NULL, err);
}

struct server {
	const char *address;
	struct loop *loop;
	struct pipeline *pipeline;
	struct client *client;
	struct hubble_observer *observer;
};

static int run_server(struct server *s, const int fds[static AGENT_SERVER_FD__MAX], struct err *err)
{
	const struct pipeline_limits limits = { 0 };
	struct sink_opts sink = { 0 };
	int r = s->loop ? pipeline_new(s->loop, &s->pipeline, err) : err_errno(err, -errno, "cannot start");
	const struct hubble_observer_opts o = {
		.reg = r < 0 ? NULL : pipeline_registry(s->pipeline),
		.host = r < 0 ? NULL : pipeline_host(s->pipeline),
		.address = s->address, .fds = fds + AGENT_SERVER_LISTEN,
		.n_fds = fds[AGENT_SERVER_LISTEN_2] < 0 ? 1 : 2,
	};

	if (r >= 0)
		r = subscribe(fds[AGENT_SERVER_CLIENT], &s->client, err);
	if (r >= 0)
		r = hubble_observer_new(s->loop, &o, &s->observer, err);
	if (r < 0)
		return r;
	sink.ctx = s->observer;
	r = pipeline_add_sink(s->pipeline, &observer_sink, &sink, NULL, err);
	if (r < 0)
		return r;
	pipeline_open_agent(s->pipeline, s->client, true);
	pipeline_set_accepts(s->pipeline, NULL);
	r = pipeline_give_up_rights(s->pipeline, err);
	return r < 0 ? r : pipeline_run(s->pipeline, &limits, err);
}

static int serve(void *conf, const int fds[static AGENT_SERVER_FD__MAX])
{
	struct server s = { .address = conf, .loop = loop_new() };
	struct err err = { 0 };
	int r = run_server(&s, fds, &err);

	hubble_observer_free(s.observer);
	pipeline_free(s.pipeline);
	client_close(s.client);
	loop_free(s.loop);
	if (r < 0)
		log_error("%s", err.msg);
	return r < 0;
}

static const struct keeper_ops observer_ops = {
	.title = "the server of Hubble's clients", .comm = "sonde-hubble", .serve = serve,
};

/* ---- in the agent ---- */

int hubble_keep_check(const struct agent_conf *c, struct err *err)
{
	if (!c->hubble_listen)
		return 0;
	if (!c->hubble)
		return err_set(err, -EINVAL, PREFIX " goes with hubble: add hubble = yes");
	if (!http_listen_check(c->hubble_listen, err))
		return err_prefix(err, PREFIX);
	return http_listen_path(c->hubble_listen) ? err_set(err, -EINVAL, PREFIX ": expected 127.0.0.1:PORT or "
							     "[::1]:PORT; the socket is always there") : 0;
}

int hubble_keep_start(const struct agent_conf *c, struct keeper *ret, struct buf *ret_shown, struct err *err)
{
	char path[4096];
	struct http2_library library;

	if (http2_library_load(&library, err) < 0)
		return err_prefix(err, "cannot serve Hubble's clients");
	snprintf(path, sizeof(path), "unix://%s/" AGENT_HUBBLE_SOCKET, c->dir ? c->dir : AGENT_DIR);
	buf_printf(ret_shown, "%s/" AGENT_HUBBLE_SOCKET "%s%s", c->dir ? c->dir : AGENT_DIR,
		   c->hubble_listen ? ", " : "", c->hubble_listen ? c->hubble_listen : "");
	return keeper_start(&observer_ops, path, ret, err);
}
