// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A request is a struct exchange from its first line to its end. While its job runs, its connection is suspended: the
 * library neither waits for it nor ends it. A stream without new lines is suspended as well.
 */
#include "ui/ui_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "http/http_library.h"
#include "http/http_listen.h"
#include "http/http_pump.h"
#include "loop/loop.h"
#include "ui/ui_answer.h"
#include "ui/ui_jobs.h"
#include "ui/ui_page.h"
#include "ui/ui_source.h"
#include "ui/ui_stream.h"
#include "ui/ui_walls.h"

#define CONNECTIONS 32u
#define PER_USER 8u
#define MEMORY_BYTES ((size_t)40 << 10) /* of a connection: headers of 16 KB, their values, an answer's head */
#define TIMEOUT_S 10u
#define HEADERS_NS (10 * NS_PER_S)
#define BLOCK_BYTES ((size_t)64 << 10)
#define API "/api/v1"

/* A connection of a client. */
struct conn {
	struct ui_server *s;
	struct conn *next;
	int fd;
	uid_t uid;
	bool has_uid;
	uint64_t waits_ns;	/* since when it owes the headers of a request; 0 = it does not */
};

enum state { STATE_NEW, STATE_HEADERS, STATE_WORKING, STATE_ANSWERED, STATE_STREAMING, STATE__MAX };

struct exchange {
	struct ui_server *s;
	struct exchange *next;
	struct MHD_Connection *c;
	char *target;		/* owned; as sent */
	enum state state;
	bool suspended;
	struct ui_query q;
	struct ui_job *job;
	struct ui_answer answer;
	struct ui_stream *stream;
};

struct ui_server {
	struct loop *loop;
	struct ui_server_opts o;
	struct ui_walls walls;
	struct http_library f;
	struct MHD_Daemon *daemon;
	struct http_pump *pump;
	struct loop_source *tick, *resume;
	struct ui_jobs *jobs;
	struct conn *conns;
	struct exchange *exchanges;
	const char *path; /* of the unix socket */
};

/* ---- responses ---- */

static const struct { const char *name, *value; } headers[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
	  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
	  "trusted-types 'none'" },
	{ "X-Content-Type-Options", "nosniff" }, { "Referrer-Policy", "no-referrer" }, { "X-Frame-Options", "DENY" },
	{ "Cross-Origin-Opener-Policy", "same-origin" }, { "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

/* Takes over @r. */
static enum MHD_Result send_response(const struct exchange *x, unsigned status, const char *type,
				     struct MHD_Response *r)
{
	const struct http_library *f = &x->s->f;
	bool ok = r && f->add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES;
	enum MHD_Result ret = MHD_NO;

	for (size_t i = 0; ok && i < ARRAY_SIZE(headers); i++)
		ok = f->add_response_header(r, headers[i].name, headers[i].value) == MHD_YES;
	if (ok && status == 401)
		ok = f->add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer") == MHD_YES;
	if (ok && status == 405)
		ok = f->add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES;
	if (ok)
		ret = f->queue_response(x->c, status, r);
	if (r)
		f->destroy_response(r);
	return ret;
}

/* Hands the bytes of the answer over. */
static enum MHD_Result send_answer(struct exchange *x)
{
	struct buf b = x->answer.body;
	const char *type = x->answer.columns ? UI_ANSWER_COLUMNS : UI_ANSWER_JSON;
	struct MHD_Response *r = x->s->f.create_response_from_buffer(b.len, b.data, MHD_RESPMEM_MUST_FREE);

	if (r)
		x->answer.body = (struct buf){ 0 };
	x->state = STATE_ANSWERED;
	return send_response(x, x->answer.status, type, r);
}

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *why)
{
	ui_answer_error(&x->answer, status, why);
	return send_answer(x);
}

static enum MHD_Result send_page(struct exchange *x, const char *path)
{
	const char *accept = x->s->f.lookup_connection_value(x->c, MHD_HEADER_KIND, "Accept-Encoding");
	struct ui_page page;
	struct MHD_Response *r;
	int e = ui_page_find(path, accept, &page);

	if (e < 0)
		return refuse(x, e == -ENOENT ? 404 : 503, e == -ENOENT ? "no such file" : "out of memory");
	r = x->s->f.create_response_from_buffer(page.len, (void *)page.bytes,
						page.owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!r && page.owned)
		free((void *)page.bytes);
	if (r && page.gz)
		x->s->f.add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (r)
		x->s->f.add_response_header(r, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
	x->state = STATE_ANSWERED;
	return send_response(x, 200, page.type, r);
}

/* ---- suspended connections ---- */

static void suspend(struct exchange *x)
{
	if (!x->suspended)
		x->s->f.suspend_connection(x->c);
	x->suspended = true;
}

static void resume(struct exchange *x)
{
	if (x->suspended)
		x->s->f.resume_connection(x->c);
	x->suspended = false;
	/* the library takes it up in its next run, which is not here: a callback of it may be running */
	loop_set_timer(x->s->resume, 1, 0);
}

static int on_resume(void *ctx, _unused_ uint64_t now_ns)
{
	const struct ui_server *s = ctx;

	http_pump_run(s->pump);
	return 0;
}

/* ---- the API ---- */

static void on_answer(void *ctx, struct ui_answer *a)
{
	struct exchange *x = ctx;

	x->job = NULL;
	x->answer = *a;
	*a = (struct ui_answer){ 0 };
	resume(x);
}

static ssize_t read_stream(void *ctx, _unused_ uint64_t pos, char *to, size_t cap)
{
	struct exchange *x = ctx;
	size_t n = ui_stream_take(x->stream, to, cap);

	if (!n)
		suspend(x);
	return (ssize_t)n;
}

static void on_ready(void *ctx)
{
	resume(ctx);
}

static enum MHD_Result start_stream(struct exchange *x)
{
	const struct ui_stream_opts o = {
		.jobs = x->s->jobs, .memory = x->s->o.memory, .ready = on_ready, .ctx = x,
	};

	if (ui_stream_new(&o, &x->q, &x->stream) < 0)
		return refuse(x, 503, "out of memory");
	x->state = STATE_STREAMING;
	return send_response(x, 200, "application/x-ndjson",
			     x->s->f.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, x,
								   NULL));
}

static enum MHD_Result start_api(struct exchange *x, bool head)
{
	const char *accept = x->s->f.lookup_connection_value(x->c, MHD_HEADER_KIND, "Accept");
	struct err err = { 0 };
	int r = !strncmp(x->target, API, strlen(API)) ? ui_query_parse(x->target + strlen(API), &x->q, &err) :
			err_set(&err, -ENOENT, "no such path (doc/api.md)");

	if (r < 0) {
		ui_answer_fail(&x->answer, r, &err, NULL);
		return send_answer(x);
	}
	x->q.columns = accept && x->q.path == UI_EVENTS && !strcasecmp(accept, UI_ANSWER_COLUMNS);
	if (x->q.path == UI_LIVE && !head)
		return start_stream(x);
	if (x->q.path == UI_LIVE)
		return refuse(x, 200, "a stream");
	x->job = ui_jobs_add(x->s->jobs, &x->q, on_answer, x);
	if (!x->job)
		return refuse(x, 503, "too many requests wait");
	x->state = STATE_WORKING;
	suspend(x);
	return MHD_YES;
}

/* ---- requests ---- */

static enum MHD_Result count_header(void *ctx, _unused_ enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct ui_request *r = ctx;

	r->header_bytes += strlen(key) + (value ? strlen(value) : 0) + 4;
	r->hosts += !strcasecmp(key, "Host");
	r->authorizations += !strcasecmp(key, "Authorization");
	return MHD_YES;
}

static unsigned check(const struct exchange *x, const char *method, const char *path, const char **ret_why)
{
	const struct http_library *f = &x->s->f;
	struct ui_request r = {
		.method = method, .path = path,
		.host = f->lookup_connection_value(x->c, MHD_HEADER_KIND, "Host"),
		.origin = f->lookup_connection_value(x->c, MHD_HEADER_KIND, "Origin"),
		.fetch_site = f->lookup_connection_value(x->c, MHD_HEADER_KIND, "Sec-Fetch-Site"),
		.authorization = f->lookup_connection_value(x->c, MHD_HEADER_KIND, "Authorization"),
	};

	f->get_connection_values(x->c, MHD_HEADER_KIND, count_header, &r);
	return ui_walls_check(&x->s->walls, &r, ret_why);
}

static enum MHD_Result start(struct exchange *x, const char *method)
{
	char path[UI_QUERY_BYTES + 1];
	const char *why;
	size_t len = strcspn(x->target, "?");
	unsigned status;

	if (strlen(x->target) > UI_QUERY_BYTES)
		return refuse(x, 414, "the address is longer than 8 KB");
	memcpy(path, x->target, len);
	path[len] = '\0';
	status = check(x, method, path, &why);
	if (status)
		return refuse(x, status, why);
	return ui_walls_is_api(path) ? start_api(x, !strcmp(method, "HEAD")) : send_page(x, path);
}

static bool has_body(const char *method)
{
	return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
}

static enum MHD_Result on_request(_unused_ void *ctx, struct MHD_Connection *c, _unused_ const char *url,
				  const char *method, _unused_ const char *version, _unused_ const char *upload,
				  size_t *upload_len, void **state)
{
	struct exchange *x = *state;

	if (!x)
		return MHD_NO;
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	x->c = c;
	if (x->state == STATE_NEW && !has_body(method)) {
		x->state = STATE_HEADERS; /* an answer at the first call closes the connection */
		return MHD_YES;
	}
	if (x->state <= STATE_HEADERS)
		return start(x, method);
	if (x->state == STATE_WORKING && x->answer.status)
		return send_answer(x);
	return x->state == STATE_WORKING ? MHD_YES : MHD_NO;
}

static struct conn *conn_of(const struct ui_server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = s->f.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* The first line of a request has come. */
static void *on_target(void *ctx, const char *uri, struct MHD_Connection *c)
{
	struct ui_server *s = ctx;
	_cleanup_free_ struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	*x = (struct exchange){ .s = s, .c = c, .target = strdup(uri), .next = s->exchanges };
	if (!x->target)
		return NULL;
	s->exchanges = x;
	return TAKE_PTR(x);
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
			 _unused_ enum MHD_RequestTerminationCode why)
{
	struct ui_server *s = ctx;
	struct exchange *x = *state, **at = &s->exchanges;
	struct conn *conn = conn_of(s, c);

	if (conn)
		conn->waits_ns = clock_boot_ns();
	if (!x)
		return;
	*state = NULL;
	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	ui_jobs_cancel(x->job);
	ui_stream_free(x->stream);
	ui_answer_fini(&x->answer);
	ui_query_fini(&x->q);
	free(x->target);
	free(x);
}

/* ---- connections ---- */

static bool has_too_many(const struct ui_server *s, const struct conn *c)
{
	unsigned n = 0;

	for (const struct conn *o = s->conns; o; o = o->next)
		n += o->has_uid && o->uid == c->uid;
	return c->has_uid && n > PER_USER;
}

static void conn_new(struct ui_server *s, struct MHD_Connection *c, void **context)
{
	const union MHD_ConnectionInfo *info = s->f.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct conn *conn = info ? calloc(1, sizeof(*conn)) : NULL;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!conn)
		return;
	*conn = (struct conn){ .s = s, .next = s->conns, .fd = info->connect_fd, .waits_ns = clock_boot_ns() };
	if (s->path && getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0) {
		conn->uid = peer.uid;
		conn->has_uid = true;
	}
	s->conns = conn;
	*context = conn;
	if (has_too_many(s, conn))
		shutdown(conn->fd, SHUT_RDWR);
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct ui_server *s = ctx;
	struct conn **at = &s->conns, *conn = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		conn_new(s, c, context);
		return;
	}
	if (!conn)
		return;
	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
	free(conn);
	*context = NULL;
}

static bool has_exchange(const struct ui_server *s, const struct conn *conn)
{
	for (const struct exchange *x = s->exchanges; x; x = x->next)
		if (x->state != STATE_NEW && conn_of(s, x->c) == conn)
			return true;
	return false;
}

/* Connections that do not send their headers; heartbeats, which find out clients that have left. */
static int on_tick(void *ctx, uint64_t now_ns)
{
	struct ui_server *s = ctx;

	for (struct conn *c = s->conns; c; c = c->next)
		if (now_ns > c->waits_ns + HEADERS_NS && !has_exchange(s, c))
			shutdown(c->fd, SHUT_RDWR);
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->stream) {
			ui_stream_tick(x->stream);
			resume(x);
		}
	return 0;
}

/* ---- life ---- */

void ui_server_address(const struct ui_server *s, struct buf *out)
{
	ui_walls_address(s->o.address, &s->walls.token, out);
}

void ui_server_free(struct ui_server *s)
{
	if (!s)
		return;
	loop_remove(s->tick);
	http_pump_free(s->pump);
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->suspended) {
			s->f.resume_connection(x->c);
			x->suspended = false;
		}
	if (s->daemon)
		s->f.stop_daemon(s->daemon);
	loop_remove(s->resume);
	ui_jobs_free(s->jobs);
	if (s->path && !s->o.fd)
		unlink(s->path);
	free(s);
}
DEFINE_CLEANUP(struct ui_server *, ui_server_free)

static int start_daemon(struct ui_server *s, struct err *err)
{
	int fd = s->o.fd ? s->o.fd : http_listen_open(s->o.address, 0, err);

	if (fd < 0)
		return fd;
	s->path = http_listen_path(s->o.address);
	s->daemon = s->f.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_END);
	if (s->daemon)
		return 0;
	close(fd);
	return err_set(err, -EIO, "cannot serve %s", s->o.address);
}

static int watch(struct ui_server *s)
{
	int r = http_pump_new(s->loop, &s->f, s->daemon, "page", &s->pump);

	if (r >= 0)
		r = loop_add_timer(s->loop, NS_PER_S, NS_PER_S, on_tick, s, &s->tick);
	if (r >= 0)
		r = loop_add_timer(s->loop, 0, 0, on_resume, s, &s->resume);
	return r;
}

int ui_server_new(struct loop *loop, const struct ui_server_opts *o, struct ui_server **ret, struct err *err)
{
	_cleanup_(ui_server_freep) struct ui_server *s = calloc(1, sizeof(*s));
	const struct ui_source source = ui_source_kept(o->memory);
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot serve %s", o->address);
	s->loop = loop;
	s->o = *o;
	s->walls.host = o->host;
	if (http_library_load(&s->f, err) < 0)
		return err_prefix(err, "cannot serve the page");
	r = o->token ? 0 : ui_walls_token(&s->walls.token, err);
	if (o->token)
		s->walls.token = *o->token;
	if (r >= 0)
		r = start_daemon(s, err);
	if (r < 0)
		return r;
	r = ui_jobs_new(loop, &source, o->prepare, o->ctx, &s->jobs);
	if (r >= 0)
		r = watch(s);
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", o->address);
	*ret = TAKE_PTR(s);
	return 0;
}
