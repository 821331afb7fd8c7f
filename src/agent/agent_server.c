// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The listening sockets stay here: clients wait in them while a server is started again, and ports and tokens stay.
 */
#include "agent/agent_server.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "http/http_listen.h"
#include "loop/loop.h"
#include "worker/restart.h"

#define DELAY_MOST_NS (60 * NS_PER_S)

/* ---- starts ---- */

static int send_request(int keeper, const int *fds, size_t n)
{
	const size_t bytes = n * sizeof(int);
	union {
		char room[CMSG_SPACE(AGENT_SERVER_FD__MAX * sizeof(int))];
		struct cmsghdr head;
	} c = { .room = { 0 } };
	struct iovec iov = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
	const struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = CMSG_SPACE(bytes),
	};

	c.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.head), fds, bytes);
	return sendmsg(keeper, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void start_later(struct agent_server *s)
{
	const uint64_t ran_ns = s->since_ns ? clock_boot_ns() - s->since_ns : 0;

	loop_set_timer(s->timer, restart_pause(&s->delay_ns, ran_ns, DELAY_MOST_NS), 0);
}

void agent_server_start(struct agent_server *s)
{
	_cleanup_close_ int client = -1;
	int fds[AGENT_SERVER_FD__MAX];
	size_t n = 1;
	int r;

	if (!s->timer || s->over)
		return;
	r = client = s->connect(s->agent);
	fds[AGENT_SERVER_CLIENT] = client;
	for (size_t i = 0; i < AGENT_SERVER_SOCKETS; i++)
		if (s->listen_fds[i] >= 0)
			fds[n++] = s->listen_fds[i];
	if (r >= 0)
		r = send_request(s->keeper_fd, fds, n);
	if (r < 0) {
		log_warn("cannot start %s: %s", s->title, strerror(-r));
		start_later(s);
	}
}

static int on_timer(void *ctx, _unused_ uint64_t now_ns)
{
	agent_server_start(ctx);
	return 0;
}

/* ---- reports ---- */

static void note_end(struct agent_server *s, const struct agent_server_report *m)
{
	s->pid = 0;
	start_later(s);
	if (m->pid > 0 && WIFSIGNALED(m->status))
		log_warn("%s ended (%s); it starts again in %" PRIu64 " ms", s->title,
			 strsignal(WTERMSIG(m->status)), (uint64_t)(s->delay_ns / NS_PER_MS));
	else
		log_warn("%s ended; it starts again in %" PRIu64 " ms", s->title,
			 (uint64_t)(s->delay_ns / NS_PER_MS));
}

static int on_report(void *ctx, int fd, _unused_ uint32_t events)
{
	struct agent_server *s = ctx;
	struct agent_server_report m;
	ssize_t n = recv(fd, &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(m)) {
		s->over = true;
		s->pid = 0;
		loop_remove(TAKE_PTR(s->io));
		log_error("the process that starts %s ended: restart the agent", s->title);
	} else if (m.ended) {
		note_end(s, &m);
	} else {
		s->pid = m.pid;
		s->since_ns = clock_boot_ns();
		s->starts++;
	}
	return 0;
}

/* ---- life ---- */

void agent_server_init(struct agent_server *s)
{
	for (size_t i = 0; i < AGENT_SERVER_SOCKETS; i++)
		s->listen_fds[i] = -1;
}

static int watch(struct agent_server *s)
{
	int r = loop_add_io(s->loop, s->keeper_fd, EPOLLIN, on_report, s, &s->io);

	if (r >= 0)
		r = loop_add_timer(s->loop, 0, 0, on_timer, s, &s->timer);
	if (r < 0)
		return r;
	loop_set_plain(s->io);
	loop_set_plain(s->timer);
	loop_name(s->io, s->name);
	loop_name(s->timer, s->name);
	return 0;
}

int agent_server_open(struct agent_server *s, gid_t gid, struct err *err)
{
	int r;

	if (!s->addresses[0])
		return 0;
	for (size_t i = 0; i < AGENT_SERVER_SOCKETS; i++) {
		if (!s->addresses[i])
			continue;
		s->listen_fds[i] = http_listen_open(s->addresses[i], gid, err);
		if (s->listen_fds[i] < 0)
			return s->listen_fds[i];
	}
	r = watch(s);
	return r < 0 ? err_errno(err, r, "cannot serve %s", s->addresses[0]) : 0;
}

void agent_server_stop(struct agent_server *s)
{
	loop_remove(TAKE_PTR(s->io));
	loop_remove(TAKE_PTR(s->timer));
}

void agent_server_close(struct agent_server *s)
{
	agent_server_stop(s);
	for (size_t i = 0; i < AGENT_SERVER_SOCKETS; i++) {
		const char *path = s->listen_fds[i] >= 0 ? http_listen_path(s->addresses[i]) : NULL;

		if (s->listen_fds[i] >= 0)
			close(TAKE_FD(s->listen_fds[i]));
		if (path)
			unlink(path);
	}
}

void agent_server_put(const struct agent_server *s, struct buf *out)
{
	if (s->listen_fds[0] < 0)
		return;
	buf_printf(out, "%s: %s, ", s->name, s->shown);
	if (s->pid > 0)
		buf_printf(out, "pid %d, %u starts\n", (int)s->pid, s->starts);
	else
		buf_add_str(out, s->over ? "ended\n" : "starts\n");
}
