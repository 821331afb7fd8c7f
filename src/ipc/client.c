// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One socket, one input buffer. The agent may be another version, so its frames are checked like any input.
 */
#include "ipc/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/unix_socket.h"
#include "sonde/wire.h"

#define GREETING_MS 30000	/* it may be loading other clients' probes */
#define READY_MS 60000		/* the verifier runs at a start, and the host may be busy */
#define READ_BYTES (256u << 10)

struct client {
	int fd;
	struct proto_welcome welcome;
	char *in;			/* owned, READ_BYTES + PROTO_FRAME_MAX */
	size_t begin, end;		/* range of bytes in it; begin is a multiple of PROTO_ALIGN */
	char reason[504];		/* last error the agent sent, "" = none */
	struct buf failed;		/* client_failed_hooks() */
};

DEFINE_CLEANUP(struct client *, client_close)

void client_close(struct client *c)
{
	if (!c)
		return;
	cleanup_close(&c->fd);
	free(c->in);
	buf_fini(&c->failed);
	free(c);
}

const struct proto_welcome *client_welcome(const struct client *c)
{
	return &c->welcome;
}

int client_fd(const struct client *c)
{
	return c->fd;
}

int client_wait(struct client *c, int timeout_ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	int r = poll(&p, 1, timeout_ms);

	return r < 0 ? (errno == EINTR ? 0 : -errno) : r;
}

/* Makes room: moves an incomplete frame to the front. Offsets stay multiples of PROTO_ALIGN. */
static void make_room(struct client *c)
{
	if (c->begin == c->end) {
		c->begin = c->end = 0;
		return;
	}
	if (READ_BYTES + PROTO_FRAME_MAX - c->end >= READ_BYTES)
		return;
	memmove(c->in, c->in + c->begin, c->end - c->begin);
	c->end -= c->begin;
	c->begin = 0;
}

/* 1 = bytes were read, 0 = none available. */
static int receive(struct client *c)
{
	ssize_t n;

	make_room(c);
	n = recv(c->fd, c->in + c->end, READ_BYTES + PROTO_FRAME_MAX - c->end, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	c->end += (size_t)n;
	return n ? 1 : -EPIPE;
}

static void keep_reason(struct client *c, const struct proto_frame *f, size_t fixed)
{
	struct proto_status st;
	const char *text = proto_fixed(f, &st, fixed);

	if (text && *text)
		snprintf(c->reason, sizeof(c->reason), "%s", text);
}

/* A record longer than its frame would be read beyond the frame. */
static bool is_sound(const struct proto_frame *f)
{
	struct cursor cur = cur_init(f->data, f->len);
	struct sonde_rec r;

	if (f->type != PROTO_RECORD)
		return true;
	return cur_copy(&cur, &r, sizeof(r)) && r.len == f->len;
}

int client_read(struct client *c, unsigned budget, client_fn fn, void *ctx)
{
	int got = receive(c), n = 0, r = 0;

	while ((unsigned)n < budget) {
		struct proto_frame f;

		r = proto_next(c->in + c->begin, c->end - c->begin, PROTO_FRAME_MAX, &f);
		if (r == 0 && got > 0) {	/* the socket may hold more */
			got = receive(c);
			if (got > 0)
				continue;
		}
		if (r <= 0)
			break;
		c->begin += (size_t)r;
		n++;
		if (!is_sound(&f))
			return -EBADMSG;
		if (f.type == PROTO_ERROR)
			keep_reason(c, &f, sizeof(struct proto_status));
		r = fn(ctx, &f);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	return n || got >= 0 ? n : got;
}

int client_failure(const struct client *c, int code, struct err *err)
{
	code = code == -EPIPE ? -ECONNRESET : code;	/* here -EPIPE means an output without a reader */
	if (*c->reason)
		return err_set(err, code, "the agent ended the stream: %s", c->reason);
	if (code == -ECONNRESET)
		return err_set(err, code, "the agent closed the connection");
	return err_errno(err, code, "cannot read from the agent");
}

/* ---- questions and answers ---- */

static int send_all(struct client *c, struct buf *b)
{
	size_t sent = 0;

	if (buf_error(b))
		return buf_error(b);
	while (sent < b->len) {
		ssize_t n = TEMP_FAILURE_RETRY(send(c->fd, b->data + sent, b->len - sent, MSG_NOSIGNAL));

		if (n < 0)
			return -errno;
		sent += (size_t)n;
	}
	return 0;
}

/* Sends the first byte of @b together with @fd. */
static int send_descriptor(struct client *c, struct buf *b, int fd)
{
	union { char room[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { .room = { 0 } };
	struct iovec iov = { .iov_base = b->data, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control.room) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	if (sendmsg(c->fd, &m, MSG_NOSIGNAL) < 0)
		return -errno;
	buf_consume(b, 1);
	return 0;
}

struct answer {
	uint16_t type;		/* expected frame type */
	bool came;
	int error;
	struct buf *text;	/* text of a reply; may be NULL */
	struct client *c;
	struct err *err;
};

static int take_reply(struct answer *a, const struct proto_frame *f)
{
	struct proto_status st;
	const char *text = proto_fixed(f, &st, sizeof(st));

	if (!text)
		return -EBADMSG;
	if (st.code)
		a->error = err_set(a->err, -(int)MIN(st.code, 4095u), "%s", text);
	else if (a->text)
		buf_add_str(a->text, text);
	return 0;
}

static int on_answer(void *ctx, const struct proto_frame *f)
{
	struct answer *a = ctx;
	struct proto_welcome w;

	if (f->type == PROTO_ERROR || f->type == PROTO_REPLY) {
		a->came = true;
		return take_reply(a, f);
	}
	if (f->type == PROTO_HOOK_FAILED && a->type == PROTO_READY)
		buf_add(&a->c->failed, f->data, f->len);
	if (f->type != a->type)
		return 0;
	a->came = true;
	if (f->type == PROTO_WELCOME) {
		if (!proto_fixed(f, &w, sizeof(w)))
			return -EBADMSG;
		a->c->welcome = w;
	}
	return 0;
}

/* the caller's loop blocks these signals and does not run while this waits */
static bool signal_waits(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t pending;

	sigpending(&pending);
	return ARRAY_FIND(it, ends, sigismember(&pending, *it) == 1);
}

/* One frame at a time: later frames belong to another reader. */
static int wait_answer(struct client *c, struct answer *a, int timeout_ms)
{
	uint64_t end_ns = clock_boot_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	int r = 0;

	while (r >= 0 && !a->came) {
		r = client_read(c, 1, on_answer, a);
		if (r != 0)
			continue;
		if (signal_waits())
			return err_set(a->err, -EINTR, "interrupted while waiting for the agent");
		r = client_wait(c, 200);
		if (r == 0 && clock_boot_ns() > end_ns)
			return err_set(a->err, -ETIMEDOUT, "the agent does not answer");
	}
	return r < 0 ? client_failure(c, r, a->err) : a->error;
}

static int say_hello(struct client *c, const char *name, struct err *err)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct proto_hello h = { .major = PROTO_MAJOR, .minor = PROTO_MINOR };
	struct answer a = { .type = PROTO_WELCOME, .c = c, .err = err };
	char cut[PROTO_NAME_MAX + 1];
	int r;

	snprintf(cut, sizeof(cut), "%s", name);
	proto_put(&b, PROTO_HELLO, &h, sizeof(h), cut);
	r = send_all(c, &b);
	return r < 0 ? err_errno(err, r, "cannot greet the agent") : wait_answer(c, &a, GREETING_MS);
}

static int open_socket(const char *path, struct err *err)
{
	int r = unix_socket_connect(path, 0, err);

	if (r == -EACCES)
		return err_set(err, r, "%s: not permitted; the agent's readers are root and the group sonde", path);
	if (r == -ENOENT || r == -ECONNREFUSED)
		return err_set(err, r, "no agent listens at %s (sonde agent, or systemctl start sonde-agent, starts "
			       "one)", path);
	return r;
}

int client_attach(int fd, const char *name, struct client **ret, struct err *err)
{
	_cleanup_close_ int owned = fd;
	_cleanup_(client_closep) struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_errno(err, -ENOMEM, "cannot connect to the agent");
	c->fd = TAKE_FD(owned);
	c->in = malloc(READ_BYTES + PROTO_FRAME_MAX);
	if (!c->in)
		return err_errno(err, -ENOMEM, "cannot connect to the agent");
	r = say_hello(c, name, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

int client_connect(const char *path, const char *name, struct client **ret, struct err *err)
{
	int fd = open_socket(path, err);

	return fd < 0 ? fd : client_attach(fd, name, ret, err);
}

int client_subscribe(struct client *c, const struct buf *words, struct err *err)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct answer a = { .type = PROTO_READY, .c = c, .err = err };
	int r = proto_put_words(&b, PROTO_SUBSCRIBE, NULL, 0, words);

	if (r < 0 || b.len > PROTO_REQUEST_MAX)
		return err_set(err, -E2BIG, "the selection is too long for the agent (64 KiB)");
	buf_reset(&c->failed);
	r = send_all(c, &b);
	return r < 0 ? err_errno(err, r, "cannot ask the agent") : wait_answer(c, &a, READY_MS);
}

struct proto_frame client_failed_hooks(const struct client *c)
{
	return (struct proto_frame){ PROTO_HOOK_FAILED, c->failed.data, (uint32_t)c->failed.len };
}

int client_stop(struct client *c)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	proto_put(&b, PROTO_STOP, NULL, 0, NULL);
	return send_all(c, &b);
}

int client_call(struct client *c, const struct buf *words, int fd, struct buf *reply, struct err *err)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const uint32_t head[2] = { 1, 0 };
	struct answer a = { .type = PROTO_REPLY, .text = reply, .c = c, .err = err };
	int r = proto_put_words(&b, PROTO_CALL, head, sizeof(head), words);

	if (r < 0 || b.len > PROTO_REQUEST_MAX)
		return err_set(err, -E2BIG, "the request is too long for the agent (64 KiB)");
	r = fd < 0 ? 0 : send_descriptor(c, &b, fd);
	if (r >= 0)
		r = send_all(c, &b);
	return r < 0 ? err_errno(err, r, "cannot ask the agent") : wait_answer(c, &a, READY_MS);
}
