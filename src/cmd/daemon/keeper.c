// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One server at a time: a request, its start, its end. The end of the agent is the end of the socket, or a signal.
 */
#include "cmd/daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/rights.h"
#include "worker/command_signals.h"

#define NOBODY 65534
#define SOCK_FD 3			/* of the keeper: the agent */

/* ---- rights ---- */

static int give_up_rights(void)
{
	const struct rlimit none = { 0 };

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -errno;
	if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	rights_keep(0, 0);
	return rights_permitted() || geteuid() == 0 ? -EPERM : 0;
}

/* The agent's messages go where they went, its output does not: nothing else of it stays open. */
static int settle_descriptors(int sock)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	if (sock != SOCK_FD && dup3(sock, SOCK_FD, O_CLOEXEC) < 0)
		return -errno;
	null = -1;
	return close_range(SOCK_FD + 1, ~0u, 0) < 0 ? -errno : 0;
}

/* After the change of credentials, which forgets it. */
static int die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* ---- servers ---- */

_Noreturn static void serve(const struct keeper_ops *ops, void *conf, const int fds[static AGENT_SERVER_FD__MAX],
			    pid_t keeper)
{
	close(SOCK_FD);
	prctl(PR_SET_NAME, ops->comm);
	if (die_with(keeper) < 0)
		_exit(1);
	_exit(ops->serve(conf, fds));
}

/* False at the end. */
static bool take_request(int fds[static AGENT_SERVER_FD__MAX])
{
	union { char room[CMSG_SPACE(AGENT_SERVER_FD__MAX * sizeof(int))]; struct cmsghdr align; } control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};
	const struct cmsghdr *h;
	size_t bytes;
	ssize_t n;

	n = TEMP_FAILURE_RETRY(recvmsg(SOCK_FD, &m, MSG_CMSG_CLOEXEC));
	h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	bytes = h && h->cmsg_type == SCM_RIGHTS ? h->cmsg_len - CMSG_LEN(0) : 0;
	if (bytes <= AGENT_SERVER_LISTEN * sizeof(int))
		return false;
	memset(fds, 0xff, AGENT_SERVER_FD__MAX * sizeof(int));
	memcpy(fds, CMSG_DATA(h), bytes);
	return true;
}

static bool report(const struct agent_server_report *m)
{
	return send(SOCK_FD, m, sizeof(*m), MSG_NOSIGNAL) == sizeof(*m);
}

/* Until the server or the agent has ended; the server has ended then. Its status. */
static int wait_for(pid_t pid)
{
	_cleanup_close_ int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[] = { { .fd = pid_fd, .events = POLLIN }, { .fd = SOCK_FD, .events = POLLIN } };
	int status = 0;

	while (pid_fd >= 0 && poll(p, ARRAY_SIZE(p), -1) < 0 && errno == EINTR)
		;
	if (!p[0].revents)
		kill(pid, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
	return status;
}

_Noreturn static void keep(const struct keeper_ops *ops, void *conf)
{
	const pid_t self = getpid();
	struct agent_server_report m = { 0 };
	int fds[AGENT_SERVER_FD__MAX];

	while (take_request(fds)) {
		m = (struct agent_server_report){ .pid = fork() };
		if (m.pid == 0)
			serve(ops, conf, fds, self);
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			cleanup_close(&fds[i]);
		if (m.pid > 0 && report(&m))
			m.status = wait_for(m.pid);
		m.ended = true;
		if (!report(&m))
			break;
	}
	_exit(0);
}

_Noreturn static void run_keeper(int sock, pid_t agent, const struct keeper_ops *ops, void *conf)
{
	int r = settle_descriptors(sock);

	command_signals_ignore(NULL);
	prctl(PR_SET_NAME, "sonde-keeper");
	if (r >= 0)
		r = give_up_rights();
	if (r >= 0)
		r = die_with(agent);
	if (r < 0) {
		log_error("cannot give up rights for %s: %s", ops->title, strerror(-r));
		_exit(1);
	}
	log_set_level(LOG_LEVEL_WARN);
	keep(ops, conf);
}

/* ---- in the agent ---- */

int keeper_start(const struct keeper_ops *ops, void *conf, struct keeper *ret, struct err *err)
{
	const pid_t self = getpid();
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "cannot start %s", ops->title);
	ret->pid = fork();
	if (ret->pid == 0)
		run_keeper(pair[1], self, ops, conf);
	r = ret->pid < 0 ? -errno : 0;
	close(pair[1]);
	ret->fd = pair[0];
	if (r >= 0)
		return 0;
	close(pair[0]);
	ret->pid = 0;
	return err_errno(err, r, "cannot start %s", ops->title);
}

void keeper_stop(struct keeper *k)
{
	if (!k->pid)
		return;
	close(k->fd);
	TEMP_FAILURE_RETRY(waitpid(k->pid, NULL, 0));
	k->pid = 0;
}
