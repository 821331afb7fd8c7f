// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that knows what it did: how long it ran, in user and kernel mode, how long it slept. Until it reads a
 * line it warms up, so that somebody who watches can be seen to watch; then it works and prints one line:
 *   begin and end (CLOCK_BOOTTIME), CPU time in between, what its job measured; all in ns
 * cpu_work burn|mix|sleep|pair SECONDS [CPU [fifo]]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void turn(unsigned n)
{
	volatile unsigned x = 0;

	for (unsigned i = 0; i < n; i++)
		x += i;
}

static void spin(uint64_t cpu_ns)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		turn(20000);
}

static void pause_ns(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };

	nanosleep(&t, NULL);
}

static void warm_up(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char line[16];

	while (poll(&in, 1, 2) == 0)
		spin(4000000);
	if (read(0, line, sizeof(line)) < 0)
		exit(1);
}

/* 1 to 40, never the same order of a few: a rhythm that goes with that of the samples would bias them. */
static unsigned uneven(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return 1 + state % 40;
}

/* Returns the CPU time in the kernel: asking for the time is itself a call, so it is not asked often. */
static uint64_t mix(uint64_t cpu_ns)
{
	static char page[1 << 20];
	int zero = open("/dev/zero", O_RDONLY);
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + cpu_ns, kernel = 0, t;

	while ((t = now(CLOCK_THREAD_CPUTIME_ID)) < end) {
		for (unsigned i = uneven(); i > 0; i--)
			if (read(zero, page, sizeof(page)) < 0)
				exit(1);
		kernel += now(CLOCK_THREAD_CPUTIME_ID) - t;
		turn(50000 * uneven());
	}
	return kernel;
}

/* Returns the time asleep, in naps of 2 and 20 ms. */
static uint64_t naps(uint64_t wall_ns)
{
	uint64_t end = now(CLOCK_BOOTTIME) + wall_ns, slept = 0, t;

	for (int i = 0; (t = now(CLOCK_BOOTTIME)) < end; i++) {
		pause_ns(i & 1 ? 20000000 : 2000000);
		slept += now(CLOCK_BOOTTIME) - t;
		spin(200000);
	}
	return slept;
}

static void *other(void *arg)
{
	spin(*(uint64_t *)arg);
	return NULL;
}

/* Two threads; returns the other one's id. */
static uint64_t pair(uint64_t cpu_ns)
{
	static uint64_t ns;
	pthread_t t;

	ns = cpu_ns;
	pthread_create(&t, NULL, other, &ns);
	spin(cpu_ns);
	pthread_join(t, NULL);
	return (uint64_t)getpid();
}

int main(int argc, char **argv)
{
	const uint64_t ns = argc > 2 ? (uint64_t)(atof(argv[2]) * 1e9) : 0;
	struct sched_param param = { .sched_priority = 1 };
	uint64_t begin, cpu, told = 0;
	cpu_set_t set;

	if (argc > 3) {
		CPU_ZERO(&set);
		CPU_SET(atoi(argv[3]), &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	warm_up();
	if (argc > 4 && sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		return 1;
	begin = now(CLOCK_BOOTTIME);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	if (!strcmp(argv[1], "burn"))
		spin(ns);
	else if (!strcmp(argv[1], "mix"))
		told = mix(ns);
	else if (!strcmp(argv[1], "sleep"))
		told = naps(ns);
	else
		told = pair(ns);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%llu %llu %llu %llu\n", (unsigned long long)begin, (unsigned long long)now(CLOCK_BOOTTIME),
	       (unsigned long long)cpu, (unsigned long long)told);
	return 0;
}
