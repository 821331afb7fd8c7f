// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forks RATE SECONDS: RATE children a second, each a process that makes one call (getpgid of itself) and exits; every
 * tenth executes /bin/true after it. Prints how many there were.
 */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void child(uint64_t n)
{
	syscall(SYS_getpgid, 0);
	if (n % 10 == 0)
		execl("/bin/true", "true", NULL);
	_exit(0);
}

static void reap(int flags)
{
	while (waitpid(-1, NULL, flags) > 0)
		;
}

int main(int argc, char **argv)
{
	uint64_t rate = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, made = 0, start = now_ns(), gone;
	uint64_t end = argc == 3 ? strtoull(argv[2], NULL, 10) * 1000000000u : 0;

	if (!rate || !end)
		return 2;
	while ((gone = now_ns() - start) < end) {
		if (made >= gone / 1000000 * rate / 1000) {
			usleep(500);
		} else {
			pid_t pid = fork();

			if (pid == 0)
				child(made);
			made += pid > 0;
		}
		reap(WNOHANG);
	}
	reap(0);
	printf("%llu\n", (unsigned long long)made);
	return 0;
}
