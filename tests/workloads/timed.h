/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For programs that know where their own time went: parts timed by a clock of the caller's choice, run until SIGTERM
 * (or a number of seconds), then one line of JSON on stdout: {"part": ns, ...}. That line is the truth a profile of
 * the program is held against.
 */
#ifndef TIMED_H
#define TIMED_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

/* An empty statement that the compiler must believe to have an effect: calls before it are no tail calls. */
#define KEEP() __asm__ volatile("" ::: "memory")

struct part {
	const char *name;
	uint64_t ns;
};

static volatile sig_atomic_t timed_end;

static void timed_on_term(int sig)
{
	(void)sig;
	timed_end = 1;
}

static uint64_t timed_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Ends by SIGTERM, or by SIGALRM after argv[1] seconds. */
static void timed_begin(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = timed_on_term };

	sigaction(SIGTERM, &sa, NULL);
	if (argc > 1) {
		struct timespec left = { .tv_sec = atoi(argv[1]) };
		struct itimerspec it = { .it_value = left };
		struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM };
		timer_t timer;

		if (timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0)
			timer_settime(timer, 0, &it, NULL);
	}
	puts("ready");
	fflush(stdout);
}

static int timed_print(const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s\"%s\": %llu", i ? ", " : "{", parts[i].name, (unsigned long long)parts[i].ns);
	puts("}");
	return fflush(stdout) == 0 ? 0 : 1;
}

/* Work that the compiler cannot shorten: about 1 ns a round. */
static inline uint64_t timed_spin(uint64_t x, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* From a tenth of @middle to nearly twice that, in no order: turns of one length could keep step with the samples. */
static inline unsigned int timed_uneven(unsigned int middle)
{
	static uint64_t state = 2463534242u;

	state = timed_spin(state, 1);
	return middle / 10 + (unsigned int)(state % (middle * 9 / 5));
}

#endif
