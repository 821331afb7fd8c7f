// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: a message is a byte of flags and a length in front
 * of its bytes; the status is in the trailers, or in the headers of an answer without a message.
 */
#include "http/grpc_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/http2_library.h"
#include "loop/loop.h"

#define PREFIX_BYTES 5u
#define READ_BYTES (16u << 10)
#define SEND_BYTES (64u << 10)	/* unsent bytes of a connection */
#define ENTRY_BYTES 32u		/* a header's cost beside name and value: RFC 7540, 6.5.2 */
#define LISTENERS 2u

struct call {
	struct call *next;
	struct conn *conn;
	int32_t id;
	char path[96];
	bool is_grpc, answered;
	size_t header_bytes;
	struct buf request;		/* with the prefix */
	struct grpc_stream stream;
	bool waits;			/* nghttp2 asks again after session_resume_data() */
	bool whole;			/* nothing follows what is in @out */
	struct buf out;			/* messages with their prefixes */
	size_t taken;			/* of it, by nghttp2 */
	enum grpc_status status;
	char message[512];		/* percent-encoded; "" = none */
};

struct conn {
	struct conn *next;
	struct grpc_server *server;
	int fd;				/* owned */
	struct loop_source *io;
	nghttp2_session *session;
	struct call *calls;
	bool used;			/* it has had a call */
	uint64_t idle_ns;		/* since when it has none */
	struct buf out;
	size_t sent;			/* of it */
	bool gone;
};

struct grpc_server {
	struct loop *loop;
	struct grpc_server_opts o;
	struct http2_library f;
	nghttp2_session_callbacks *callbacks;
	struct loop_source *listeners[LISTENERS];
	struct conn *conns;
	unsigned n_conns;
};

/* ---- answers ---- */

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){
		.name = (uint8_t *)name, .namelen = strlen(name),
		.value = (uint8_t *)value, .valuelen = strlen(value),
	};
}

/* Printable ASCII but "%"; the rest as "%0A". */
static void set_message(struct call *c, const char *text)
{
	size_t n = 0;

	for (; *text && n + 4 < sizeof(c->message); text++) {
		if (*text >= ' ' && *text < 0x7f && *text != '%')
			c->message[n++] = *text;
		else
			n += (size_t)snprintf(c->message + n, sizeof(c->message) - n, "%%%02X", (unsigned char)*text);
	}
}

static size_t put_status(const struct call *c, char number[static 12], nghttp2_nv ret[static 2])
{
	snprintf(number, 12, "%d", (int)c->status);
	ret[0] = header("grpc-status", number);
	ret[1] = header("grpc-message", c->message);
	return *c->message ? 2 : 1;
}

/* An answer without a message. */
static int fail(struct call *c, enum grpc_status status, const char *message)
{
	nghttp2_nv nv[4] = { header(":status", "200"), header("content-type", "application/grpc") };
	char number[12];

	c->answered = true;
	c->status = status;
	set_message(c, message);
	return c->conn->server->f.submit_response(c->conn->session, c->id, nv, 2 + put_status(c, number, nv + 2),
						  NULL);
}

/* Appends a message: 1, or as next() returns. */
static int put_next(struct call *c)
{
	static const char prefix[PREFIX_BYTES];
	size_t at = c->out.len;
	uint32_t len;
	int r;

	buf_add(&c->out, prefix, sizeof(prefix));
	r = c->stream.next ? c->stream.next(c->stream.ctx, &c->out) : -ENODATA;
	if (r > 0 && buf_error(&c->out))
		r = -ENOMEM;
	if (r <= 0) {
		c->out.len = at;
		return r;
	}
	len = htonl((uint32_t)(c->out.len - at - PREFIX_BYTES));
	memcpy(c->out.data + at + 1, &len, sizeof(len));
	return r;
}

/* Fills @out up to @len bytes, or up to the end. */
static void fill(struct call *c, size_t len)
{
	while (!c->whole && c->out.len - c->taken < len) {
		int r = put_next(c);

		if (!r)
			return;
		if (r > 0)
			continue;
		c->whole = true;
		if (r == -ENODATA)
			continue;
		c->status = GRPC_INTERNAL;
		set_message(c, strerror(-r));
	}
}

static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *to, size_t len, uint32_t *flags,
		       nghttp2_data_source *source, _unused_ void *ctx)
{
	struct call *c = source->ptr;
	nghttp2_nv nv[2];
	char number[12];
	size_t n;

	fill(c, len);
	n = MIN(c->out.len - c->taken, len);
	if (n)
		memcpy(to, c->out.data + c->taken, n);
	c->taken += n;
	if (c->taken == c->out.len) {
		buf_reset(&c->out);
		c->taken = 0;
	}
	if (c->whole && !c->out.len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (c->conn->server->f.submit_trailer(session, id, nv, put_status(c, number, nv)) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	} else if (!n) {
		c->waits = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

static int answer(struct call *c)
{
	const nghttp2_nv nv[] = { header(":status", "200"), header("content-type", "application/grpc") };
	const nghttp2_data_provider data = { .source.ptr = c, .read_callback = on_read };

	c->answered = true;
	return c->conn->server->f.submit_response(c->conn->session, c->id, nv, ARRAY_SIZE(nv), &data);
}

/* ---- requests ---- */

static struct grpc_server *server_of(const struct call *c)
{
	return c->conn->server;
}

static uint32_t length_of(const struct call *c)
{
	uint32_t n;

	memcpy(&n, c->request.data + 1, sizeof(n));
	return ntohl(n);
}

static int serve(struct call *c)
{
	const struct grpc_server_opts *o = &server_of(c)->o;
	static const char prefix[PREFIX_BYTES];
	struct err err = { 0 };
	enum grpc_status status;
	uint32_t len;

	if (c->request.len < PREFIX_BYTES || length_of(c) != c->request.len - PREFIX_BYTES)
		return fail(c, GRPC_INTERNAL, "the request is not one whole message");
	if (c->request.data[0])
		return fail(c, GRPC_UNIMPLEMENTED, "compressed messages are not supported");
	buf_add(&c->out, prefix, sizeof(prefix));
	status = o->request(o->ctx, c->path, c->request.data + PREFIX_BYTES, c->request.len - PREFIX_BYTES,
			    &c->stream, &c->out, &err);
	if (status == GRPC_OK && buf_error(&c->out))
		return fail(c, GRPC_INTERNAL, "out of memory");
	if (status != GRPC_OK)
		return fail(c, status, err.msg);
	if (c->stream.next) {
		buf_reset(&c->out);
	} else {
		len = htonl((uint32_t)(c->out.len - PREFIX_BYTES));
		memcpy(c->out.data + 1, &len, sizeof(len));
		c->whole = true;
	}
	return answer(c);
}

static void call_free(struct call *c)
{
	if (c->stream.close)
		c->stream.close(c->stream.ctx);
	buf_fini(&c->request);
	buf_fini(&c->out);
	free(c);
}

static struct call *call_of(struct conn *conn, int32_t id)
{
	return conn->server->f.session_get_stream_user_data(conn->session, id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct conn *conn = ctx;
	struct call *c;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	*c = (struct call){ .next = conn->calls, .conn = conn, .id = frame->hd.stream_id };
	conn->calls = c;
	conn->used = true;
	conn->server->f.session_set_stream_user_data(session, c->id, c);
	return 0;
}

static int on_header(_unused_ nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t len, _unused_ uint8_t flags, void *ctx)
{
	struct call *c = call_of(ctx, frame->hd.stream_id);

	if (!c)
		return 0;
	c->header_bytes += name_len + len + ENTRY_BYTES;
	if (c->header_bytes > GRPC_HEADER_BYTES)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;	/* resets the stream */
	if (str_is((const char *)name, name_len, ":path"))
		snprintf(c->path, sizeof(c->path), "%.*s", (int)len, (const char *)value);
	else if (str_is((const char *)name, name_len, "content-type"))
		c->is_grpc = len >= 16 && !strncasecmp((const char *)value, "application/grpc", 16);
	return 0;
}

static int on_data(_unused_ nghttp2_session *session, _unused_ uint8_t flags, int32_t id, const uint8_t *data,
		   size_t len, void *ctx)
{
	struct call *c = call_of(ctx, id);

	if (!c || c->answered)
		return 0;
	if (c->request.len + len > PREFIX_BYTES + GRPC_MESSAGE_BYTES)
		return fail(c, GRPC_RESOURCE_EXHAUSTED, "a request may have 64 KiB");
	return buf_add(&c->request, data, len) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int refuse_type(struct call *c)
{
	const nghttp2_nv nv[] = { header(":status", "415") };

	c->answered = true;
	return server_of(c)->f.submit_response(c->conn->session, c->id, nv, ARRAY_SIZE(nv), NULL);
}

static int on_frame(_unused_ nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	bool carries = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
	struct call *c = carries ? call_of(ctx, frame->hd.stream_id) : NULL;

	if (!c || c->answered)
		return 0;
	if (!c->is_grpc)
		return refuse_type(c);
	return frame->hd.flags & NGHTTP2_FLAG_END_STREAM ? serve(c) : 0;
}

static int on_stream_close(_unused_ nghttp2_session *session, int32_t id, _unused_ uint32_t code, void *ctx)
{
	struct conn *conn = ctx;
	struct call *c = call_of(conn, id);
	struct call **at = &conn->calls;

	if (!c)
		return 0;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	call_free(c);
	if (!conn->calls)
		conn->idle_ns = clock_boot_ns();
	return 0;
}

/* ---- connections ---- */

static void conn_free(struct conn *conn)
{
	struct grpc_server *s = conn->server;
	struct conn **at = &s->conns;

	while (*at && *at != conn)
		at = &(*at)->next;
	if (*at) {
		*at = conn->next;
		s->n_conns--;
	}
	loop_remove(conn->io);
	s->f.session_del(conn->session);
	while (conn->calls) {
		struct call *c = conn->calls;

		conn->calls = c->next;
		call_free(c);
	}
	close(conn->fd);
	buf_fini(&conn->out);
	free(conn);
}
DEFINE_CLEANUP(struct conn *, conn_free)

/* Takes frames of nghttp2 until there is enough to send. False on failure. */
static bool take_frames(struct conn *conn)
{
	while (conn->out.len - conn->sent < SEND_BYTES) {
		const uint8_t *data;
		ssize_t n = conn->server->f.session_mem_send(conn->session, &data);

		if (n <= 0)
			return n == 0;
		if (buf_add(&conn->out, data, (size_t)n) < 0)
			return false;
	}
	return true;
}

/* 0, or -errno, which ends the connection. */
static int conn_send(struct conn *conn)
{
	for (;;) {
		ssize_t n;

		if (!take_frames(conn))
			return -EPROTO;
		if (conn->sent == conn->out.len) {
			buf_reset(&conn->out);
			conn->sent = 0;
			return loop_set_events(conn->io, EPOLLIN);
		}
		n = TEMP_FAILURE_RETRY(send(conn->fd, conn->out.data + conn->sent, conn->out.len - conn->sent,
					    MSG_DONTWAIT | MSG_NOSIGNAL));
		if (n < 0)
			return errno == EAGAIN ? loop_set_events(conn->io, EPOLLIN | EPOLLOUT) : -errno;
		conn->sent += (size_t)n;
		if (conn->sent >= SEND_BYTES / 2) {
			buf_consume(&conn->out, conn->sent);
			conn->sent = 0;
		}
	}
}

static int conn_receive(struct conn *conn)
{
	uint8_t bytes[READ_BYTES];
	ssize_t n = recv(conn->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	return conn->server->f.session_mem_recv(conn->session, bytes, (size_t)n) < 0 ? -EPROTO : 0;
}

static bool is_over(const struct conn *conn)
{
	const struct http2_library *f = &conn->server->f;

	return conn->sent == conn->out.len && !f->session_want_read(conn->session) &&
	       !f->session_want_write(conn->session);
}

static int on_conn(void *ctx, _unused_ int fd, uint32_t events)
{
	struct conn *conn = ctx;
	int r = events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? conn_receive(conn) : 0;

	if (r >= 0)
		r = conn_send(conn);
	if (r < 0 || is_over(conn))
		conn_free(conn);
	return 0;
}

static int begin(struct conn *conn)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADER_BYTES },
	};
	struct grpc_server *s = conn->server;
	int one = 1;

	setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));	/* fails for a unix socket */
	if (s->f.session_server_new(&conn->session, s->callbacks, conn) != 0 ||
	    s->f.submit_settings(conn->session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings)) != 0)
		return -ENOMEM;
	return loop_add_io(s->loop, conn->fd, EPOLLIN, on_conn, conn, &conn->io);
}

static bool is_idler(const struct conn *a, const struct conn *b)
{
	return a->used != b->used ? b->used : a->idle_ns < b->idle_ns;
}

/* The connection without a call for the longest time, those without any call first; NULL if all have calls. */
static struct conn *find_idle(struct grpc_server *s)
{
	struct conn *found = NULL;

	for (struct conn *c = s->conns; c; c = c->next)
		if (!c->calls && (!found || is_idler(c, found)))
			found = c;
	return found;
}

static void conn_new(struct grpc_server *s, int fd)
{
	_cleanup_(conn_freep) struct conn *conn = NULL;
	struct conn *idle = s->n_conns < GRPC_CONNECTIONS ? NULL : find_idle(s);

	if (idle)
		conn_free(idle);
	conn = s->n_conns < GRPC_CONNECTIONS ? calloc(1, sizeof(*conn)) : NULL;
	if (!conn) {
		close(fd);
		return;
	}
	*conn = (struct conn){ .server = s, .fd = fd, .idle_ns = clock_boot_ns() };
	if (begin(conn) < 0 || conn_send(conn) < 0)
		return;
	loop_set_plain(conn->io);
	loop_name(conn->io, "gRPC client");
	conn->next = s->conns;
	s->conns = TAKE_PTR(conn);
	s->n_conns++;
}

static int on_connect(void *ctx, int fd, _unused_ uint32_t events)
{
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client >= 0)
		conn_new(ctx, client);
	return 0;
}

void grpc_server_wake(struct grpc_server *s)
{
	for (struct conn *conn = s->conns, *next; conn; conn = next) {
		bool woken = false;

		next = conn->next;
		for (struct call *c = conn->calls; c; c = c->next) {
			if (!c->waits)
				continue;
			c->waits = false;
			woken = true;
			s->f.session_resume_data(conn->session, c->id);
		}
		if (woken && conn_send(conn) < 0)
			conn_free(conn);
	}
}

/* ---- life ---- */

void grpc_server_free(struct grpc_server *s)
{
	if (!s)
		return;
	while (s->conns)
		conn_free(s->conns);
	for (size_t i = 0; i < LISTENERS; i++)
		loop_remove(s->listeners[i]);
	if (s->callbacks)
		s->f.session_callbacks_del(s->callbacks);
	free(s);
}
DEFINE_CLEANUP(struct grpc_server *, grpc_server_free)

static int set_callbacks(struct grpc_server *s)
{
	if (s->f.session_callbacks_new(&s->callbacks) != 0)
		return -ENOMEM;
	s->f.session_callbacks_set_on_begin_headers_callback(s->callbacks, on_begin_headers);
	s->f.session_callbacks_set_on_header_callback(s->callbacks, on_header);
	s->f.session_callbacks_set_on_data_chunk_recv_callback(s->callbacks, on_data);
	s->f.session_callbacks_set_on_frame_recv_callback(s->callbacks, on_frame);
	s->f.session_callbacks_set_on_stream_close_callback(s->callbacks, on_stream_close);
	return 0;
}

int grpc_server_new(struct loop *loop, const struct grpc_server_opts *o, struct grpc_server **ret, struct err *err)
{
	_cleanup_(grpc_server_freep) struct grpc_server *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (r >= 0) {
		s->loop = loop;
		s->o = *o;
		if (http2_library_load(&s->f, err) < 0)
			return err_prefix(err, "cannot serve gRPC");
		r = set_callbacks(s);
	}
	for (size_t i = 0; r >= 0 && i < MIN(o->n_fds, (size_t)LISTENERS); i++) {
		r = loop_add_io(loop, o->fds[i], EPOLLIN, on_connect, s, &s->listeners[i]);
		if (r >= 0)
			loop_set_plain(s->listeners[i]);
	}
	if (r < 0)
		return err_errno(err, r, "cannot serve gRPC");
	*ret = TAKE_PTR(s);
	return 0;
}
