// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The smallest program on libsonde: counts the events of this host, or of the capture that is named, and says at the
 * end (or when it is interrupted) what the kernel side saw and what got lost. It is libscap's test program with other
 * names.
 *
 *	cc syscalls.c $(pkg-config --cflags --libs libsonde)
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
	(void)signo;
	interrupted = 1;
}

static void print_stats(sonde_t *h, uint64_t n_evts)
{
	sonde_stats s;

	sonde_get_stats(h, &s);
	printf("events captured: %" PRIu64 "\n", n_evts);
	printf("seen by driver: %" PRIu64 "\n", s.n_evts);
	printf("Number of dropped events: %" PRIu64 "\n", s.n_drops);
	printf("Number of dropped events caused by full buffer: %" PRIu64 "\n", s.n_drops_buffer);
	printf("Number of dropped events caused by invalid memory access: %" PRIu64 "\n", s.n_drops_pf);
	printf("Number of dropped events caused by an invalid condition in the kernel instrumentation: %" PRIu64
	       "\n", s.n_drops_bug);
	printf("Number of preemptions: %" PRIu64 "\n", s.n_preemptions);
	printf("Number of events skipped due to the tid being in a set of suppressed tids: %" PRIu64 "\n",
	       s.n_suppressed);
	printf("Number of threads currently being suppressed: %" PRIu64 "\n", s.n_tids_suppressed);
}

int main(int argc, char **argv)
{
	char error[SONDE_LASTERR_SIZE];
	uint64_t n_evts = 0;
	sonde_evt *ev;
	uint16_t cpuid;
	int32_t res;
	sonde_t *h;

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	h = argc > 1 ? sonde_open_file(argv[1], error, &res) : sonde_open_live(error, &res);
	if (!h) {
		fprintf(stderr, "%s (%d)\n", error, res);
		return 1;
	}
	fprintf(stderr, "capturing\n");
	while (!interrupted) {
		res = sonde_next(h, &ev, &cpuid);
		if (res == SONDE_EOF)
			break;
		if (res > 0) {
			fprintf(stderr, "%s\n", sonde_getlasterr(h));
			sonde_close(h);
			return 1;
		}
		if (res != SONDE_TIMEOUT)
			n_evts++;
	}
	print_stats(h, n_evts);
	sonde_close(h);
	return 0;
}
