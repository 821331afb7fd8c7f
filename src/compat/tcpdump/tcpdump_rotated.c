// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/tcpdump/tcpdump_rotated.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/command_signals.h"

#define LOWEST_PRIORITY 19

struct tcpdump_rotated {
	pid_t pid;
	int fd;			/* names, each with its NUL */
};

/* ---- the process that starts commands ---- */

struct service {
	const char *command;
	struct command_signals of_capture;	/* its commands start with them */
};

static void exec_command(const struct service *s, const char *name)
{
	command_signals_restore(&s->of_capture);
	signal(SIGCHLD, SIG_DFL);
	setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
	execlp(s->command, s->command, name, (char *)NULL);
	fprintf(stderr, "sonde: cannot run %s %s: %s\n", s->command, name, strerror(errno));
	_exit(CHAR_MAX);
}

/* Takes the whole names out of @names, *len bytes. */
static void start_commands(const struct service *s, char *names, size_t *len)
{
	char *end;

	while ((end = memchr(names, '\0', *len))) {
		const size_t used = (size_t)(end - names) + 1;
		const pid_t pid = fork();

		if (pid == 0)
			exec_command(s, names);
		if (pid < 0)
			fprintf(stderr, "sonde: cannot run %s %s: %s\n", s->command, names, strerror(errno));
		*len -= used;
		memmove(names, names + used, *len);
	}
}

/* Until the capture closes the pipe. */
static void serve(const char *command, int fd)
{
	struct service s = { .command = command };
	char names[2 * PATH_MAX];
	size_t len = 0;
	ssize_t n;

	command_signals_ignore(&s.of_capture);	/* the last file still gets its command */
	signal(SIGCHLD, SIG_IGN);		/* ended commands leave no zombies */
	while ((n = read(fd, names + len, sizeof(names) - len)) > 0) {
		len += (size_t)n;
		start_commands(&s, names, &len);
	}
	while (wait(NULL) > 0 || errno == EINTR) /* with SIGCHLD ignored it returns when all have ended */
		;
	_exit(0);
}

/* ---- the capture's end ---- */

int tcpdump_rotated_new(const char *command, struct tcpdump_rotated **ret)
{
	struct tcpdump_rotated *t = calloc(1, sizeof(*t));
	int ends[2];

	if (!t)
		return -ENOMEM;
	t->pid = pipe2(ends, O_CLOEXEC) < 0 ? -1 : fork();
	if (t->pid < 0) {
		int error = -errno;

		free(t);
		return error;
	}
	if (t->pid == 0) {
		close(ends[1]);
		serve(command, ends[0]);
	}
	close(ends[0]);
	t->fd = ends[1];
	*ret = t;
	return 0;
}

void tcpdump_rotated_closed(void *ctx, const char *name)
{
	struct tcpdump_rotated *t = ctx;
	const size_t len = strlen(name) + 1;

	if (write(t->fd, name, len) != (ssize_t)len)
		fprintf(stderr, "sonde: cannot run the command for %s: %s\n", name, strerror(errno));
}

void tcpdump_rotated_free(struct tcpdump_rotated *t)
{
	if (!t)
		return;
	close(t->fd);
	while (t->pid > 0 && waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(t);
}
