// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

/* Closes all descriptors but @fds and standard input, so that peers of pipes and sockets see an end of file. */
static void close_others(const int *fds, size_t n)
{
	unsigned from = STDIN_FILENO + 1;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned)fds[i] > from)
			close_range(from, (unsigned)fds[i] - 1, 0);
		from = (unsigned)fds[i] + 1;
	}
	close_range(from, UINT_MAX, 0);
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Waits until the parent has closed its descriptors: only the last close of a link blocks. */
_Noreturn static void run_child(int *fds, size_t n, int until_closed)
{
	char byte;

	dup2(until_closed, STDIN_FILENO);
	close_others(fds, n);
	TEMP_FAILURE_RETRY(read(STDIN_FILENO, &byte, 1));
	close_all(fds, n);
	_exit(0);
}

/* A grandchild, which init adopts and reaps. */
static void start_child(int *fds, size_t n, const int pipe_fds[2])
{
	pid_t child = fork();

	if (!child) {
		if (fork() != 0)
			_exit(0);
		run_child(fds, n, pipe_fds[0]);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

void closer_run(int *fds, size_t n)
{
	_cleanup_close_ int from = -1, to = -1;
	int pipe_fds[2];

	qsort(fds, n, sizeof(*fds), vec_by_int);
	if (n && pipe2(pipe_fds, O_CLOEXEC) == 0) {
		from = pipe_fds[0];
		to = pipe_fds[1];
		start_child(fds, n, pipe_fds);
	}
	close_all(fds, n);
}
