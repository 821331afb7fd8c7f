// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One request and one reply at a time over a SOCK_SEQPACKET pair. The function goes as an address, which is the same
 * in both processes; it must be in the section of plain workers.
 */
#include "worker/spawner.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rights.h"
#include "worker/command_signals.h"
#include "worker/worker_child.h"

#define FDS_MAX (WORKER_FDS_MAX + 3)	/* with answer, report and input */

/* confine() drops everything else with them, and then them. */
#define RIGHTS (RIGHT(CAP_SETUID) | RIGHT(CAP_SETGID) | RIGHT(CAP_SETPCAP) | RIGHT(CAP_SYS_NICE))

static struct {
	pid_t pid;
	pid_t owner;	/* the process that started it: a child of fork() has no spawner */
	int fd;
	pthread_mutex_t lock;	/* of a request until its reply: probes start workers from two threads */
} spawner = { .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

/* Followed by the context. Descriptors as SCM_RIGHTS: answer, report, those of the worker, input if any. */
struct request {
	struct worker_opts opts;	/* pointers are those of the sender: replaced */
	worker_fn fn;
	char name[16];
	bool has_input;
};

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

/* A worker with rights of its own would be worth taking over the sender. */
static bool is_harmless(const struct worker_opts *o)
{
	return !o->rights && !o->network && !o->asks && !o->store && !o->unlink_fd;
}

/* ---- in the spawner ---- */

static bool is_whole(const struct request *q, size_t ctx_bytes, size_t n_fds)
{
	return q->opts.ctx_bytes == ctx_bytes && q->opts.n_fds <= WORKER_FDS_MAX &&
	       n_fds == 2 + q->opts.n_fds + q->has_input && worker_child_is_plain(q->fn) && is_harmless(&q->opts);
}

_Noreturn static void run_worker(struct request *q, void *ctx, const int *fds, pid_t parent)
{
	const struct worker_child c = {
		.opts = &q->opts, .fn = q->fn, .ctx = q->opts.ctx_bytes ? ctx : NULL, .answer_fd = fds[0],
		.report_fd = fds[1], .in_fd = q->has_input ? fds[2 + q->opts.n_fds] : -1, .parent = parent,
	};

	q->name[sizeof(q->name) - 1] = '\0';
	q->opts.name = q->name;
	q->opts.fds = fds + 2;
	worker_child_run(&c);
}

/* The worker's parent is this process's parent, which waits for it. */
static pid_t fork_sibling(void)
{
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);

	return pid < 0 ? -errno : (pid_t)pid;
}

static size_t take_fds(struct msghdr *m, int fds[static FDS_MAX])
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return n;
}

_Noreturn static void serve(int sock, pid_t parent)
{
	static _Alignas(16) char ctx[WORKER_CTX_MAX];

	for (;;) {
		struct request q;
		struct iovec iov[] = { { &q, sizeof(q) }, { ctx, sizeof(ctx) } };
		union control c;
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = &c, .msg_controllen = sizeof(c) };
		ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
		int32_t pid = -EINVAL;
		int fds[FDS_MAX];
		size_t n_fds;

		if (n <= 0)
			_exit(n < 0);
		n_fds = take_fds(&m, fds);
		if ((size_t)n >= sizeof(q) && is_whole(&q, (size_t)n - sizeof(q), n_fds))
			pid = fork_sibling();
		if (pid == 0)
			run_worker(&q, ctx, fds, parent);
		for (size_t i = 0; i < n_fds; i++)
			close(fds[i]);
		if (send(sock, &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid))
			_exit(1);
	}
}

/* It parses nothing, so it keeps its user. */
_Noreturn static void run_spawner(int sock, pid_t parent)
{
	command_signals_ignore(NULL);
	prctl(PR_SET_NAME, "sonde-spawner");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	if (dup2(sock, WORKER_FD_FIRST) < 0 || close_range(WORKER_FD_FIRST + 1, ~0u, 0) < 0)
		_exit(1);
	rights_keep(rights_permitted() & RIGHTS, rights_permitted() & RIGHTS);
	serve(WORKER_FD_FIRST, parent);
}

/* ---- in the parent ---- */

int spawner_start(struct err *err)
{
	const pid_t parent = getpid();
	int pair[2];

	if (spawner.fd >= 0 && spawner.owner == parent)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "cannot start the process that starts workers");
	spawner.pid = fork();
	if (spawner.pid == 0)
		run_spawner(pair[1], parent);
	close(pair[1]);
	if (spawner.pid < 0) {
		int r = -errno;

		close(pair[0]);
		spawner.pid = 0;
		return err_errno(err, r, "cannot start the process that starts workers");
	}
	spawner.fd = pair[0];
	spawner.owner = parent;
	return 0;
}

void spawner_stop(void)
{
	if (spawner.fd < 0 || spawner.owner != getpid())
		return;
	close(spawner.fd);	/* it reads the end and exits */
	TEMP_FAILURE_RETRY(waitpid(spawner.pid, NULL, 0));
	spawner.fd = -1;
	spawner.pid = 0;
}

pid_t spawner_pid(void)
{
	return spawner.owner == getpid() ? spawner.pid : 0;
}

static void put_fds(const struct worker_child *job, struct msghdr *m, union control *c)
{
	const struct worker_opts *o = job->opts;
	int fds[FDS_MAX] = { job->answer_fd, job->report_fd };
	size_t n = 2;

	for (size_t i = 0; i < o->n_fds; i++)
		fds[n++] = o->fds[i];
	if (job->in_fd >= 0)
		fds[n++] = job->in_fd;
	c->head = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(n * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(&c->head), fds, n * sizeof(int));
	m->msg_control = c;
	m->msg_controllen = CMSG_SPACE(n * sizeof(int));
}

/* The reply: pid or -errno. */
static pid_t ask(const struct msghdr *m)
{
	int32_t pid;
	ssize_t n;

	n = TEMP_FAILURE_RETRY(sendmsg(spawner.fd, m, MSG_NOSIGNAL));
	if (n < 0)
		return -errno;
	n = TEMP_FAILURE_RETRY(recv(spawner.fd, &pid, sizeof(pid), 0));
	return n == sizeof(pid) ? pid : -EPIPE;
}

static bool takes(const struct worker_child *c)
{
	const struct worker_opts *o = c->opts;

	return spawner_pid() && worker_child_is_plain(c->fn) && is_harmless(o) && o->ctx_bytes <= WORKER_CTX_MAX &&
	       o->n_fds <= WORKER_FDS_MAX;
}

pid_t spawner_spawn(const struct worker_child *c)
{
	struct request q = { .opts = *c->opts, .fn = c->fn, .has_input = c->in_fd >= 0 };
	struct iovec iov[] = { { &q, sizeof(q) }, { c->ctx, q.opts.ctx_bytes } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	union control control;
	pid_t pid;

	if (!takes(c))
		return -ENOENT;
	snprintf(q.name, sizeof(q.name), "%s", c->opts->name ? c->opts->name : "sonde-worker");
	put_fds(c, &m, &control);
	pthread_mutex_lock(&spawner.lock);
	pid = ask(&m);
	pthread_mutex_unlock(&spawner.lock);
	if (pid == -EPIPE || pid == -ECONNRESET) {	/* it was killed */
		spawner_stop();
		return -ENOENT;
	}
	return pid;
}
