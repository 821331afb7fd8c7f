// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Burns CPU below stacks of a known shape, for ever: built without frame pointers, dynamic, static and stripped.
 *
 * unwind_stacks flat | deep FRAMES | sort | signal | realign | thread | exec
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define noinline __attribute__((noinline))

static volatile uint64_t sink;

static noinline void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += (uint64_t)i * i;
}

static noinline void inner(unsigned n)
{
	char buf[100];

	memset(buf, (int)n, sizeof(buf));
	spin(n * 1000 + (unsigned char)buf[n % sizeof(buf)]);
	sink++;	/* behind each call, so that none is a jump */
}

static noinline void outer(unsigned n)
{
	inner(n);
	sink++;
}

static noinline unsigned deep(unsigned n)
{
	unsigned r = 0;

	if (n)
		r = deep(n - 1);
	else
		spin(100000);
	sink++;
	return r + 1;
}

static int compare(const void *a, const void *b)
{
	spin(20);
	return *(const int *)a - *(const int *)b;
}

/* Called back from the C library. */
static noinline void sorted(void)
{
	int v[1000];

	for (size_t i = 0; i < 1000; i++)
		v[i] = rand();
	qsort(v, 1000, sizeof(v[0]), compare);
	sink++;
}

static void on_alarm(int signo)
{
	(void)signo;
	outer(100);
}

/* Below the kernel's signal frame. */
static void interrupted(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (;;)
		outer(1);
}

/* The compiler aligns the stack: the frame is found through what it pushed. */
static noinline void realigned(void)
{
	uint64_t v[8] __attribute__((aligned(64)));

	for (size_t i = 0; i < 8; i++)
		v[i] = sink;
	__asm__ volatile("" : : "r"(v) : "memory");
	outer(100);
	sink += v[3];
}

static void *run_thread(void *arg)
{
	for (;;) {
		outer(100);
		getppid();
	}
	return arg;
}

/* Much memory is a long exec: the kernel gives it back when the new program's is there already. */
static void run_again(char **argv)
{
	const size_t bytes = 64 << 20;
	char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all != MAP_FAILED && madvise(all, bytes, MADV_NOHUGEPAGE) <= 0)
		memset(all, 1, bytes);
	execv(argv[0], argv);
	abort();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "flat";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t t;

	if (!strcmp(what, "signal"))
		interrupted();
	if (!strcmp(what, "exec"))
		run_again(argv);
	if (!strcmp(what, "thread") && pthread_create(&t, NULL, run_thread, NULL) == 0)
		pthread_join(t, NULL);
	for (;;) {
		if (!strcmp(what, "deep"))
			deep(n);
		else if (!strcmp(what, "sort"))
			sorted();
		else if (!strcmp(what, "realign"))
			realigned();
		else
			outer(100);
	}
}
