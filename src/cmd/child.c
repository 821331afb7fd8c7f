// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
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
	int pidfd, go_fd, error_fd;	/* go: holds the child until a byte starts it; error: its errno, or
					 * end of file once exec succeeded */
	bool traced;		/* held by ptrace() and not by `go` */
	bool released, reaped;
	int status;
	const struct child_opts *opts;	/* borrowed; NULL = none */
	struct map family;	/* u32 tgid -> u8 */
};

void child_free(struct child *c)
{
	if (!c)
		return;
	cleanup_close(&c->go_fd);
	if (c->pid > 0 && !c->released) {
		if (c->pidfd >= 0)
			child_signal(c, SIGKILL);	/* its number may have been reused */
		else
			kill(c->pid, SIGKILL);
		child_wait(c);
	}
	cleanup_close(&c->pidfd);
	cleanup_close(&c->error_fd);
	map_fini(&c->family);
	free(c);
}

/* ---- the new process: system calls only ---- */

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

/* Everything that the new process needs, made before the fork. */
struct plan {
	struct buf program;
	char **argv, **envp;	/* envp NULL = the caller's */
	bool as_user;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;
};

static int become(const struct plan *p)
{
	if (!p->as_user)
		return 0;
	return setgroups((size_t)p->n_groups, p->groups) < 0 || setgid(p->gid) < 0 || setuid(p->uid) < 0 ? -1 : 0;
}

static void wait_and_exec(int go_fd, int error_fd, const struct plan *p)
{
	sigset_t none;
	int e;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (become(p) == 0) {
		wait_to_be_released(go_fd);
		execvpe(p->program.data, p->argv, p->envp ? p->envp : environ);
	}
	e = errno;
	if (write(error_fd, &e, sizeof(e)) != sizeof(e))
		_exit(126);
	_exit(127);
}

/* ---- its parent ---- */

/* The parent resolves the name, so that failed attempts do not appear as calls of the command. */
void child_find_program(const char *name, struct buf *out)
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
		argv[i] = (char *)command->items[i];	/* execve() does not modify them */
	return argv;
}

/* Returns once the child waits or is about to. The child dies with its parent from its first moment on. */
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

static void plan_fini(struct plan *p)
{
	buf_fini(&p->program);
	free(p->argv);
	free(p->envp);
	free(p->groups);
}

/* Length of the name in "NAME=VALUE". */
static size_t name_len(const char *var)
{
	return strcspn(var, "=");
}

/* Removes the variable that @var names, then adds it if it has a value. */
static void set_variable(char **envp, size_t *n, const char *var)
{
	size_t len = name_len(var), kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (name_len(envp[i]) != len || memcmp(envp[i], var, len) != 0)
			envp[kept++] = envp[i];
	if (var[len])
		envp[kept++] = (char *)var;	/* execve() does not modify it */
	*n = kept;
	envp[kept] = NULL;
}

static int plan_env(struct plan *p, const struct opt_strv *env)
{
	size_t n = 0;

	while (environ[n])
		n++;
	p->envp = calloc(n + env->len + 1, sizeof(*p->envp));
	if (!p->envp)
		return -ENOMEM;
	memcpy(p->envp, environ, n * sizeof(*p->envp));
	for (size_t i = 0; i < env->len; i++)
		set_variable(p->envp, &n, env->items[i]);
	return 0;
}

static int plan_user(struct plan *p, const char *user)
{
	const struct passwd *pw = getpwnam(user);

	if (!pw)
		return -EINVAL;
	p->as_user = true;
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
	getgrouplist(user, p->gid, NULL, &p->n_groups);
	p->groups = calloc((size_t)p->n_groups + 1, sizeof(*p->groups));
	if (!p->groups)
		return -ENOMEM;
	return getgrouplist(user, p->gid, p->groups, &p->n_groups) < 0 ? -EINVAL : 0;
}

static int plan_make(const struct opt_strv *command, const struct child_opts *o, struct plan *ret, struct err *err)
{
	int r = 0;

	ret->argv = copy_argv(command);
	if (!ret->argv)
		r = -ENOMEM;
	if (r >= 0 && o && o->env && o->env->len)
		r = plan_env(ret, o->env);
	if (r >= 0 && o && o->user)
		r = plan_user(ret, o->user);
	if (r == -EINVAL)
		return err_set(err, r, "cannot run %s: unknown user %s", command->items[0], o->user);
	child_find_program(command->items[0], &ret->program);
	if (r >= 0)
		r = buf_error(&ret->program);
	return r < 0 ? err_errno(err, r, "cannot run %s", command->items[0]) : 0;
}

int child_become(const struct opt_strv *command, const struct child_opts *o, struct err *err)
{
	_cleanup_(plan_fini) struct plan plan = { 0 };
	int r = plan_make(command, o, &plan, err);
	sigset_t none;

	if (r < 0)
		return r;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (become(&plan) == 0)
		execvpe(plan.program.data, plan.argv, plan.envp ? plan.envp : environ);
	return err_errno(err, -errno, "cannot run %s", command->items[0]);
}

static int fork_child(struct child *c, const struct plan *p, int go_fd, int error_fd)
{
	c->pid = fork();
	if (c->pid < 0)
		return -errno;
	if (c->pid == 0) {
		close(c->go_fd);
		wait_and_exec(go_fd, error_fd, p);
	}
	if (c->opts && c->opts->ret_pid)
		*c->opts->ret_pid = (uint32_t)c->pid;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : hold_child(c);
}

static int start_child(struct child *c, const struct plan *p)
{
	int go[2] = { -1, -1 }, error[2] = { -1, -1 }, r = 0;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		r = -errno;
	c->go_fd = go[1];
	c->error_fd = error[0];
	if (r >= 0)
		r = fork_child(c, p, go[0], error[1]);
	cleanup_close(&go[0]);
	cleanup_close(&error[1]);
	return r;
}

static struct child *child_alloc(void)
{
	struct child *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->pidfd = c->go_fd = c->error_fd = -1;
	map_init(&c->family, sizeof(uint32_t), sizeof(uint8_t));
	return c;
}

int child_new(const struct opt_strv *command, const struct child_opts *o, struct child **ret, struct err *err)
{
	_cleanup_(child_freep) struct child *c = child_alloc();
	_cleanup_(plan_fini) struct plan plan = { 0 };
	uint32_t tgid;
	int r;

	if (!c)
		return err_errno(err, -ENOMEM, "cannot run %s", command->items[0]);
	r = plan_make(command, o, &plan, err);
	if (r < 0)
		return r;
	c->name = command->items[0];
	c->opts = o;
	r = start_child(c, &plan);
	tgid = (uint32_t)c->pid;
	if (r >= 0 && !map_add(&c->family, &tgid, NULL))
		r = -ENOMEM;
	if (r < 0)
		return err_errno(err, r, "cannot run %s", c->name);
	*ret = TAKE_PTR(c);
	return 0;
}

int child_adopt(const struct opt_u32v *pids, struct child **ret)
{
	_cleanup_(child_freep) struct child *c = child_alloc();

	if (!c)
		return -ENOMEM;
	c->released = c->reaped = true;
	for (size_t i = 0; i < pids->len; i++)
		if (!map_add(&c->family, &pids->items[i], NULL))
			return -ENOMEM;
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
	n = TEMP_FAILURE_RETRY(read(c->error_fd, &e, sizeof(e))); /* closed by a successful exec */
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
	if (!c->reaped) {
		c->status = WIFSIGNALED(status) ? CMD_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
		if (c->opts && c->opts->ret_wait)
			*c->opts->ret_wait = status;
	}
	c->reaped = true;
	return c->status;
}

/* ---- its descendants ---- */

/*
 * A pid belongs to its process until the kernel reuses it: events during and after its exit still count as its own.
 */
static void learn(struct child *c, const struct event *ev)
{
	const struct sec_state *fact = event_state(ev);
	uint32_t tgid = ev->tgid, from = 0;

	if (fact && fact->kind == SEC_STATE_FORK)
		from = ((const struct sec_task *)fact)->maker_tgid;
	if (!from)
		return;
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

bool child_has(const struct child *c, uint32_t tgid)
{
	return map_find(&c->family, &tgid);
}
