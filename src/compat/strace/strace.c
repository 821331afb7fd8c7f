// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat strace: strace's command line over sonde syscalls.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cmd/child.h"
#include "cmd/syscalls/syscalls.h"
#include "compat/compat.h"
#include "compat/strace/strace_opts.h"
#include "compat/strace/strace_sink.h"
#include "pipeline/pipeline.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/cpu/cpu_wire.h"
#include "probes/sys/sys_wire.h"

#if defined(__x86_64__)
#define ABI_NATIVE SYS_ABI_X86_64
#elif defined(__aarch64__)
#define ABI_NATIVE SYS_ABI_ARM64
#endif

#define SNAPLEN_LEAST 1024 /* each entry of a vector is a string */
#define SNAPLEN_DUMPED 16384

struct strace_conf {
	struct strace_opts o;
	struct syscalls_conf syscalls;

	/* while it runs */
	struct strace_sink *sink;
	struct child_opts child;
	uint32_t pid; /* of the command; 0 = none */
	int wait_status, go_fd; /* go_fd: releases the command of -D; -1 = none */
	struct cpu_conf stacks;
	uint64_t stack_calls[CPU_CALLS / 64];
	char program[PATH_MAX];
	struct buf calls, ready;
};

static size_t strace_sets(void *conf, struct opt_set *ret_sets)
{
	struct strace_conf *c = conf;

	strace_opts_default(&c->o);
	ret_sets[0] = (struct opt_set){ .title = "strace", .opts = strace_opts_rows, .conf = &c->o };
	return 1 + syscalls_sets(&c->syscalls, ret_sets + 1);
}

/* ---- checks ---- */

static int check_processes(const struct strace_conf *c, const struct cmd_words *w, struct err *err)
{
	if (!w->command.len && !c->o.pids.len)
		return err_set(err, -EINVAL, "must have PROG [ARGS] or -p PID");
	if (w->command.len && c->o.pids.len)
		return err_set(err, -EINVAL, "a command and -p PID: run one sonde for each");
	if (c->o.user && !w->command.len)
		return err_set(err, -EINVAL, "-u %s: only a command is run as a user", c->o.user);
	for (size_t i = 0; i < c->o.pids.len; i++)
		if (kill((pid_t)c->o.pids.items[i], 0) < 0 && errno == ESRCH)
			return err_set(err, -ESRCH, "attach: process %u does not exist", c->o.pids.items[i]);
	return 0;
}

static int check(const struct strace_conf *c, const struct cmd_words *w, struct err *err)
{
	const struct run_conf *run = &c->syscalls.run;

	if (run->format || run->time)
		return err_set(err, -EINVAL, "%s: lines are strace's; sonde syscalls --format strace takes it",
			       run->format ? "--format" : "--time");
	if (run->read)
		return err_set(err, -EINVAL, "--read: use sonde syscalls --format strace -r FILE");
	if (c->o.daemonize && !w->command.len)
		return err_set(err, -EINVAL, "PROG [ARGS] must be specified with -D/--daemonize");
	if (c->o.separately && (c->o.summary || c->o.lines_too))
		return err_set(err, -EINVAL, "(-c or -C) and -ff are mutually exclusive");
	return check_processes(c, w, err);
}

/* ---- -D: a grandchild of the command watches it ---- */

/* The command's process, which waits until it is watched. Does not return. */
static void become_command(struct strace_conf *c, const struct cmd_words *w, pid_t child, int fd)
{
	const struct child_opts how = { .user = c->o.user, .env = &c->o.env };
	struct err err = { 0 };
	char byte;

	waitpid(child, NULL, 0);
	if (read(fd, &byte, 1) == 1 && child_become(&w->command, &how, &err) < 0)
		log_error("%s", err.msg);
	_exit(CMD_FAIL);
}

/* Returns in the process that watches. */
static int go_behind(struct strace_conf *c, const struct cmd_words *w)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	c->pid = (uint32_t)getpid();
	child = fork();
	if (child < 0)
		return -errno;
	if (child > 0) {
		close(ends[1]);
		become_command(c, w, child, ends[0]);
	}
	if (fork() != 0)
		_exit(0);
	close(ends[0]);
	c->go_fd = ends[1];
	if (c->o.daemonize == 2)
		setpgid(0, 0);
	else if (c->o.daemonize > 2)
		setsid();
	return 0;
}

static void release_command(void *ctx)
{
	struct strace_conf *c = ctx;

	if (write(c->go_fd, "", 1) != 1)
		log_error("cannot run the command: %s", strerror(errno));
	close(c->go_fd);
}

/* ---- the run ---- */

static int select_calls(struct strace_conf *c)
{
	struct opt_strv *calls = &c->syscalls.sys.calls;

	if (strace_set_is_all(&c->o.trace))
		return 0;
	if (strace_set_names(&c->o.trace, &c->calls) < 0 || vec_push(calls, buf_str(&c->calls)) < 0)
		return -ENOMEM;
	return 0;
}

static int select_processes(struct strace_conf *c)
{
	struct run_conf *run = &c->syscalls.run;
	struct opt_u32v *to = c->o.follow ? &run->trees : &run->pids;

	if (c->o.daemonize) {
		if (vec_push(to, c->pid) < 0)
			return -ENOMEM;
	}

	for (size_t i = 0; i < c->o.pids.len; i++) {
		if (vec_push(to, c->o.pids.items[i]) < 0)
			return -ENOMEM;
		if (!(c->o.quiet & STRACE_QUIET_ATTACH))
			buf_printf(&c->ready, "%sstrace: Process %u attached", c->ready.len ? "\n" : "",
				   c->o.pids.items[i]);
	}
	return buf_error(&c->ready);
}

/* Paths of -P as descriptors have them. */
static int resolve_paths(struct strace_opts *o)
{
	for (size_t i = 0; i < o->paths.len; i++) {
		_cleanup_free_ char *path = realpath(o->paths.items[i], NULL);

		if (!path || !strcmp(path, o->paths.items[i]))
			continue;
		if (!(o->quiet & STRACE_QUIET_PATH))
			fprintf(stderr, "strace: Requested path \"%s\" resolved into \"%s\"\n", o->paths.items[i],
				path);
		if (vec_push(&o->resolved, TAKE_PTR(path)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool dumps(const struct strace_opts *o)
{
	return o->read.inverted || o->read.list.len || o->write.inverted || o->write.list.len;
}

/* The kernel takes stacks of the calls that are shown. */
static void set_stacks(struct strace_conf *c)
{
	for (unsigned nr = 0; nr < CPU_CALLS; nr++)
		if (strace_set_has_call(&c->o.trace, ABI_NATIVE, nr))
			c->stack_calls[nr / 64] |= 1ull << nr % 64;
	c->stacks = cpu_conf_default;
	c->stacks.calls = c->stack_calls;
	c->stacks.user_only = true;
	if (!c->o.stacks)
		c->stacks.depth = 1;
	else if (*c->program)
		c->stacks.program = c->program;
	c->syscalls.run.symbols = c->o.stacks;
	c->syscalls.stacks = &c->stacks;
}

static void set_up(struct strace_conf *c)
{
	struct syscalls_conf *s = &c->syscalls;

	s->sys.summary = false;
	s->sys.events_too |= SYS_EVENT_SIGNAL | SYS_EVENT_EXIT;
	s->sys.snaplen = dumps(&c->o) ? SNAPLEN_DUMPED : MAX((uint64_t)c->o.strings, (uint64_t)SNAPLEN_LEAST);
	s->ready = buf_str(&c->ready);
	s->watcher = c->o.fds || c->o.paths.len ? &strace_sink_named : &strace_sink_plain;
	s->watcher_ctx = c->sink;
	c->child = (struct child_opts){
		.user = c->o.user,
		.env = &c->o.env,
		.ret_pid = &c->pid,
		.ret_wait = &c->wait_status,
	};
	s->child = &c->child;
	if (c->o.daemonize) {
		s->on_ready = release_command;
		s->on_ready_ctx = c;
	}
	if ((c->o.ips || c->o.stacks) && (!c->o.summary || c->o.lines_too))
		set_stacks(c);
}

static void on_end(void *ctx)
{
	struct strace_conf *c = ctx;

	if (c->syscalls.pipeline)
		pipeline_stop(c->syscalls.pipeline);
}

static void find_program(struct strace_conf *c, const char *name)
{
	_cleanup_(buf_fini) struct buf path = { 0 };

	child_find_program(name, &path);
	snprintf(c->program, sizeof(c->program), "%s", buf_str(&path));
}

/* With -D it returns in another process, with @w without the command. */
static int prepare(struct strace_conf *c, struct cmd_words *w, struct err *err)
{
	int r = check(c, w, err);

	if (r < 0)
		return r;
	if (w->command.len)
		find_program(c, w->command.items[0]);
	if (c->o.daemonize && access(c->program, X_OK) < 0)
		return err_errno(err, -errno, "cannot run %s", w->command.items[0]);
	if (c->o.daemonize) {
		r = go_behind(c, w);
		w->command.len = 0;
	}
	if (r < 0)
		return err_errno(err, r, "cannot run the command");
	if (select_calls(c) < 0 || select_processes(c) < 0 || resolve_paths(&c->o) < 0)
		return err_errno(err, -ENOMEM, "cannot begin");
	r = strace_sink_new(&c->o, &c->pid, &c->sink, err);
	if (r < 0)
		return r;
	if (!w->command.len)
		strace_sink_on_end(c->sink, on_end, c);
	set_up(c);
	return 0;
}

/* Ends by the signal that ended the command, as strace does, but without a second core file. */
static void end_alike(int wait_status)
{
	const struct rlimit none = { 0 };
	sigset_t set;

	fflush(NULL);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(wait_status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(wait_status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(wait_status));
}

static void release(struct strace_conf *c)
{
	strace_sink_free(c->sink);
	strace_opts_fini(&c->o);
	vec_fini(&c->syscalls.run.trees);
	buf_fini(&c->calls);
	buf_fini(&c->ready);
}

static int strace_run(void *conf, const struct cmd_words *w)
{
	struct strace_conf *c = conf;
	struct cmd_words words = *w;
	struct err err = { 0 };
	int r, status;

	if (c->o.version)
		return cmd_print_version(stdout, false);
	r = prepare(c, &words, &err);
	if (r < 0) {
		log_error("%s", err.msg);
		release(c);
		return cmd_exit_status(r);
	}
	status = syscalls_run(&c->syscalls, &words);
	r = strace_sink_finish(c->sink);
	if (r < 0 && r != -EPIPE) {
		log_error("cannot write the lines: %s", strerror(-r));
		status = status ? status : CMD_FAIL;
	}
	release(c);
	if (WIFSIGNALED(c->wait_status) && status == CMD_BY_SIGNAL + WTERMSIG(c->wait_status))
		end_alike(c->wait_status);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat strace -f -o trace.txt make", "a command and its children, in a file" },
	{ "sonde compat strace -y -e trace=%file -p 1234", "calls of a process that take paths" },
	{ "sonde compat strace -C -S calls ls /", "lines, then a table of calls" },
	{ 0 },
};

static const struct cmd strace_cmd = {
	.name = "compat strace",
	.summary = "system calls in strace's lines",
	.args = "[COMMAND [ARGUMENTS]]",
	.doc = "Runs a command, or watches processes, and prints their system calls as strace does. Programs are not "
	       "stopped at calls: a call is one line, when it returns.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct strace_conf),
	.sets = strace_sets,
	.run = strace_run,
};

const struct dialect dialect_strace = {
	.tool = "strace",
	.cmd = &strace_cmd,
	.native = "syscalls",
	.first_word_ends = true,
};
