// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Starts /bin/echo again and again with an argument that a thread changes all the time, in memory that parent and
 * child share. Prints of each child its pid and what echo printed: what the kernel really took.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS 40
#define LEN 400	/* long: copying it takes a while, so it changes meanwhile */

static char *text;

static void *flip(void *arg)
{
	for (unsigned i = 0;; i++)
		memset(text, 'a' + i % 26, LEN);
	return arg;
}

static void run(void)
{
	char out[LEN + 2] = "";
	ssize_t n, len = 0;
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0 || (pid = fork()) < 0)
		exit(1);
	if (pid == 0) {
		dup2(fd[1], 1);
		execl("/bin/echo", "echo", text, NULL);
		_exit(1);
	}
	close(fd[1]);
	while (len < LEN + 1 && (n = read(fd[0], out + len, (size_t)(LEN + 1 - len))) > 0)
		len += n;
	close(fd[0]);
	waitpid(pid, NULL, 0);
	printf("%d %s", pid, out);
}

int main(void)
{
	pthread_t t;

	text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED)
		return 1;
	memset(text, 'a', LEN);
	if (pthread_create(&t, NULL, flip, NULL))
		return 1;
	for (int i = 0; i < RUNS; i++)
		run();
	fflush(stdout);
	_exit(0);
}
