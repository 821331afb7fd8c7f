// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assembly of the daemon, and the callbacks that pass records to clients.
 */
#include "agent/agent.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/access/agent_limits.h"
#include "agent/agent_sub.h"
#include "agent/metrics/agent_http.h"
#include "agent/agent_conn.h"
#include "agent/agent_send.h"
#include "agent/agent_state.h"
#include "agent/metrics/agent_metrics.h"
#include "agent/record/agent_record.h"
#include "pipeline/cilium_listener.h"
#include "agent/vmsplice_sender.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/rights.h"
#include "ipc/broadcast.h"
#include "ipc/listen.h"
#include "ipc/proto.h"
#include "pipeline/pipeline.h"
#include "pktfilter/pktfilter.h"
#include "probe/env.h"

#define NOBODY 65534 /* the limits of a user count the page apart from the agent's user */
#define DEFAULT_QUEUE_BYTES (4u << 20)
#define DEFAULT_QUEUE_RECORDS 262144
#define PAGE_QUEUE_BYTES (64u << 20) /* as of a page without an agent (cmd/ui/ui_live.c) */
#define PAGE_QUEUE_RECORDS (1u << 20)
#define DEFAULT_STALL_NS (60 * NS_PER_S)
#define DEFAULT_COST_NS (15 * NS_PER_S)

/* ---- the way of a record ---- */

static bool wants_events(void *ctx, const struct sonde_rec *r)
{
	struct agent *a = ctx;
	const struct inst *in = r->instance < SONDE_INSTANCES ? a->insts.of[r->instance] : NULL;

	agent_content_set_record(&a->content, r);
	return (in && in->n_decode) || agent_cilium_wants(&a->cilium, r->instance) ||
	       agent_measure_wants(&a->measure, r->instance);
}

static void on_event(void *ctx, const struct event *ev)
{
	struct agent *a = ctx;

	agent_measure_event(&a->measure, ev);
	if (!ev->instance || !a->insts.of[ev->instance % SONDE_INSTANCES] ||
	    !a->insts.of[ev->instance % SONDE_INSTANCES]->n_decode)
		return;
	shared_subscription_event(&a->subscriptions, ev);
}

static void on_record(void *ctx, const struct sonde_rec *r, _unused_ int error)
{
	struct agent *a = ctx;

	if (a->lag.due && !(r->flags & SONDE_RF_SNAPSHOT))
		agent_measure_lag(&a->lag, r);
	shared_subscription_record(&a->subscriptions, r);
	if (agent_inst_in_snapshot(&a->insts) && a->insts.snapshot_for)
		agent_sub_snapshot(a->insts.snapshot_for, r);
	agent_content_set_record(&a->content, NULL);
}

static void on_flush(void *ctx)
{
	struct agent *a = ctx;
	struct agent_conn *next;

	a->lag.due = true;
	broadcast_sync(a->broadcast);
	agent_capture_flush(&a->captures);
	for (struct agent_conn *c = a->conns; c; c = next) {
		next = c->next;
		if (!c->send_blocked && !broadcast_empty(c->queue))
			agent_send_flush(c);
		if (c->gone)
			agent_conn_free(c);
	}
}

/*
 * The kernel's run-time statistics are on for one second at intervals, since they cost time at each run of every BPF
 * program.
 */
static void sample_cost(struct agent *a, uint64_t now_ns)
{
	uint64_t _cleanup_rights_ was = rights_raise(RIGHT(CAP_SYS_ADMIN));

	if (a->cost.fd >= 0)
		close(TAKE_FD(a->cost.fd));
	else if (now_ns - a->cost.since_ns >= a->conf.cost_every_ns) {
		a->cost.fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		a->cost.since_ns = now_ns;
	}
}

/* A socket file was removed (by a cleaner of /run, by hand): creates it again. Connected clients stay. */
static void restore_socket(struct agent *a, const char *name, gid_t gid, struct listener *l)
{
	uint64_t _cleanup_rights_ was = rights_raise(a->rights.permitted & RIGHT(CAP_SETGID));
	struct err err = { 0 };
	int fd;

	if (!listen_sock_dir_lost(a->dir, name))
		return;
	fd = listen_sock_dir_listen(a->dir, name, gid, &err);
	if (fd >= 0 && listen_replace(l, fd) >= 0)
		log_warn("the socket %s was removed; it is there again", name);
	else if (!a->restore_failed)
		log_warn("the socket %s was removed: %s; restart the agent", name, err.msg);
	a->restore_failed = fd < 0;
}

static void restore_sockets(struct agent *a)
{
	if (!a->dir)	/* sockets passed by systemd */
		return;
	restore_socket(a, AGENT_CONTROL_SOCKET, 0, a->control);
	restore_socket(a, AGENT_READ_SOCKET, a->gid, a->read);
}

static void on_tick(void *ctx, uint64_t now_ns)
{
	struct agent *a = ctx;
	struct agent_conn *next;

	a->lag.last = a->lag.now;
	a->lag.now = 0;
	sample_cost(a, now_ns);
	restore_sockets(a);
	agent_measure_tick(&a->measure, now_ns);
	for (struct agent_conn *c = a->conns; c; c = next) {
		next = c->next;
		agent_conn_tick(c, now_ns);
		if (c->gone)
			agent_conn_free(c);
	}
}

static void on_failed_hook(void *ctx, uint64_t of, const char *hook, const char *why)
{
	const struct agent *a = ctx;

	for (struct agent_conn *c = a->conns; c; c = c->next)
		agent_sub_failed(c, of, hook, why);
}

/* ---- assembly ---- */

static void on_reader(void *ctx, int fd)
{
	agent_conn_new(ctx, fd, PROTO_RIGHT_READ);
}

static void on_controller(void *ctx, int fd)
{
	agent_conn_new(ctx, fd, PROTO_RIGHT_READ | PROTO_RIGHT_CONTROL);
}

static void set_limits(struct agent *a, const struct agent_conf *c)
{
	a->conf.limits = c->limits;
	agent_limits_defaults(&a->conf.limits);
	a->conf.queue_bytes = c->queue_bytes ? c->queue_bytes : DEFAULT_QUEUE_BYTES;
	a->conf.queue_records = c->queue_records ? c->queue_records : DEFAULT_QUEUE_RECORDS;
	a->conf.stall_ns = c->stall_ns ? c->stall_ns : DEFAULT_STALL_NS;
	a->conf.cost_every_ns = c->cost_every_ns ? c->cost_every_ns : DEFAULT_COST_NS;
}

void agent_reload(struct agent *a, const struct agent_conf *conf)
{
	set_limits(a, conf);
	log_info("sonde: configuration read again: %u clients, %llu bytes of queue each", a->conf.limits.max_clients,
		 (unsigned long long)a->conf.queue_bytes);
}

static void find_group(struct agent *a)
{
	const char *name = a->conf.group ? a->conf.group : "sonde";
	const struct group *g = getgrnam(name);

	a->gid = g ? g->gr_gid : 0;
	if (!g)
		log_warn("group %s does not exist: only root may connect", name);
}

/* One client, by a socket that its process made. */
static int open_client(struct agent *a, struct err *err)
{
	agent_conn_new(a, a->conf.client_fd, PROTO_RIGHT_READ | PROTO_RIGHT_CONTROL);
	return a->conns ? 0 : err_set(err, -EPERM, "cannot serve the client");
}

static int open_sockets(struct agent *a, struct err *err)
{
	int r, control;

	if (a->conf.client_fd)
		return open_client(a, err);
	r = listen_passed("read");
	control = listen_passed("control");
	if (r < 0 || control < 0) {
		r = listen_sock_dir_open(a->conf.dir ? a->conf.dir : AGENT_DIR, a->gid, &a->dir, err);
		if (r >= 0)
			r = control = listen_sock_dir_listen(a->dir, AGENT_CONTROL_SOCKET, 0, err);
		if (r >= 0)
			r = listen_sock_dir_listen(a->dir, AGENT_READ_SOCKET, a->gid, err);
		if (r < 0)
			return r;
	}
	r = listen_new(a->loop, r, on_reader, a, &a->read);
	if (r >= 0)
		r = listen_new(a->loop, control, on_controller, a, &a->control);
	return r < 0 ? err_errno(err, r, "cannot listen") : 0;
}

static void write_metrics(void *ctx, bool openmetrics, struct buf *out)
{
	agent_metrics_write(ctx, openmetrics, out);
}

static int open_metrics(struct agent *a, struct err *err)
{
	const struct agent_http_opts o = {
		.address = a->conf.metrics, .hosts = a->conf.metrics_host, .gid = a->gid, .write = write_metrics,
		.ctx = a,
	};

	return o.address ? agent_http_new(a->loop, &o, &a->http, err) : 0;
}

/*
 * A reader over a socket pair, which has this process's user: what it may see is set here. Its queue covers the
 * seconds that a busy host or the names of a flame graph take from it.
 */
static int connect_server(struct agent *a)
{
	const struct agent_conn *first = a->conns;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	agent_conn_new(a, pair[0], PROTO_RIGHT_READ);
	if (a->conns != first) {
		a->conns->viewer = a->content.allow == AGENT_CONTENT_GROUP ? UID_ALL : UID_NONE;
		a->conns->peer.uid = NOBODY;
		broadcast_set_bounds(a->conns->queue, MAX(a->conf.queue_bytes, (uint64_t)PAGE_QUEUE_BYTES),
				     MAX(a->conf.queue_records, (uint64_t)PAGE_QUEUE_RECORDS));
	}
	return pair[1]; /* of a refused connection: the server reads why */
}

static void set_servers(struct agent *a)
{
	const struct agent_conf *c = &a->conf;

	snprintf(a->hubble_path, sizeof(a->hubble_path), "%s/" AGENT_HUBBLE_SOCKET, c->dir ? c->dir : AGENT_DIR);
	a->page = (struct agent_server){
		.agent = a, .loop = a->loop, .connect = connect_server, .name = "page", .title = "the page",
		.addresses = { c->ui }, .shown = c->ui_address, .keeper_fd = c->ui_fd,
	};
	a->hubble = (struct agent_server){
		.agent = a, .loop = a->loop, .connect = connect_server, .name = "hubble",
		.title = "the server of Hubble's clients",
		.addresses = { c->hubble ? a->hubble_path : NULL, c->hubble_listen }, .shown = c->hubble_shown,
		.keeper_fd = c->hubble_fd,
	};
	agent_server_init(&a->page);
	agent_server_init(&a->hubble);
}

/* Points the parts to the others that they use. */
static void connect_parts(struct agent *a)
{
	a->insts.pipeline = a->content.pipeline = a->pipeline;
	a->insts.rights = &a->rights;
	a->insts.may_use = agent_limits_instance;
	a->content.allow = a->conf.allow_content;
	a->subscriptions.broadcast = a->broadcast;
	a->subscriptions.insts = a->captures.insts = a->cilium.insts = a->measure.insts = &a->insts;
	a->subscriptions.content = a->cilium.content = &a->content;
	a->cilium.probes = a->conf.cilium_probes;
	a->record.answer = agent_conn_answer;
	a->holds.loop = a->loop;
}

static int open_pipeline(struct agent *a, struct err *err)
{
	const struct probe_env_opts env = { .ring_bytes = a->conf.ring_bytes, .btf = a->conf.btf };
	int r = pipeline_new(a->loop, &a->pipeline, err);

	if (r < 0)
		return r;
	connect_parts(a);
	agent_hold_watch(&a->holds);
	pipeline_settings(a->pipeline)->own_heap = true;
	pipeline_settings(a->pipeline)->tap = (struct pipeline_tap){
		.wants_events = wants_events, .event = on_event, .record = on_record, .flush = on_flush,
		.tick = on_tick, .failed = on_failed_hook, .ctx = a,
	};
	r = pipeline_open_live(a->pipeline, &env, NULL, 0, err);
	a->insts.n_cpus = r < 0 ? 0 : probe_env_n_cpus(pipeline_env(a->pipeline));
	return r;
}

static int open_cilium(struct agent *a, struct err *err)
{
	int r = a->conf.cilium_socket ? agent_cilium_open(&a->cilium, a->loop, a->conf.cilium_socket, err) : 0;

	a->insts.listener = a->cilium.listener;
	return r;
}

static int open_record(struct agent *a, struct err *err)
{
	int client = -1, r = agent_record_open(a, &client, err);

	if (r < 0 || client < 0)
		return r;
	agent_conn_new(a, client, PROTO_RIGHT_READ | PROTO_RIGHT_CONTROL);
	if (!a->conns)
		return err_set(err, -EUSERS, "cannot connect the recorder process");
	agent_record_connect(a, a->conns);
	return 0;
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	loop_set_guard(a->loop, NULL, NULL);
	if (a->pipeline)
		coop_stop(pipeline_coop(a->pipeline));
	agent_http_free(a->http);
	agent_server_close(&a->page);
	agent_server_close(&a->hubble);
	a->insts.listener = NULL;
	agent_cilium_close(&a->cilium);
	agent_record_flush(a);
	listen_free(a->read);
	listen_free(a->control);
	while (a->conns)
		agent_conn_free(a->conns);
	agent_record_close(a);
	agent_capture_end(&a->captures);
	listen_sock_dir_close(a->dir);
	agent_measure_close(&a->measure);
	pipeline_free(a->pipeline);
	agent_inst_free_all(&a->insts);
	broadcast_free(a->broadcast);
	vmsplice_sender_free(a->vmsplice_sender);
	buf_fini(&a->status.text);
	buf_fini(&a->counters.text);
	agent_content_fini(&a->content);
	cleanup_close(&a->cost.fd);
	free(a);
}
DEFINE_CLEANUP(struct agent *, agent_free)

static uint32_t own_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

/* Capabilities of the loop's handlers. Those of clients are plain (none effective) and raise them per step. */
static void guard(void *ctx, bool raised)
{
	const struct agent *a = ctx;

	rights_restore(raised ? a->rights.working : 0);
}

static int give_up_rights(struct agent *a, struct err *err)
{
	int r = agent_rights_keep(!a->conf.no_admin, &a->rights, err);

	if (r >= 0)
		r = agent_rights_filter(err);
	if (r < 0)
		return r;
	loop_set_guard(a->loop, guard, a);
	probe_env_follow_rights(pipeline_env(a->pipeline));
	guard(a, false);	/* the second thread inherits the effective set */
	r = pipeline_use_thread(a->pipeline, guard, a, err);
	guard(a, true);
	return r;
}

int agent_new(struct loop *loop, const struct agent_conf *conf, struct agent **ret, struct err *err)
{
	_cleanup_(agent_freep) struct agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_errno(err, -ENOMEM, "cannot start the agent");
	a->loop = loop;
	a->conf = *conf;
	a->start_ns = clock_boot_ns();
	a->netns = own_netns();
	a->cost.fd = a->record.fd = -1;
	set_servers(a);
	set_limits(a, conf);
	if (!conf->client_fd)
		find_group(a);
	a->broadcast = broadcast_new(&agent_send_ops);
	if (!a->broadcast)
		return err_errno(err, -ENOMEM, "cannot start the agent");
	a->vmsplice_sender = vmsplice_sender_new();
	pktfilter_prepare(NULL);	/* executable memory is forbidden; a failure refuses packet filters only */
	r = open_pipeline(a, err);
	if (r >= 0)
		r = open_sockets(a, err);
	if (r >= 0)
		r = open_metrics(a, err);
	if (r >= 0)
		r = agent_server_open(&a->page, a->gid, err);
	if (r >= 0)
		r = agent_server_open(&a->hubble, a->gid, err);
	if (r >= 0)
		r = open_cilium(a, err);
	if (r >= 0)
		r = agent_measure_open(&a->measure, a->loop, &a->conf, err);
	if (r >= 0)
		r = open_record(a, err);
	if (r >= 0)
		r = give_up_rights(a, err);
	if (r < 0)
		return r;
	agent_measure_start(&a->measure);
	agent_record_start(a);
	agent_server_start(&a->page);
	agent_server_start(&a->hubble);
	*ret = TAKE_PTR(a);
	return 0;
}

int agent_run(struct agent *a, struct err *err)
{
	const struct pipeline_limits limits = { .latency_ns = a->conf.latency_ns };

	return pipeline_run(a->pipeline, &limits, err);
}

/* Ends all streams with their ledgers. A probe that is still starting is cancelled. */
void agent_stop(struct agent *a)
{
	coop_stop(pipeline_coop(a->pipeline));
	agent_server_stop(&a->page);
	agent_server_stop(&a->hubble);
	for (struct agent_conn *c = a->conns; c; c = c->next)
		if (c->sub.on)
			agent_sub_end(c, "the agent stops");
	agent_capture_end(&a->captures);
	cilium_listener_message(a->cilium.listener, "sonde: the agent stops");
	pipeline_stop(a->pipeline);
}
