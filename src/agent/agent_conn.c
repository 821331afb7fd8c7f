// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Life of a connection: accept, requests, time limits, disconnect. A slow client cannot delay others: its queue is
 * bounded, and a stall disconnects it.
 */
#include "agent/agent_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/access/agent_limits.h"
#include "agent/agent_send.h"
#include "agent/agent_state.h"
#include "agent/agent_sub.h"
#include "agent/agent_verbs.h"
#include "agent/record/agent_record.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/rights.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "ipc/session.h"
#include "pipeline/pipeline.h"

#define READ_BYTES 512			/* a few requests per turn */
#define SOCKET_BYTES (1 << 20)		/* socket buffer: a batch of 50 ms without extra wake-ups */
#define GREETING_NS (10 * NS_PER_S)
#define LINGER_NS (10 * NS_PER_S)	/* time for a disconnected client to read the reason */

/* ---- end ---- */

/* Drops the queue, sends the reason, and closes once the client has read it. */
static void conn_cut(struct agent_conn *c, int code, const char *reason)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct proto_status st = { .code = (uint32_t)-code };

	if (c->dying || c->gone)
		return;
	log_warn("client %s (pid %d, uid %u) disconnected: %s", session_client(c->session), (int)c->peer.pid,
		 (unsigned)c->peer.uid, reason);
	snprintf(c->a->totals.last_disconnected, sizeof(c->a->totals.last_disconnected), "pid %d: %.120s",
		 (int)c->peer.pid, reason);
	c->a->totals.disconnected++;
	agent_sub_drop(c);
	broadcast_give_up(c->queue, clock_boot_ns());
	c->dying = true;
	c->dead_ns = clock_boot_ns() + LINGER_NS;
	if (proto_put(&b, PROTO_ERROR, &st, sizeof(st), reason) >= 0)
		agent_send(c, &b);
	agent_send_flush(c);
}

/* ---- in ---- */

/* The error is queued; the connection closes whether or not the client reads it. */
static void end_with_error(struct agent_conn *c)
{
	agent_sub_drop(c);
	c->dying = true;
	c->dead_ns = clock_boot_ns() + LINGER_NS;
	agent_send_flush(c);
}

static void forget_passed(struct agent_conn *c)
{
	if (c->passed_fd >= 0)
		close(TAKE_FD(c->passed_fd));
}

/*
 * Receives bytes. Only control sockets have room for one passed descriptor (the file of a capture); the kernel closes
 * all others.
 */
static ssize_t receive(struct agent_conn *c, void *bytes, size_t cap)
{
	union { char room[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
	struct iovec iov = { .iov_base = bytes, .iov_len = cap };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	const struct cmsghdr *h;
	ssize_t n;

	if (c->rights & PROTO_RIGHT_CONTROL) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_LEN(sizeof(int));	/* without padding, which would hold a second one */
	}
	n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	h = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(int))) {
		forget_passed(c);
		memcpy(&c->passed_fd, CMSG_DATA(h), sizeof(int));
	}
	return n;
}

static void read_some(struct agent_conn *c)
{
	char bytes[READ_BYTES];
	ssize_t n = receive(c, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->heard_ns = clock_boot_ns();
	if (n <= 0)
		c->gone = true;
	else if (session_feed(c->session, bytes, (size_t)n) < 0)
		end_with_error(c);
	else
		agent_send_flush(c);
}

static int on_io(void *ctx, _unused_ int fd, uint32_t events)
{
	struct agent_conn *c = ctx;

	if (events & EPOLLOUT)
		agent_send_flush(c);
	if (!c->gone && !c->dying && events & EPOLLIN)
		read_some(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		c->gone = true;
	if (c->gone)
		agent_conn_free(c);
	return 0;
}

/* ---- the session's calls ---- */

static int on_send(void *ctx, const struct buf *frames)
{
	return agent_send(ctx, frames);
}

static void on_welcome(void *ctx, struct proto_welcome *ret, const char **ret_release)
{
	const struct agent_conn *c = ctx;

	ret->rights = c->rights;
	ret->pid = (uint32_t)getpid();
	ret->netns = c->a->netns;
	ret->start_ns = c->a->start_ns;
	*ret_release = SONDE_VERSION;
}

/* ---- requests that take time ---- */

static int run_call(struct agent_conn *c, const struct proto_frame *f)
{
	struct agent_job *q = &c->request;
	const char *verb = (const char *)f->data + q->verb_off;

	return MIN(agent_verbs_call(c, verb, f, verb, &q->text, &q->err), 0);
}

/* Runs on the second thread. */
static void run_request(void *ctx)
{
	struct agent_conn *c = ctx;
	struct agent_job *q = &c->request;
	const struct proto_frame f = { .type = q->type, .data = q->payload.data, .len = (uint32_t)q->payload.len };

	if (q->type == PROTO_SUBSCRIBE)
		q->result = agent_sub_begin(c, &f, &q->err);
	else if (q->type == PROTO_CALL)
		q->result = run_call(c, &f);
	else
		q->result = agent_sub_end(c, "stopped");
}

static void request_done(void *ctx)
{
	struct agent_conn *c = ctx;
	struct agent_job *q = &c->request;
	int r;

	forget_passed(c);
	buf_fini(&q->payload);
	if (c->gone) {	/* disconnected meanwhile */
		agent_conn_free(c);
		return;
	}
	r = session_answer(c->session, q->result, &q->err, &q->text);
	if (!session_waits(c->session))
		buf_fini(&q->text);
	if (r < 0)
		end_with_error(c);
	else
		agent_send_flush(c);
	if (c->gone)
		agent_conn_free(c);
}

void agent_conn_answer(struct agent_conn *c, int result, const struct err *err, struct buf *text)
{
	if (session_answer(c->session, result, err, text) < 0)
		end_with_error(c);
	else
		agent_send_flush(c);
	if (c->gone)
		agent_conn_free(c);
}

static int submit(struct agent_conn *c, const char *name, uint16_t type, const struct proto_frame *f, size_t verb_off)
{
	struct agent_job *q = &c->request;

	*q = (struct agent_job){
		.job = { .name = name, .run = run_request, .done = request_done, .ctx = c, .plain = true },
		.type = type,
		.verb_off = verb_off,
	};
	if (f && buf_add(&q->payload, f->data, f->len) < 0)
		return -ENOMEM;
	coop_submit(pipeline_coop(c->a->pipeline), &q->job);
	return SESSION_LATER;
}

static int on_subscribe(void *ctx, const struct proto_frame *f, struct err *err)
{
	int r = submit(ctx, "subscribe", PROTO_SUBSCRIBE, f, 0);

	return r < 0 ? err_errno(err, r, "cannot start the subscription") : r;
}

static int on_stop(void *ctx)
{
	return submit(ctx, "stop", PROTO_STOP, NULL, 0);
}

static int on_call(void *ctx, const char *verb, const struct proto_frame *f, const char *verb_at, struct buf *out,
		   struct err *err)
{
	struct agent_conn *c = ctx;
	int r;

	if (agent_verbs_takes_time(c, verb)) {
		r = submit(c, "call", PROTO_CALL, f, (size_t)(verb_at - (const char *)f->data));
		return r < 0 ? err_errno(err, r, "%s", verb) : r;
	}
	c->later = false;
	r = agent_verbs_call(c, verb, f, verb_at, out, err);
	forget_passed(c);
	return r >= 0 && c->later ? SESSION_LATER : MIN(r, 0);
}

static const struct session_ops session_ops = {
	.send = on_send, .welcome = on_welcome, .subscribe = on_subscribe, .stop = on_stop, .call = on_call,
};

/* ---- life ---- */

/*
 * Room for a batch of one deadline, which saves wake-ups on both sides. Without CAP_NET_ADMIN the system's limit
 * holds.
 */
static void widen(int fd)
{
	uint64_t _cleanup_rights_ was = rights_raise(RIGHT(CAP_NET_ADMIN));
	const int bytes = SOCKET_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void refuse(int fd, int code, const char *sentence)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct proto_status st = { .code = (uint32_t)-code };

	if (proto_put(&b, PROTO_ERROR, &st, sizeof(st), sentence) >= 0)
		(void)!send(fd, b.data, b.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/* The mode of our socket file has checked this already; sockets created by systemd may have another. */
static bool may_connect(const struct agent *a, int fd, const struct peer *p, uint32_t rights)
{
	if (p->uid == 0 || p->uid == geteuid())
		return true;
	return !(rights & PROTO_RIGHT_CONTROL) && a->gid && listen_peer_in_group(fd, p, a->gid);
}

static unsigned free_number(const struct agent *a)
{
	unsigned number = 0;

	for (const struct agent_conn *c = a->conns; c;) {
		if (c->number == number) {
			number++;
			c = a->conns;
		} else {
			c = c->next;
		}
	}
	return number;
}

void agent_conn_new(struct agent *a, int fd, uint32_t rights)
{
	struct err err = { 0 };
	struct agent_conn *c;
	struct peer peer;
	int r = 0;

	a->totals.connections++;
	if (listen_peer_of(fd, &peer) < 0 || !may_connect(a, fd, &peer, rights))
		r = err_set(&err, -EACCES, "not permitted");
	if (r >= 0)
		r = agent_limits_connection(a, peer.uid, rights & PROTO_RIGHT_CONTROL, &err);
	if (r < 0) {
		a->totals.refused++;
		refuse(fd, r, err.msg);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	*c = (struct agent_conn){
		.a = a, .fd = fd, .peer = peer, .rights = rights, .passed_fd = -1, .since_ns = clock_boot_ns()
	};
	c->viewer = agent_content_viewer(&a->content, &peer, rights);
	c->moved_ns = c->heard_ns = c->since_ns;
	c->number = free_number(a);
	c->next = a->conns;
	if (c->next)
		c->next->prev = c;
	a->conns = c;
	a->n_conns++;
	fcntl(fd, F_SETFL, O_NONBLOCK);	/* of a socket pair too: splice(2) has no flag for it */
	widen(fd);
	c->session = session_new(&session_ops, c);
	c->queue = broadcast_subscribe(a->broadcast, a->conf.queue_bytes, a->conf.queue_records, c);
	if (!c->session || !c->queue || loop_add_io(a->loop, fd, EPOLLIN, on_io, c, &c->io) < 0) {
		agent_conn_free(c);
		return;
	}
	loop_set_plain(c->io);
	loop_name(c->io, "client");
}

void agent_conn_free(struct agent_conn *c)
{
	struct agent *a = c->a;

	c->gone = true;
	loop_remove(TAKE_PTR(c->io));
	if (c->request.job.state != COOP_IDLE)
		coop_withdraw(pipeline_coop(a->pipeline), &c->request.job);
	if (c->request.job.state != COOP_IDLE)
		return;		/* request_done() frees the connection */
	buf_fini(&c->request.payload);
	buf_fini(&c->request.text);
	agent_record_forget(a, c);
	agent_sub_drop(c);
	close(c->fd);
	forget_passed(c);
	broadcast_unsubscribe(c->queue);
	session_free(c->session);
	if (c->prev)
		c->prev->next = c->next;
	else
		a->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	a->n_conns--;
	free(c);
	if (a->conf.client_fd && a->pipeline)
		pipeline_stop(a->pipeline);
}

static bool is_idle(const struct agent_conn *c, uint64_t now_ns)
{
	return !c->dying && !c->sub.on && !(c->rights & PROTO_RIGHT_CONTROL) &&
	       now_ns > c->heard_ns + c->a->conf.limits.idle_ns;
}

void agent_conn_tick(struct agent_conn *c, uint64_t now_ns)
{
	if (session_waits(c->session))
		return;
	if (c->dying && now_ns > c->dead_ns)
		c->gone = true;
	else if (!c->dying && session_state(c->session) == SESSION_NEW && now_ns > c->since_ns + GREETING_NS)
		conn_cut(c, -ETIMEDOUT, "no greeting received");
	else if (!c->dying && !c->own && !broadcast_empty(c->queue) && now_ns > c->moved_ns + c->a->conf.stall_ns)
		conn_cut(c, -ETIMEDOUT, "the client reads nothing (stall-time of agent.conf)");
	else if (is_idle(c, now_ns) && agent_limits_places_short(c->a))
		conn_cut(c, -EUSERS, "idle while few connections are free (idle-time of agent.conf)");
}
