// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that uses libsonde, for test_libsonde.py.
 *
 *	libsonde_user file PATH           "TID NAME NPARAMS FIRST" of each event, then how it ended
 *	libsonde_user live MS COMM        events of MS milliseconds, with COMM suppressed; then stop, start, totals
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/sonde.h>

static void print_event(const sonde_evt *e)
{
	const char *name = sonde_evt_name(e), *param = sonde_evt_param_name(e, 0);
	uint32_t len = 0, sum = 0;

	for (uint32_t i = 0; i < e->nparams; i++) {
		const uint8_t *p = sonde_evt_param(e, i, &len);

		for (uint32_t k = 0; p && k < len; k++)
			sum += p[k];
	}
	printf("%" PRId64 " %s %" PRIu32 " %s %" PRIu32 "\n", (int64_t)e->tid, name ? name : "?", e->nparams,
	       param ? param : "-", sum);
	if (sonde_evt_param(e, e->nparams, &len))
		abort();
}

static int read_file(const char *path)
{
	char error[SONDE_LASTERR_SIZE];
	int32_t rc;
	sonde_t *h = sonde_open_file(path, error, &rc);
	sonde_evt *e;
	uint16_t cpu;

	if (!h) {
		printf("open: %d: %s\n", rc, error);
		return 1;
	}
	while ((rc = sonde_next(h, &e, &cpu)) == SONDE_SUCCESS || rc == SONDE_TIMEOUT)
		if (rc == SONDE_SUCCESS)
			print_event(e);
	printf("end: %d %s\n", rc, rc == SONDE_EOF ? "" : sonde_getlasterr(h));
	if (sonde_next(h, &e, &cpu) != rc)	/* the end stays the end */
		abort();
	sonde_close(h);
	return 0;
}

struct told {
	unsigned threads;
	int64_t parent;
	char comm[64];
};

static void on_thread(void *context, sonde_t *h, const sonde_threadinfo *t)
{
	struct told *told = context;

	(void)h;
	told->threads++;
	if (t->tid == told->parent)
		snprintf(told->comm, sizeof(told->comm), "%s", t->comm);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Events from @since_ns on, for @ms; of this process none may come. */
static uint64_t take(sonde_t *h, uint64_t ms, uint64_t since_ns)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + ms * 1000000, n = 0;
	sonde_evt *e;
	uint16_t cpu;
	int32_t rc;

	while (now_ns(CLOCK_MONOTONIC) < end) {
		rc = sonde_next(h, &e, &cpu);
		if (rc > 0)
			abort();
		if (rc == SONDE_SUCCESS && (int64_t)e->tid == getpid())
			abort();
		n += rc == SONDE_SUCCESS && e->ts >= since_ns;
	}
	return n;
}

static int watch(uint64_t ms, const char *comm)
{
	const char *const comms[] = { comm, NULL };
	struct told told = { .parent = getppid() };
	const sonde_open_args args = {
		.size = sizeof(args), .proc_callback = on_thread, .proc_callback_context = &told,
		.import_users = true, .ring_bytes = 32 << 20, .suppressed_comms = comms,
	};
	char error[SONDE_LASTERR_SIZE];
	uint64_t running, stopped;
	sonde_stats s;
	int32_t rc;
	sonde_t *h = sonde_open(&args, error, &rc);

	if (!h) {
		printf("open: %d: %s\n", rc, error);
		return 1;
	}
	fprintf(stderr, "ready\n");
	running = take(h, ms, 0);
	sonde_stop_capture(h);
	stopped = take(h, 300, now_ns(CLOCK_REALTIME) + 1000000);	/* what happened before may still come */
	sonde_start_capture(h);
	running += take(h, 300, 0);
	sonde_get_stats(h, &s);
	printf("{\"threads\":%u,\"parent\":\"%s\",\"user\":\"%s\",\"events\":%" PRIu64 ",\"stopped\":%" PRIu64
	       ",\"n_evts\":%" PRIu64 ",\"n_drops\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"n_suppressed\":%" PRIu64
	       ",\"n_tids\":%" PRIu64 "}\n", told.threads, told.comm,
	       sonde_user_name(h, 0) ? sonde_user_name(h, 0) : "", running, stopped, s.n_evts, s.n_drops,
	       s.n_drops_buffer + s.n_drops_pf + s.n_drops_bug + s.n_preemptions, s.n_suppressed,
	       s.n_tids_suppressed);
	sonde_close(h);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "file"))
		return read_file(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "live"))
		return watch(strtoull(argv[2], NULL, 10), argv[3]);
	return 2;
}
