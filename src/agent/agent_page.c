// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The listening socket stays here: clients wait in it while a server is started again, and its port and token stay.
 */
#include "agent/agent_page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent_state.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/units.h"
#include "http/http_listen.h"
#include "loop/loop.h"
#include "worker/restart.h"

#define DELAY_MOST_NS (60 * NS_PER_S)

/* ---- starts ---- */

static int send_request(int keeper, const int fds[static AGENT_PAGE_FD__MAX])
{
	const size_t bytes = AGENT_PAGE_FD__MAX * sizeof(int);
	union { char room[CMSG_SPACE(AGENT_PAGE_FD__MAX * sizeof(int))]; struct cmsghdr head; } c = { .room = { 0 } };
	struct iovec iov = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
	const struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = CMSG_SPACE(bytes),
	};

	c.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.head), fds, bytes);
	return sendmsg(keeper, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void start_later(struct agent *a)
{
	struct agent_page *p = &a->page;
	const uint64_t ran_ns = p->since_ns ? clock_boot_ns() - p->since_ns : 0;

	loop_set_timer(p->timer, restart_pause(&p->delay_ns, ran_ns, DELAY_MOST_NS), 0);
}

void agent_page_start(struct agent *a)
{
	struct agent_page *p = &a->page;
	_cleanup_close_ int client = -1;
	int r;

	if (!p->timer || p->over)
		return;
	r = client = p->connect(a);
	if (r >= 0)
		r = send_request(a->conf.ui_fd, (const int[]){ [AGENT_PAGE_CLIENT] = client,
							       [AGENT_PAGE_LISTEN] = p->listen_fd });
	if (r < 0) {
		log_warn("cannot start the page: %s", strerror(-r));
		start_later(a);
	}
}

static int on_timer(void *ctx, _unused_ uint64_t now_ns)
{
	agent_page_start(ctx);
	return 0;
}

/* ---- reports ---- */

static void note_end(struct agent *a, const struct agent_page_report *m)
{
	struct agent_page *p = &a->page;

	p->pid = 0;
	start_later(a);
	if (m->pid > 0 && WIFSIGNALED(m->status))
		log_warn("the page ended (%s); it starts again in %" PRIu64 " ms", strsignal(WTERMSIG(m->status)),
			 (uint64_t)(p->delay_ns / NS_PER_MS));
	else
		log_warn("the page ended; it starts again in %" PRIu64 " ms", (uint64_t)(p->delay_ns / NS_PER_MS));
}

static int on_report(void *ctx, int fd, _unused_ uint32_t events)
{
	struct agent *a = ctx;
	struct agent_page *p = &a->page;
	struct agent_page_report m;
	ssize_t n = recv(fd, &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(m)) {
		p->over = true;
		p->pid = 0;
		loop_remove(TAKE_PTR(p->io));
		log_error("the process that starts the page ended: restart the agent");
	} else if (m.ended) {
		note_end(a, &m);
	} else {
		p->pid = m.pid;
		p->since_ns = clock_boot_ns();
		p->starts++;
	}
	return 0;
}

/* ---- life ---- */

int agent_page_open(struct agent *a, struct err *err)
{
	struct agent_page *p = &a->page;
	int r;

	if (!a->conf.ui)
		return 0;
	p->listen_fd = http_listen_open(a->conf.ui, a->gid, err);
	if (p->listen_fd < 0)
		return p->listen_fd;
	p->path = http_listen_path(a->conf.ui);
	r = loop_add_io(a->loop, a->conf.ui_fd, EPOLLIN, on_report, a, &p->io);
	if (r >= 0)
		r = loop_add_timer(a->loop, 0, 0, on_timer, a, &p->timer);
	if (r < 0)
		return err_errno(err, r, "cannot serve %s", a->conf.ui);
	loop_set_plain(p->io);
	loop_set_plain(p->timer);
	loop_name(p->io, "page");
	loop_name(p->timer, "page");
	return 0;
}

void agent_page_stop(struct agent *a)
{
	loop_remove(TAKE_PTR(a->page.io));
	loop_remove(TAKE_PTR(a->page.timer));
}

void agent_page_close(struct agent *a)
{
	struct agent_page *p = &a->page;

	agent_page_stop(a);
	if (p->listen_fd >= 0)
		close(TAKE_FD(p->listen_fd));
	if (p->path)
		unlink(TAKE_PTR(p->path));
}

void agent_page_put(const struct agent *a, struct buf *out)
{
	const struct agent_page *p = &a->page;

	if (p->listen_fd < 0)
		return;
	buf_printf(out, "page: %s, ", a->conf.ui_address);
	if (p->pid > 0)
		buf_printf(out, "pid %d, %u starts\n", (int)p->pid, p->starts);
	else
		buf_add_str(out, p->over ? "ended\n" : "starts\n");
}
