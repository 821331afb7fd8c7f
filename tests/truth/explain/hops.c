// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three processes of one program that speak HTTP/1.1, a thread per connection: a client calls a front, which calls a
 * back. Faults travel in a header, so that the harness knows which calls have one.
 *
 *	hops back
 *	hops front BACK_PORT
 *	hops client FRONT_PORT
 *
 * Servers print "listening PORT" and end with their standard input. The client prints "ready" and reads lines
 *
 *	CALLS GAP_US PART SEED WHERE FAULT AMOUNT
 *
 * and answers each with "done FAULTY": CALLS calls of POST /front/put, one at a time, each GAP_US after the one
 * before; PART in a thousand of them, chosen by SEED, have the fault FAULT with AMOUNT at WHERE (front or back).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES (8u << 20)
#define HEAD_BYTES 1024

static const char *role;
static unsigned back_port;

static void must(int ok, const char *words)
{
	if (ok)
		return;
	perror(words);
	exit(1);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };

	if (us)
		nanosleep(&t, NULL);
}

/* ---- faults ---- */

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, order = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ordered = PTHREAD_COND_INITIALIZER;
static uint64_t hold_us;
static volatile int held;

/* At a request's order, takes the lock and works while holding it. */
static void *keep_stock(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "stock-keeper");
	for (;;) {
		uint64_t us;

		pthread_mutex_lock(&order);
		while (!hold_us)
			pthread_cond_wait(&ordered, &order);
		us = hold_us;
		hold_us = 0;
		pthread_mutex_unlock(&order);
		pthread_mutex_lock(&stock);
		held = 1;
		sleep_us(us);
		pthread_mutex_unlock(&stock);
	}
	return NULL;
}

static void wait_for_stock(uint64_t us)
{
	held = 0;
	pthread_mutex_lock(&order);
	hold_us = us;
	pthread_cond_signal(&ordered);
	pthread_mutex_unlock(&order);
	while (!held)
		sched_yield();
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
}

__attribute__((noinline)) static void price_order(uint64_t us)
{
	volatile uint64_t sum = 0;

	for (uint64_t until = now_us() + us; now_us() < until;)
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
}

static int data_file(void)
{
	static int fd = -1;
	char path[64], *bytes;

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s.data", role);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	bytes = calloc(1, FILE_BYTES);
	must(fd >= 0 && bytes && write(fd, bytes, FILE_BYTES) == FILE_BYTES && fsync(fd) == 0, path);
	free(bytes);
	return fd;
}

/* @n times: 64 KiB and fdatasync(). */
static void journal(uint64_t n)
{
	static char bytes[64 << 10];
	int fd = data_file();

	for (; n; n--)
		must(pwrite(fd, bytes, sizeof(bytes), 0) > 0 && fdatasync(fd) == 0, "journal");
}

/* Touches @n pages of a mapped file that is not in memory. */
static void look_up(uint64_t n)
{
	int fd = data_file();
	volatile unsigned char sum = 0;
	unsigned char *map;

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED, "mmap");
	madvise(map, FILE_BYTES, MADV_RANDOM);
	for (uint64_t i = 0; i < n; i++)
		sum += map[i * 7919 % (FILE_BYTES / 4096) * 4096];
	munmap(map, FILE_BYTES);
}

/* Writes @n MiB to a file, through the page cache. */
static void report(uint64_t n)
{
	static char bytes[1 << 20];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s.report", role);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (; n; n--)
		must(write(fd, bytes, sizeof(bytes)) > 0, "report");
	close(fd);
}

static volatile uint64_t accept_us;

/* After the next connection no other is accepted for @us. */
static void hold_accept(uint64_t us)
{
	accept_us = us;
}

/* Asks for db.shop.test; a question that is not answered within @us is asked again. */
static void resolve(uint64_t us)
{
	static const unsigned char question[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\2db\4shop\4test\0\0\1\0\1";
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval limit = { .tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000) };
	char answer[512];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must(connect(fd, (void *)&to, sizeof(to)) == 0, "connect");
	if (us)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	do
		must(send(fd, question, sizeof(question) - 1, 0) > 0, "send");
	while (recv(fd, answer, sizeof(answer), 0) < 0 && errno == EAGAIN);
	close(fd);
}

static void fault(const char *kind, uint64_t amount)
{
	static const struct { const char *kind; void (*make)(uint64_t); } kinds[] = {
		{ "sleep", sleep_us }, { "lock", wait_for_stock }, { "code", price_order }, { "disk", journal },
		{ "page-fault", look_up }, { "memory", report }, { "dns", resolve }, { "accept", hold_accept },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].kind))
			kinds[i].make(amount);
}

/* ---- HTTP ---- */

struct request {
	char path[64], where[16], kind[16];
	uint64_t amount;
	size_t body;
};

/* One message with its body: 1, or 0 at the end of the stream. */
static int receive(int fd, char *head)
{
	size_t len = 0, left;
	char *end, *length, rest[16384];

	for (;;) {
		ssize_t n = read(fd, head + len, HEAD_BYTES - 1 - len);

		if (n <= 0)
			return 0;
		len += (size_t)n;
		head[len] = '\0';
		end = strstr(head, "\r\n\r\n");
		if (end)
			break;
	}
	length = strstr(head, "Content-Length: ");
	left = length ? strtoul(length + 16, NULL, 10) : 0;
	left -= len - (size_t)(end + 4 - head);
	end[2] = '\0';
	while (left) {
		ssize_t n = read(fd, rest, left < sizeof(rest) ? left : sizeof(rest));

		if (n <= 0)
			return 0;
		left -= (size_t)n;
	}
	return 1;
}

static void send_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		must(n > 0, "write");
		bytes += n;
		len -= (size_t)n;
	}
}

static void message(int fd, const char *first, const struct request *r)
{
	size_t room = HEAD_BYTES + r->body;
	char *text = calloc(1, room);
	int len = snprintf(text, room, "%s\r\nHost: shop\r\nX-Fault: %s %s %llu\r\nContent-Length: %zu\r\n\r\n",
			   first, r->where, r->kind, (unsigned long long)r->amount, r->body);

	send_all(fd, text, (size_t)len + r->body);
	free(text);
}

static int dial(unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	must(connect(fd, (void *)&to, sizeof(to)) == 0, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void call(int fd, const char *path, const struct request *r)
{
	char head[HEAD_BYTES], first[128];

	snprintf(first, sizeof(first), "POST %s HTTP/1.1", path);
	message(fd, first, r);
	must(receive(fd, head), "receive");
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg, back = back_port ? dial(back_port) : -1;
	char head[HEAD_BYTES];

	prctl(PR_SET_NAME, role);
	while (receive(fd, head)) {
		struct request r = { .body = 20 };
		const char *f = strstr(head, "X-Fault: ");

		if (f)
			sscanf(f + 9, "%15s %15s %llu", r.where, r.kind, (unsigned long long *)&r.amount);
		if (!strcmp(r.where, role))
			fault(r.kind, r.amount);
		if (back >= 0) {
			if (!strcmp(r.kind, "big") && !strcmp(r.where, "back"))
				r.body = r.amount;
			call(back, "/back/get", &r);
			r.body = 20;
		}
		message(fd, "HTTP/1.1 200 OK", &r);
	}
	if (back >= 0)
		close(back);
	close(fd);
	return NULL;
}

static void *end_with_input(void *arg)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
	exit(0);
	return arg;
}

static void accept_all(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	pthread_t t;

	must(bind(l, (void *)&at, len) == 0 && listen(l, 8) == 0, "listen");
	getsockname(l, (void *)&at, &len);
	data_file();
	pthread_create(&t, NULL, keep_stock, NULL);
	pthread_create(&t, NULL, end_with_input, NULL);
	printf("listening %u\n", ntohs(at.sin_port));
	fflush(stdout);
	prctl(PR_SET_NAME, role);
	for (;;) {
		int fd = accept(l, NULL, NULL);

		must(fd >= 0, "accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		pthread_create(&t, NULL, serve, (void *)(intptr_t)fd);
		pthread_detach(t);
		sleep_us(accept_us);
		accept_us = 0;
	}
}

/* A call over a new connection that waits until the front accepts again. */
static void call_behind(unsigned port, int fd, uint64_t us)
{
	struct request hold = { .body = 100, .where = "front", .kind = "accept", .amount = us };
	struct request fine = { .body = 100, .where = "none", .kind = "none" };
	int last, other;

	call(fd, "/front/put", &hold);
	last = dial(port);
	sleep_us(1000);
	other = dial(port);
	call(other, "/front/put", &fine);
	close(other);
	close(last);
}

static void run(unsigned port, int fd, const char *line)
{
	struct request faulty = { .body = 100 };
	struct request fine = { .body = 100, .where = "none", .kind = "none" };
	unsigned calls, gap_us, part, seed, n = 0;

	must(sscanf(line, "%u %u %u %u %15s %15s %llu", &calls, &gap_us, &part, &seed, faulty.where, faulty.kind,
		    (unsigned long long *)&faulty.amount) == 7, "line");
	for (unsigned i = 0; i < calls; i++) {
		int is_faulty = (unsigned)rand_r(&seed) / 7 % 1000 < part;

		n += (unsigned)is_faulty;
		if (!strcmp(faulty.kind, "accept") && is_faulty) {
			call_behind(port, fd, faulty.amount);
		} else {
			call(fd, "/front/put", is_faulty ? &faulty : &fine);
		}
		sleep_us(gap_us);
	}
	printf("done %u\n", n);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[256];
	unsigned port;
	int fd;

	role = argv[1];
	port = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (strcmp(role, "client") != 0) {
		back_port = port;
		accept_all();
	}
	fd = dial(port);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		run(port, fd, line);
	return 0;
}
