// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many clients of an agent in one process, by doc/protocol.md and without the program's own client.
 *
 *   bench_agent_clients SOCKET COUNT fast|slow WORD...	(the words of a subscription)
 *
 * Says "ready" once all streams run. fast: everything is read as it comes; slow: one byte a second of each. A line on
 * standard input ends it: every stream is stopped and read to its end, and one line of JSON tells what was in it.
 * A process of either kind that is stopped (SIGSTOP) is a client that does not read.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "ipc/proto.h"
#include "sonde/wire.h"
#include "tests/bench/programs/bench.h"

#define IN_BYTES (PROTO_FRAME_MAX + (256u << 10))
#define DELAY_SLOT_NS 100000ull
#define DELAY_SLOTS 20000	/* two seconds; the last one takes what is beyond */
#define READY_MS 60000

struct conn {
	int fd;
	char *in;
	size_t begin, end;
	bool ready, ended;
	uint64_t got[SONDE_INSTANCES], told[SONDE_INSTANCES];	/* records that count, those told as lost */
	bool exact;		/* every ledger agrees with them */
	uint64_t wanted;	/* of the last instance, the one asked for: delivered + lost */
	uint64_t lost, lost_elsewhere;
};

static uint64_t delays[DELAY_SLOTS], n_delays;
static uint64_t now_ns;
static bool measures;

static void send_all(int fd, struct buf *b)
{
	if (buf_error(b) || send(fd, b->data, b->len, MSG_NOSIGNAL) != (ssize_t)b->len)
		bench_die("cannot send to the agent");
	buf_fini(b);
}

static void begin(struct conn *c, const char *path, char **words, int n)
{
	const struct proto_hello h = { .major = PROTO_MAJOR };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct buf b = { 0 }, text = { 0 };

	c->in = malloc(IN_BYTES);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (!c->in || c->fd < 0 || connect(c->fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		bench_die("cannot connect to the agent");
	for (int i = 0; i < n; i++)
		buf_printf(&text, "%s%c", words[i], 0);
	proto_put(&b, PROTO_HELLO, &h, sizeof(h), "bench");
	proto_put_words(&b, PROTO_SUBSCRIBE, NULL, 0, &text);
	buf_fini(&text);
	send_all(c->fd, &b);
}

/* ---- in ---- */

static void take_ledger(struct conn *c, const struct proto_frame *f)
{
	struct sonde_ledger_rec l;
	uint64_t lost = 0;

	if (f->len < sizeof(l))
		bench_die("a ledger is too short");
	memcpy(&l, f->data, sizeof(l));
	for (unsigned i = 0; i < SONDE_LOST__MAX; i++)
		lost += l.lost[i];
	c->exact &= l.seen == l.delivered + l.filtered + l.sampled + lost &&
		    c->got[l.hdr.instance % SONDE_INSTANCES] == l.delivered &&
		    c->told[l.hdr.instance % SONDE_INSTANCES] == l.lost[SONDE_LOST_QUEUE];
	if (!l.hdr.instance)
		return;
	c->wanted = l.delivered + lost;
	c->lost = l.lost[SONDE_LOST_QUEUE];
	c->lost_elsewhere = lost - c->lost;
}

static void take_record(struct conn *c, const struct proto_frame *f)
{
	struct sonde_lost_rec lost;
	struct sonde_rec r;

	if (f->len < sizeof(r))
		bench_die("a record is too short");
	memcpy(&r, f->data, sizeof(r));
	if (r.type == SONDE_EV_LEDGER)
		take_ledger(c, f);
	if (r.type == SONDE_EV_LOST && f->len >= sizeof(lost)) {
		memcpy(&lost, f->data, sizeof(lost));
		if (lost.cause == SONDE_LOST_QUEUE)
			c->told[r.instance % SONDE_INSTANCES] += lost.count;
	}
	if (r.type >> 8 == 0 || r.flags & SONDE_RF_UNCOUNTED)
		return;
	c->got[r.instance % SONDE_INSTANCES]++;
	if (measures && r.instance && now_ns > r.ts_ns) {
		uint64_t slot = (now_ns - r.ts_ns) / DELAY_SLOT_NS;

		delays[slot < DELAY_SLOTS ? slot : DELAY_SLOTS - 1]++;
		n_delays++;
	}
}

static void take_frame(struct conn *c, const struct proto_frame *f)
{
	if (f->type == PROTO_ERROR)
		bench_die(f->len > sizeof(struct proto_status) ?
			  (const char *)f->data + sizeof(struct proto_status) : "the agent ended a stream");
	if (f->type == PROTO_RECORD)
		take_record(c, f);
	c->ready |= f->type == PROTO_READY;
	c->ended |= f->type == PROTO_END;
}

static void take_frames(struct conn *c)
{
	struct proto_frame f;
	int n;

	now_ns = clock_boot_ns();
	while ((n = proto_next(c->in + c->begin, c->end - c->begin, PROTO_FRAME_MAX, &f)) > 0) {
		c->begin += (size_t)n;
		take_frame(c, &f);
	}
	if (n < 0)
		bench_die("what came is no frame");
	memmove(c->in, c->in + c->begin, c->end - c->begin);
	c->end -= c->begin;
	c->begin = 0;
}

/* At most @most bytes; what is whole of them is looked at. */
static void take_some(struct conn *c, size_t most)
{
	size_t room = IN_BYTES - c->end;
	ssize_t n = recv(c->fd, c->in + c->end, most < room ? most : room, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		bench_die("the agent went away");
	if (n < 0)
		return;
	c->end += (size_t)n;
	take_frames(c);
}

/* ---- rounds ---- */

static bool all(const struct conn *c, size_t n, bool ended)
{
	for (size_t i = 0; i < n; i++)
		if (!(ended ? c[i].ended : c[i].ready))
			return false;
	return true;
}

/* One round of waiting. True when a line came. */
static bool round_of(int epoll, struct conn *conns, int timeout_ms)
{
	struct epoll_event ev[64];
	int n = epoll_wait(epoll, ev, 64, timeout_ms);
	bool line = false;

	for (int i = 0; i < n; i++) {
		if (ev[i].data.u32 == UINT32_MAX)
			line = true;
		else
			take_some(&conns[ev[i].data.u32], IN_BYTES);
	}
	return line;
}

static void read_slowly(struct conn *conns, size_t n)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	while (poll(&in, 1, 1000) == 0)
		for (size_t i = 0; i < n; i++)
			take_some(&conns[i], 1);
}

static void watch(int epoll, int fd, uint32_t number)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = number };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		bench_die("cannot wait");
}

static double quantile_ms(double q)
{
	uint64_t wanted = (uint64_t)(q * (double)n_delays), sum = 0;
	size_t i = 0;

	while (i < DELAY_SLOTS - 1 && (sum += delays[i]) <= wanted)
		i++;
	return (double)(i * DELAY_SLOT_NS) / 1e6;
}

static void report(const struct conn *conns, size_t n)
{
	uint64_t wanted_least = UINT64_MAX, wanted_most = 0;
	uint64_t exact = 0, lost = 0, elsewhere = 0, got = 0;

	for (size_t i = 0; i < n; i++) {
		exact += conns[i].exact;
		wanted_least = conns[i].wanted < wanted_least ? conns[i].wanted : wanted_least;
		wanted_most = conns[i].wanted > wanted_most ? conns[i].wanted : wanted_most;
		lost += conns[i].lost;
		elsewhere += conns[i].lost_elsewhere;
		for (unsigned k = 1; k < SONDE_INSTANCES; k++)
			got += conns[i].got[k];
	}
	printf("{\"clients\":%zu,\"exact\":%llu,\"wanted_least\":%llu,\"wanted_most\":%llu,"
	       "\"got\":%llu,\"lost\":%llu,\"lost_elsewhere\":%llu,"
	       "\"p50_ms\":%.1f,\"p99_ms\":%.1f}\n", n, (unsigned long long)exact,
	       (unsigned long long)wanted_least, (unsigned long long)wanted_most, (unsigned long long)got,
	       (unsigned long long)lost, (unsigned long long)elsewhere, quantile_ms(0.5), quantile_ms(0.99));
}

static void finish(int epoll, struct conn *conns, size_t n)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, 0, NULL);
	measures = false;
	for (size_t i = 0; i < n; i++) {
		struct buf b = { 0 };

		proto_put(&b, PROTO_STOP, NULL, 0, NULL);
		send_all(conns[i].fd, &b);
	}
	while (!all(conns, n, true))
		round_of(epoll, conns, 1000);
}

int main(int argc, char **argv)
{
	uint64_t n, end_ns = clock_boot_ns() + READY_MS * 1000000ull;
	struct conn *conns;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool slow = argc > 3 && !strcmp(argv[3], "slow");

	if (argc < 5 || str_to_u64(argv[2], 10, &n) < 0 || !n || (!slow && strcmp(argv[3], "fast") != 0))
		bench_die("usage: bench_agent_clients SOCKET COUNT fast|slow WORD...");
	conns = calloc(n, sizeof(*conns));
	for (size_t i = 0; conns && i < n; i++) {
		conns[i].exact = true;
		begin(&conns[i], argv[1], argv + 4, argc - 4);
		watch(epoll, conns[i].fd, (uint32_t)i);
	}
	while (!all(conns, n, false) && clock_boot_ns() < end_ns)
		round_of(epoll, conns, 1000);
	if (!all(conns, n, false))
		bench_die("the agent was not ready");
	puts("ready");
	fflush(stdout);
	measures = true;
	watch(epoll, 0, UINT32_MAX);
	if (slow)
		read_slowly(conns, n);
	else
		while (!round_of(epoll, conns, -1))
			;
	finish(epoll, conns, n);
	report(conns, n);
	return 0;
}
