// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client that asks the same at a steady pace, over connections of their own, a thread each:
 *
 *	shop PORT CONNECTIONS CALLS GAP_US REQUEST
 *
 * REQUEST is sent as it is, with \r and \n for those bytes; the answer to each is one read of up to 64 KiB.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static unsigned port, calls;
static long gap_us;
static char request[1024];

static void must(int ok, const char *words)
{
	if (ok)
		return;
	perror(words);
	exit(1);
}

/* \r and \n of the shell's word become bytes. */
static void take_request(const char *word)
{
	size_t len = 0;

	for (; *word && len < sizeof(request) - 1; word++) {
		if (*word == '\\' && (word[1] == 'r' || word[1] == 'n'))
			request[len++] = *++word == 'r' ? '\r' : '\n';
		else
			request[len++] = *word;
	}
}

static void *ask(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timespec gap = { .tv_nsec = gap_us * 1000 };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	char answer[65536];

	must(connect(fd, (void *)&to, sizeof(to)) == 0, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (unsigned i = 0; i < calls; i++) {
		must(write(fd, request, strlen(request)) > 0, "write");
		must(read(fd, answer, sizeof(answer)) > 0, "read");
		nanosleep(&gap, NULL);
	}
	close(fd);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	unsigned n;

	must(argc == 6, "shop PORT CONNECTIONS CALLS GAP_US REQUEST");
	port = (unsigned)atoi(argv[1]);
	n = (unsigned)atoi(argv[2]);
	calls = (unsigned)atoi(argv[3]);
	gap_us = atol(argv[4]);
	take_request(argv[5]);
	must(n <= 64, "at most 64 connections");
	for (unsigned i = 0; i < n; i++)
		must(pthread_create(&threads[i], NULL, ask, NULL) == 0, "thread");
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
