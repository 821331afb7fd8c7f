/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the benchmarks. A benchmark compares things in interleaved rounds, so that other load on the machine hits
 * all of them, and quotes medians. It prints lines for tests/bench/run:
 *
 *   note <TAB> text
 *   figure <TAB> name <TAB> value <TAB> unit
 *   ratio <TAB> name <TAB> value <TAB> ">=" or "<=" <TAB> bound
 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* CPU time of this thread: what other processes take does not count. */
static inline uint64_t bench_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts @v. */
static inline double bench_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static inline void bench_figure(const char *name, double value, const char *unit)
{
	printf("figure\t%s\t%.2f\t%s\n", name, value, unit);
}

static inline void bench_at_least(const char *name, double value, double bound)
{
	printf("ratio\t%s\t%.2f\t>=\t%.2f\n", name, value, bound);
}

static inline void bench_at_most(const char *name, double value, double bound)
{
	printf("ratio\t%s\t%.2f\t<=\t%.2f\n", name, value, bound);
}

static inline _Noreturn void bench_die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* In a child before exec(): a shell has its background jobs ignore SIGINT. */
static inline void bench_receive_sigint(void)
{
	signal(SIGINT, SIG_DFL);
}

/* Which program @pid is and where it is in the kernel. */
static inline void bench_print_process(pid_t pid)
{
	static const char *const files[] = { "comm", "stack" };
	char path[64], line[256];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
		FILE *f = fopen(path, "re");

		while (f && fgets(line, sizeof(line), f))
			fputs(line, stderr);
		if (f)
			fclose(f);
	}
}

/* Ends a watcher by SIGINT; after 30 s it is named and killed, and the benchmark with it. */
static inline void bench_stop(pid_t pid)
{
	kill(pid, SIGINT);
	for (int i = 0; i < 3000; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		usleep(10000);
	}
	bench_print_process(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	bench_die("a watcher did not end within 30 s of SIGINT");
}

#endif
