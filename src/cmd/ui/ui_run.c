// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One loop: the pipeline puts events into memory, the server answers out of it. A recording is served while it is
 * read and after its end, inside the sink's close(), as long as the pipeline has the names.
 */
#include "cmd/ui/ui_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_hosts.h"
#include "clickhouse/clickhouse_target.h"
#include "cmd/cmd.h"
#include "cmd/ui/ui_live.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/event.h"
#include "http/http_listen.h"
#include "ipc/client.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "scap/freeze.h"
#include "sinks/sink.h"
#include "sym/sym.h"
#include "ui/answers/ui_folder.h"
#include "ui/answers/ui_scan.h"
#include "ui/ui_memory.h"
#include "ui/ui_names.h"
#include "ui/ui_server.h"

#define PROBES_MAX 16u

DEFINE_CLEANUP(struct ui_folder *, ui_folder_free)

struct run_state {
	struct ui_conf *conf;
	struct loop *loop;
	struct pipeline *pipelines[UI_HOSTS];	/* one per host */
	size_t n_pipelines, open;
	struct pipeline *pipeline;	/* the first one */
	struct ui_memory memory;
	struct ui_server *server;
	struct client *client;		/* of the agent, or of the private pipeline; NULL = a recording */
	struct ui_live *live;		/* the private pipeline; NULL = none */
	struct ui_probe probes[PROBES_MAX];
	struct ui_names names;
	struct arena scratch;		/* of the event of a capture */
	int signal;
	bool started;
};

/* ---- the sink ---- */

static int take(struct sink *s, const struct event *ev)
{
	struct run_state *st = s->opts->ctx;
	struct event frozen;
	int r;

	if (!ev->view)
		return ui_memory_take(&st->memory, ev);
	arena_reset(&st->scratch);
	r = scap_freeze(ev, &st->scratch, &frozen);
	return r < 0 ? r : ui_memory_take(&st->memory, &frozen);
}

/* A recording was read: it is served until a signal. */
static int finish(struct sink *s)
{
	struct run_state *st = s->opts->ctx;

	if (--st->open)
		return 0;
	if (ui_memory_sort(&st->memory) < 0)
		return -ENOMEM;
	st->memory.reading = false;
	if (st->started && st->conf->run.read && !pipeline_stopping(st->pipeline))
		loop_run(st->loop);
	return 0;
}

static const struct sink_ops memory_sink = {
	.name = "ui", .summary = "events of a page", .flags = SINK_AT_CLOSE, .event = take, .close = finish,
};

/* Numbers of events are those of sonde's other outputs, which leave out events of state. */
static bool pass(_unused_ void *ctx, const struct event *ev)
{
	return ev->desc->class != EVENT_STATE;
}

/* ---- facts ---- */

static void on_host(void *ctx, size_t host, struct ui_host *ret)
{
	const struct run_state *st = ctx;
	const struct pipeline *p = st->pipelines[host];
	const struct core_host *h = pipeline_host(p);

	*ret = (struct ui_host){
		.name = h->hostname, .release = h->release, .cpus = h->n_cpus,
		.names = decode_set_names(pipeline_decoders(p)), .sym = pipeline_sym(p),
	};
}

static const char *on_ledger(void *ctx, size_t host, uint16_t i, struct sonde_ledger *ret)
{
	const struct run_state *st = ctx;

	return pipeline_instance(st->pipelines[host], i, ret);
}

static bool is_started(const struct ui_conf *c, const char *name)
{
	return vec_find(it, &c->sets.members, !strcmp(it->ops->name, name));
}

static void list_probes(struct run_state *st)
{
	struct ui_facts *f = &st->memory.facts;

	for (size_t i = 0; all_probes[i] && f->n_probes < PROBES_MAX; i++) {
		const struct probe_ops *o = all_probes[i];

		if (!strcmp(o->name, "proc"))
			continue;
		st->probes[f->n_probes++] = (struct ui_probe){
			.name = o->name, .number = o->decoder->probe, .runs = is_started(st->conf, o->name),
			.hint = "start sonde ui with this probe in --set (sonde record --help lists sets)",
		};
	}
	f->probes = st->probes;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* --folder, or the folder of the recording. */
static struct ui_folder *list_folder(const struct ui_conf *c)
{
	_cleanup_free_ char *path = strdup(c->folder ? c->folder : c->run.read ? c->run.read : "");
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!path || !*path)
		return NULL;
	if (c->folder)
		return ui_folder_new(path);
	while (slash && !slash[1] && slash > path) { /* "DIR/" */
		*slash = '\0';
		slash = strrchr(path, '/');
	}
	if (!slash)
		return ui_folder_new(".");
	slash[slash == path] = '\0';
	return ui_folder_new(path);
}

/* Root sees all, and so does the user of a private pipeline; an agent hides content of others from a reader. */
static bool sees_content(const struct run_state *st)
{
	return !st->client || st->conf->content || geteuid() == 0 ||
	       client_welcome(st->client)->rights & PROTO_RIGHT_CONTROL;
}

static void set_facts(struct run_state *st, const struct ui_folder *folder)
{
	struct ui_facts *f = &st->memory.facts;
	const struct run_conf *c = &st->conf->run;

	f->input = c->read ? base_name(c->read) : "live";
	f->folder = folder;
	f->live = !c->read || c->follow;
	f->content = sees_content(st);
	f->host = on_host;
	f->ledger = on_ledger;
	f->n_hosts = st->n_pipelines;
	f->ctx = st;
	st->memory.reg = pipeline_registry(st->pipeline);
	st->memory.reading = c->read && !c->follow;
	list_probes(st);
}

/* ---- the run ---- */

static int on_signal(void *ctx, int signo)
{
	struct run_state *st = ctx;

	if (st->signal)	/* second request: stop at once */
		_exit(CMD_BY_SIGNAL + signo);
	st->signal = signo;
	for (size_t i = 0; i < st->n_pipelines; i++)
		pipeline_stop(st->pipelines[i]);
	loop_stop(st->loop, -ECANCELED);
	return 0;
}

/* Events come up to a second late on a busy host. */
static int on_tick(void *ctx, uint64_t now_ns)
{
	struct run_state *st = ctx;

	return ui_memory_until(&st->memory, now_ns - NS_PER_S);
}

static int new_pipeline(struct run_state *st, const struct sink_opts *sink, struct err *err)
{
	struct pipeline *p;
	const struct sym_opts symbols = {
		.live = !st->conf->run.read, .files = st->conf->run.read ? SYM_FILES_NONE : SYM_FILES_ANY,
	};
	int r = pipeline_new(st->loop, &p, err);

	if (r < 0)
		return r;
	st->pipelines[st->n_pipelines++] = p;
	st->pipeline = st->pipelines[0];
	pipeline_set_filter(p, pass, NULL, false);
	r = pipeline_add_sym(p, &symbols, err);
	if (r >= 0)
		r = pipeline_add_sink(p, &memory_sink, sink, NULL, err);
	st->open += r >= 0;
	return r;
}

/* Each host of a database has a pipeline: its processes, clock and names are its own. */
static int open_hosts(struct run_state *st, const struct sink_opts *sink, struct err *err)
{
	_cleanup_(clickhouse_hosts_fini) struct clickhouse_hosts hosts = { 0 };
	int r = clickhouse_hosts_list(st->conf->run.read, UI_HOSTS, &hosts, err);

	if (r >= 0 && hosts.n > 1 && ui_memory_join_hosts(&st->memory) < 0)
		r = err_errno(err, -ENOMEM, "cannot keep events of several hosts");
	for (size_t i = 0; r >= 0 && i < hosts.n; i++) {
		r = new_pipeline(st, sink, err);
		if (r >= 0)
			r = pipeline_open_file(st->pipelines[i], hosts.urls[i], err);
	}
	return r;
}

static int open_input(struct run_state *st, const struct sink_opts *sink, struct err *err)
{
	const struct run_conf *c = &st->conf->run;
	int r;

	if (clickhouse_target_is_input(c->read) && !c->follow)
		return open_hosts(st, sink, err);
	r = new_pipeline(st, sink, err);
	if (r < 0)
		return r;
	if (c->read) {
		pipeline_settings(st->pipeline)->follows = c->follow;
		return pipeline_open_file(st->pipeline, c->read, err);
	}
	if (st->conf->client_fd)
		r = ui_live_attach(st->conf->client_fd, c, &st->conf->sets, &st->client, err);
	else
		r = ui_live_open(c, &st->conf->sets, &st->client, &st->live, err);
	if (r >= 0)
		pipeline_open_agent(st->pipeline, st->client, st->live || st->conf->client_fd);
	return r;
}

static void say_address(const struct run_state *st)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	ui_server_address(st->server, &text);
	printf("%s\n", buf_str(&text));
	fflush(stdout);
}

/* Files of a live host are read here: the processes of requests may not. Nor have they the input. */
static void prepare(void *ctx, const struct ui_query *q)
{
	struct run_state *st = ctx;

	if (st->memory.reading)
		st->memory.read_permille = pipeline_read_permille(st->pipeline);
	if (!st->conf->run.read &&
	    (q->path == UI_FLAME || q->path == UI_EVENT || ui_scan_names_functions(q->q)))
		ui_names_prepare(&st->names, &st->memory);
}

static int serve(struct run_state *st, struct err *err)
{
	const struct pipeline_limits limits = { 0 };
	const struct ui_server_opts server = {
		.address = st->conf->listen, .fd = st->conf->listen_fd, .token = st->conf->token,
		.host = st->conf->host, .memory = &st->memory, .prepare = prepare, .ctx = st,
	};
	int r = ui_server_new(st->loop, &server, &st->server, err);

	if (r < 0)
		return r;
	r = pipeline_set_accepts(st->pipeline, st->conf->listen_fd ? NULL : http_listen_path(st->conf->listen));
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", st->conf->listen);
	r = pipeline_give_up_rights(st->pipeline, err);
	if (r < 0)
		return r;
	if (!st->conf->token)	/* an agent has said it */
		say_address(st);
	st->started = true;
	r = pipeline_run_all(st->pipelines, st->n_pipelines, &limits, err);
	if (r == -ENODATA && st->conf->run.read) {
		log_warn("%s", err->msg);	/* all complete records are shown */
		r = 0;
	}
	return st->signal ? 0 : r;
}

static int run_all(struct run_state *st, const struct ui_folder *folder, struct err *err)
{
	static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sink_opts opts = { .wait = st->conf->run.read, .follows = st->conf->run.follow, .ctx = st };
	int r = st->loop ? ui_memory_init(&st->memory, st->conf->memory_bytes) : -errno;

	if (r >= 0 && !st->conf->run.read)
		r = ui_memory_keep_past(&st->memory);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(stop_signals); i++)
		r = loop_add_signal(st->loop, stop_signals[i], on_signal, st, NULL);
	if (r >= 0 && !st->conf->run.read)
		r = loop_add_timer(st->loop, NS_PER_S, NS_PER_S, on_tick, st, NULL);
	if (r < 0)
		return err_errno(err, r, "cannot start");
	r = open_input(st, &opts, err);
	if (r < 0)
		return r;
	set_facts(st, folder);
	return serve(st, err);
}

int ui_run(struct ui_conf *c, _unused_ const struct cmd_words *w)
{
	_cleanup_(ui_folder_freep) struct ui_folder *folder = list_folder(c);
	struct run_state st = { .conf = c, .loop = loop_new() };
	struct err err = { 0 };
	int r = run_all(&st, folder, &err);

	ui_server_free(st.server);
	if (st.server)
		pipeline_remove_socket(st.pipeline);
	for (size_t i = st.n_pipelines; i; i--)
		pipeline_free(st.pipelines[i - 1]);
	client_close(st.client);
	ui_live_close(st.live);
	ui_memory_fini(&st.memory);
	arena_fini(&st.scratch);
	loop_free(st.loop);
	if (r < 0 && !st.signal)
		return cmd_fail(r, &err);
	return st.signal == SIGINT ? CMD_BY_SIGNAL + SIGINT : st.signal ? CMD_BY_SIGNAL + st.signal : CMD_OK;
}
