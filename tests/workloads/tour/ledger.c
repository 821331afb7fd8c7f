// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A lock convoy: an HTTP server, a thread per connection, whose handlers share one mutex. A thread of its own, the
 * "checkpoint", keeps the mutex while it writes the ledger to the disk, row by row, each synced.
 *
 *	ledger [FILE]	no checkpoint without FILE
 *
 * Prints "listening PORT" and ends with its standard input.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROW_BYTES (64 << 10)
#define ROWS 160
#define PAUSE_MS 150
#define ENTRIES 512u

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static uint64_t entries[ENTRIES];

static void must(int ok, const char *words)
{
	if (ok)
		return;
	perror(words);
	exit(1);
}

static void pause_ms(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

static void *checkpoint(void *path)
{
	static char row[ROW_BYTES];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0, path);
	prctl(PR_SET_NAME, "checkpoint");
	for (;;) {
		pause_ms(PAUSE_MS);
		pthread_mutex_lock(&ledger);
		for (off_t i = 0; i < ROWS; i++)
			must(pwrite(fd, row, sizeof(row), i * ROW_BYTES) > 0 && fdatasync(fd) == 0, "checkpoint");
		pthread_mutex_unlock(&ledger);
	}
	return NULL;
}

static void *serve(void *arg)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	int fd = (int)(intptr_t)arg;
	char request[1024];

	prctl(PR_SET_NAME, "pay-worker");
	while (read(fd, request, sizeof(request)) > 0) {
		pthread_mutex_lock(&ledger);
		for (unsigned i = 0; i < ENTRIES; i++)
			entries[i] += i;
		pthread_mutex_unlock(&ledger);
		if (write(fd, ok, sizeof(ok) - 1) < 0)
			break;
	}
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

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	pthread_t t;

	must(bind(l, (void *)&at, len) == 0 && listen(l, 64) == 0, "listen");
	getsockname(l, (void *)&at, &len);
	if (argc > 1)
		pthread_create(&t, NULL, checkpoint, argv[1]);
	pthread_create(&t, NULL, end_with_input, NULL);
	printf("listening %u\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int fd = accept(l, NULL, NULL);

		must(fd >= 0, "accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		pthread_create(&t, NULL, serve, (void *)(intptr_t)fd);
		pthread_detach(t);
	}
}
