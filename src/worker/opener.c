// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages over a SOCK_SEQPACKET pair: a request has an operation, a number and a name; the reply 0 or -errno, with a
 * descriptor if a file was opened. The opener exits when its socket is closed: an unprivileged parent may not kill
 * it.
 */
#include "worker/opener.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rights.h"
#include "worker/worker.h"

#define FINISH_NS 2000000000ull

struct opener {
	struct worker *worker;	/* owned */
	int fd;			/* owned; the parent's end */
};

enum operation { OPERATION_OPEN, OPERATION_REMOVE, OPERATION__MAX };

struct request {
	uint32_t operation;
	uint32_t what;
	char name[OPENER_NAME_MAX + 1];
};

/* Control data with one descriptor. */
union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Sends @code, and @fd if not negative. */
static bool answer(int sock, int32_t code, int fd)
{
	union control c = { .head = {
		.cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
	} };
	struct iovec iov = { .iov_base = &code, .iov_len = sizeof(code) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
		m.msg_control = &c;
		m.msg_controllen = sizeof(c);
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) == sizeof(code);
}

static int carry_out(const struct opener_opts *o, const struct request *q, int *ret_fd)
{
	if (q->operation == OPERATION_REMOVE)
		return o->remove ? o->remove(o->ctx) : -EPERM;
	if (q->operation != OPERATION_OPEN)
		return -EINVAL;
	*ret_fd = o->open(o->ctx, q->what, q->name);
	return MIN(*ret_fd, 0);
}

static bool is_whole(const struct request *q, size_t len)
{
	return len > offsetof(struct request, name) && !((const char *)q)[len - 1];
}

static int serve(void *ctx, int sock, _unused_ int out_fd)
{
	struct request q;

	for (;;) {
		struct iovec iov = { .iov_base = &q, .iov_len = sizeof(q) };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n = recvmsg(sock, &m, 0);
		_cleanup_close_ int fd = -1;
		int code;

		if (n <= 0)
			return n < 0;
		code = is_whole(&q, (size_t)n) ? carry_out(ctx, &q, &fd) : -EINVAL;
		if (!answer(sock, code, fd))
			return 1;
	}
}

void opener_free(struct opener *o)
{
	if (!o)
		return;
	cleanup_close(&o->fd);
	if (o->worker)
		worker_finish(o->worker, FINISH_NS, NULL);
	free(o);
}
DEFINE_CLEANUP(struct opener *, opener_free)

int opener_start(const struct opener_opts *opts, struct opener **ret, struct err *err)
{
	const struct worker_opts w = {
		.name = "sonde-open", .fds = opts->fds, .n_fds = opts->n_fds,
		.unlink_fd = opts->remove ? opts->remove_fd : 0,
		.rights = RIGHT(CAP_DAC_OVERRIDE) | RIGHT(CAP_DAC_READ_SEARCH),
	};
	_cleanup_(opener_freep) struct opener *o = calloc(1, sizeof(*o));
	struct opener_opts job = *opts;
	int pair[2], r;

	if (!o)
		return err_errno(err, -ENOMEM, "cannot start the process that opens files");
	o->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "cannot start the process that opens files");
	o->fd = pair[0];
	r = worker_start(&w, serve, &job, pair[1], &o->worker, err);
	close(pair[1]);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(o);
	return 0;
}

static int take_fd(struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd;

	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Sends a request. Returns the code of the reply, or -errno; *ret_fd: its descriptor. */
static int ask(int sock, struct request *q, const char *name, int *ret_fd)
{
	size_t len = strlen(name);
	int32_t code;
	union control c;
	struct iovec iov = { .iov_base = &code, .iov_len = sizeof(code) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };
	ssize_t n;

	if (len > OPENER_NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(q->name, name, len);
	len += offsetof(struct request, name) + 1;
	if (send(sock, q, len, MSG_NOSIGNAL) != (ssize_t)len)
		return -ECHILD;
	n = TEMP_FAILURE_RETRY(recvmsg(sock, &m, MSG_CMSG_CLOEXEC));
	if (n != sizeof(code))
		return -ECHILD;
	*ret_fd = take_fd(&m);
	return code;
}

int opener_take_fd(struct opener *o)
{
	return TAKE_FD(o->fd);
}

int opener_open_at(int sock, uint32_t what, const char *name)
{
	struct request q = { .operation = OPERATION_OPEN, .what = what };
	int fd, r = ask(sock, &q, name, &fd);

	return r < 0 ? r : fd;
}

int opener_open(struct opener *o, uint32_t what, const char *name)
{
	return opener_open_at(o->fd, what, name);
}

int opener_remove(struct opener *o)
{
	struct request q = { .operation = OPERATION_REMOVE };
	int fd;

	return ask(o->fd, &q, "", &fd);
}
