// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP request/response: `tcp_rr server PORT` echoes one byte at a time; `tcp_rr client HOST PORT SECONDS`
 * sends one byte, waits for it, and prints the number of round trips per second. The load of a round trip
 * is all packets and wake-ups, so it shows what watching packets costs.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void no_delay(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static int serve(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int l = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 8)) {
		perror("tcp_rr: cannot listen");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		int c = accept(l, NULL, NULL);
		char byte;

		if (c < 0)
			return 1;
		no_delay(c);
		while (read(c, &byte, 1) == 1 && write(c, &byte, 1) == 1)
			;
		close(c);
	}
}

static int ask(const char *host, uint16_t port, double seconds)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int c = socket(AF_INET, SOCK_STREAM, 0);
	unsigned long n = 0;
	double start, end;
	char byte = 'x';

	if (c < 0 || inet_pton(AF_INET, host, &a.sin_addr) != 1 || connect(c, (struct sockaddr *)&a, sizeof(a))) {
		perror("tcp_rr: cannot connect");
		return 1;
	}
	no_delay(c);
	for (start = end = now_s(); end - start < seconds; end = now_s())
		for (int i = 0; i < 100; i++, n++)
			if (write(c, &byte, 1) != 1 || read(c, &byte, 1) != 1)
				return 1;
	printf("%.0f\n", (double)n / (end - start));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "server"))
		return serve((uint16_t)atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "client"))
		return ask(argv[2], (uint16_t)atoi(argv[3]), atof(argv[4]));
	fputs("usage: tcp_rr server PORT | tcp_rr client HOST PORT SECONDS\n", stderr);
	return 2;
}
