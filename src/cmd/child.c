// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "event/event.h"

struct child {
	const char *name;	/* borrowed: for messages */
	pid_t pid;
	int pidfd, go_fd, error_fd;	/* go: how it is held, and if by this, a byte that starts it; error: its
					   errno, or nothing once exec succeeded */
	bool traced;		/* it is held by ptrace() and not by go */
	bool released, reaped;
	int status;
	struct map family;	/* u32 tgid -> u8 */
};

void child_free(struct child *c)
{
	if (!c)
		return;
	cleanup_close(&c->go_fd);
	if (c->pid > 0 && !c->released) {
		if (c->pidfd >= 0)
			child_signal(c, SIGKILL);	/* its number may be another's by now */
		else
			kill(c->pid, SIGKILL);
		child_wait(c);
	}
	cleanup_close(&c->pidfd);
	cleanup_close(&c->error_fd);
	map_fini(&c->family);
	free(c);
}

/* ---- the new process: nothing but system calls ---- */

#define HELD_BY_PTRACE 'p'
#define HELD_BY_PIPE 'r'

/*
 * Waits until all probes run. A process stopped by a tracer resumes without a system call, so that execve() is its
 * first event; where ptrace() is denied, the exit of a read() precedes it. The parent selects the method in its first
 * byte; end of file means that the parent has exited.
 */
static void wait_to_be_released(int go_fd)
{
	char byte;

	if (read(go_fd, &byte, 1) != 1)
		_exit(0);
	if (byte == HELD_BY_PTRACE)
		raise(SIGSTOP);
	else if (read(go_fd, &byte, 1) != 1)
		_exit(0);
}

static void wait_and_exec(int go_fd, int error_fd, const char *program, char **argv)
{
	sigset_t none;
	int e;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	wait_to_be_released(go_fd);
	execvp(program, argv);
	e = errno;
	if (write(error_fd, &e, sizeof(e)) != sizeof(e))
		_exit(126);
	_exit(127);
}

/* ---- its parent ---- */

/*
 * Resolves @name as execvp() does. The parent resolves it, so that failed attempts do not appear as calls of the
 * command. If no file is found, execvp() reports the error.
 */
static void find_program(const char *name, struct buf *out)
{
	const char *path = getenv("PATH");
	struct stat st;

	for (const char *p = strchr(name, '/') ? NULL : path; p; p = *p ? p + 1 : NULL) {
		size_t len = strcspn(p, ":");

		buf_reset(out);
		buf_printf(out, "%.*s%s%s", (int)len, p, len ? "/" : "./", name);
		buf_add_char(out, '\0');
		p += len;
		if (buf_error(out) >= 0 && !stat(out->data, &st) && S_ISREG(st.st_mode) && !access(out->data, X_OK))
			return;
	}
	buf_reset(out);
	buf_add_str(out, name);
	buf_add_char(out, '\0');
}

static char **copy_argv(const struct opt_strv *command)
{
	char **argv = calloc(command->len + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < command->len; i++)
		argv[i] = (char *)command->items[i];	/* exec takes what it does not change */
	return argv;
}

/* Returns once the child waits, or will. From its first moment on a maker that dies takes it along. */
static int hold_child(struct child *c)
{
	int status;

	c->traced = ptrace(PTRACE_SEIZE, c->pid, NULL, PTRACE_O_EXITKILL) == 0;
	if (write(c->go_fd, &(char){ c->traced ? HELD_BY_PTRACE : HELD_BY_PIPE }, 1) != 1)
		return -errno;
	if (!c->traced)
		return 0;
	if (waitpid(c->pid, &status, __WALL) < 0)
		return -errno;
	c->reaped = !WIFSTOPPED(status);
	return c->reaped ? -ECHILD : 0;
}

static int fork_child(struct child *c, char **argv, int go_fd, int error_fd)
{
	_cleanup_(buf_fini) struct buf program = { 0 };

	find_program(argv[0], &program);
	if (buf_error(&program) < 0)
		return buf_error(&program);
	c->pid = fork();
	if (c->pid < 0)
		return -errno;
	if (c->pid == 0) {
		close(c->go_fd);
		wait_and_exec(go_fd, error_fd, program.data, argv);
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : hold_child(c);
}

int child_new(const struct opt_strv *command, struct child **ret, struct err *err)
{
	_cleanup_(child_freep) struct child *c = calloc(1, sizeof(*c));
	_cleanup_free_ char **argv = copy_argv(command);
	uint32_t tgid;
	int go[2] = { -1, -1 }, error[2] = { -1, -1 }, r = 0;

	if (!c || !argv) {
		free(TAKE_PTR(c));
		return err_errno(err, -ENOMEM, "cannot run %s", command->items[0]);
	}
	c->name = command->items[0];
	c->pidfd = c->go_fd = c->error_fd = -1;
	map_init(&c->family, sizeof(uint32_t), sizeof(uint8_t));
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		r = -errno;
	c->go_fd = go[1];
	c->error_fd = error[0];
	if (r >= 0)
		r = fork_child(c, argv, go[0], error[1]);
	cleanup_close(&go[0]);
	cleanup_close(&error[1]);
	tgid = (uint32_t)c->pid;
	if (r >= 0 && !map_add(&c->family, &tgid, NULL))
		r = -ENOMEM;
	if (r < 0)
		return err_errno(err, r, "cannot run %s", c->name);
	*ret = TAKE_PTR(c);
	return 0;
}

int child_release(struct child *c, struct err *err)
{
	ssize_t n;
	int e;

	c->released = c->traced ? ptrace(PTRACE_DETACH, c->pid, NULL, NULL) == 0 : write(c->go_fd, "", 1) == 1;
	if (!c->released)
		return err_errno(err, -EIO, "cannot run %s", c->name);
	cleanup_close(&c->go_fd);
	c->go_fd = -1;
	do
		n = read(c->error_fd, &e, sizeof(e));	/* ends with the exec */
	while (n < 0 && errno == EINTR);
	if (n != sizeof(e))
		return 0;
	child_wait(c);
	return err_errno(err, -e, "cannot run %s", c->name);
}

uint32_t child_pid(const struct child *c)
{
	return (uint32_t)c->pid;
}

int child_fd(const struct child *c)
{
	return c->pidfd;
}

void child_signal(struct child *c, int signo)
{
	if (!c->reaped)
		syscall(SYS_pidfd_send_signal, c->pidfd, signo, NULL, 0);
}

int child_wait(struct child *c)
{
	int status = 0;

	while (!c->reaped && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!c->reaped)
		c->status = WIFSIGNALED(status) ? CMD_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
	c->reaped = true;
	return c->status;
}

/* ---- its descendants ---- */

static bool read_number(const struct event *ev, const char *name, uint64_t *ret)
{
	for (unsigned i = 0; i < ev->desc->n_fields; i++)
		if (!strcmp(ev->desc->fields[i].name, name))
			return event_get_number(ev, &ev->desc->fields[i], ret) == 0;
	return false;
}

/*
 * A number is its process's until the kernel gives it to another: what a process does while it ends, and what comes
 * late, is its own.
 */
static void learn(struct child *c, const struct event *ev)
{
	uint64_t maker = 0;
	uint32_t tgid = ev->tgid, from;

	if (!read_number(ev, "task.maker", &maker) || !maker)
		return;
	from = (uint32_t)maker;
	if (map_find(&c->family, &from))
		map_add(&c->family, &tgid, NULL);
	else
		map_remove(&c->family, &tgid);
}

bool child_owns(struct child *c, const struct event *ev)
{
	uint32_t tgid = ev->tgid;
	bool is_mine = map_find(&c->family, &tgid);

	if (ev->desc->class == EVENT_STATE)
		learn(c, ev);
	return is_mine || map_find(&c->family, &tgid);
}
