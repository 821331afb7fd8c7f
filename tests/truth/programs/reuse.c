// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One process id again and again (clone3 with set_tid), each time another executable file: copies of this one under
 * the names other0, other1... Each generation makes calls that fail, with its number and the number of its file:
 *
 *	lseek(-1000, pid, 0)	lseek(-1001, file, 0)	lseek(-1003, generation, 0)
 *
 * The log has the times around each clone3: the process started between them (CLOCK_BOOTTIME).
 *
 *	reuse FOLDER FILES GENERATIONS CALLS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static pid_t clone_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = pid ? (uintptr_t)&pid : 0, .set_tid_size = pid ? 1 : 0,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void become(const char *folder, long file, long generation, const char *calls)
{
	char path[4096], words[2][24];

	snprintf(path, sizeof(path), "%s/other%ld", folder, file);
	snprintf(words[0], sizeof(words[0]), "%ld", file);
	snprintf(words[1], sizeof(words[1]), "%ld", generation);
	execl(path, path, words[0], words[1], calls, (char *)NULL);
	_exit(127);
}

static int say(char **argv)
{
	const long file = atol(argv[1]), generation = atol(argv[2]);

	for (long i = atol(argv[3]); i > 0; i--) {
		lseek(-1000, getpid(), SEEK_SET);
		lseek(-1001, file, SEEK_SET);
		lseek(-1003, generation, SEEK_SET);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pid_t chosen = 0;
	char path[4096];
	FILE *log;

	if (argc == 4)
		return say(argv);
	if (argc != 5)
		return 2;
	snprintf(path, sizeof(path), "%s/%d", getenv("TRUTH"), getpid());
	log = fopen(path, "we");
	for (long i = 0; i < atol(argv[3]); i++) {
		const long long before = now();
		const pid_t child = clone_as(chosen);
		long long after;
		int status;

		if (!child)
			become(argv[1], i % atol(argv[2]), i, argv[4]);
		after = now();
		if (child < 0 && errno == EEXIST) {	/* the host took the number: another one */
			chosen = 0;
			i--;
			continue;
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			return 1;
		fprintf(log, "{\"generation\": %ld, \"pid\": %d, \"before\": %lld, \"after\": %lld}\n", i, child,
			before, after);
		chosen = child;
	}
	return fclose(log) ? 1 : 0;
}
