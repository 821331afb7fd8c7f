// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One server at a time: a request, its start, its end. The end of the agent is the end of the socket, or a signal.
 */
#include "cmd/ui/ui_keeper.h"

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

#include "agent/agent.h"
#include "agent/agent_page.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/rights.h"
#include "cmd/ui/ui_run.h"
#include "http/http_library.h"
#include "http/http_listen.h"
#include "ui/ui_walls.h"

#define NOBODY 65534
#define SOCK_FD 3			/* of the keeper: the agent */
#define MEMORY_BYTES (128u << 20)	/* of events: the unit of the agent has 1 GB for all */

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

/* Signals of the terminal and of a service manager are for the agent. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* After the change of credentials, which forgets it. */
static int die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* ---- servers ---- */

_Noreturn static void serve(struct ui_conf *c, const int fds[static AGENT_PAGE_FD__MAX], pid_t keeper)
{
	close(SOCK_FD);
	prctl(PR_SET_NAME, "sonde-ui");
	if (die_with(keeper) < 0)
		_exit(1);
	c->client_fd = fds[AGENT_PAGE_CLIENT];
	c->listen_fd = fds[AGENT_PAGE_LISTEN];
	_exit(ui_run(c, NULL));
}

/* False at the end. */
static bool take_request(int fds[static AGENT_PAGE_FD__MAX])
{
	union { char room[CMSG_SPACE(AGENT_PAGE_FD__MAX * sizeof(int))]; struct cmsghdr align; } control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};
	const struct cmsghdr *h;
	ssize_t n;

	do
		n = recvmsg(SOCK_FD, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(AGENT_PAGE_FD__MAX * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(h), AGENT_PAGE_FD__MAX * sizeof(int));
	return true;
}

static bool report(const struct agent_page_report *m)
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
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

_Noreturn static void keep(struct ui_conf *c)
{
	const pid_t self = getpid();
	struct agent_page_report m = { 0 };
	int fds[AGENT_PAGE_FD__MAX];

	while (take_request(fds)) {
		m = (struct agent_page_report){ .pid = fork() };
		if (m.pid == 0)
			serve(c, fds, self);
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			close(fds[i]);
		if (m.pid > 0 && report(&m))
			m.status = wait_for(m.pid);
		m.ended = true;
		if (!report(&m))
			break;
	}
	_exit(0);
}

_Noreturn static void run_keeper(int sock, pid_t agent, struct ui_conf *c)
{
	int r = settle_descriptors(sock);

	ignore_signals();
	prctl(PR_SET_NAME, "sonde-keeper");
	if (r >= 0)
		r = give_up_rights();
	if (r >= 0)
		r = die_with(agent);
	if (r < 0) {
		log_error("cannot give up rights for the page: %s", strerror(-r));
		_exit(1);
	}
	log_set_level(LOG_LEVEL_WARN);
	keep(c);
}

/* ---- in the agent ---- */

static int fork_keeper(struct ui_conf *c, struct ui_keeper *ret, struct err *err)
{
	const pid_t self = getpid();
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, -errno, "cannot start the page");
	ret->pid = fork();
	if (ret->pid == 0)
		run_keeper(pair[1], self, c);
	r = ret->pid < 0 ? -errno : 0;
	close(pair[1]);
	ret->fd = pair[0];
	if (r >= 0)
		return 0;
	close(pair[0]);
	ret->pid = 0;
	return err_errno(err, r, "cannot start the page");
}

static int add_sets(const struct agent_conf *c, struct record_sets *ret, struct err *err)
{
	*ret = (struct record_sets){ .row = "ui-set" };
	return record_sets_add(ret, c->ui_set ? c->ui_set : UI_SET, err);
}

int ui_keeper_check(const struct agent_conf *c, struct err *err)
{
	struct record_sets sets;
	int r;

	if (c->ui && !http_listen_check(c->ui, err))
		return err_prefix(err, "ui");
	r = add_sets(c, &sets, err);
	record_sets_fini(&sets);
	return r;
}

int ui_keeper_start(const struct agent_conf *conf, struct ui_keeper *ret, struct buf *ret_address, struct err *err)
{
	struct ui_token token;
	struct ui_conf c = {
		.listen = conf->ui, .memory_bytes = MEMORY_BYTES, .token = &token,
		.content = conf->allow_content == AGENT_CONTENT_GROUP,
	};
	struct http_library library;
	int r;

	if (http_library_load(&library) < 0)	/* for each server */
		return err_set(err, -ELIBACC, "cannot serve the page without libmicrohttpd, which cannot be loaded: "
			       "install it");
	r = add_sets(conf, &c.sets, err);
	if (r >= 0)
		r = ui_walls_token(&token, err);
	if (r >= 0)
		r = fork_keeper(&c, ret, err);
	record_sets_fini(&c.sets);
	if (r >= 0)
		ui_walls_address(conf->ui, &token, ret_address);
	return r;
}

void ui_keeper_stop(struct ui_keeper *k)
{
	if (!k->pid)
		return;
	close(k->fd);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	k->pid = 0;
}
