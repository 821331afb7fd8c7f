// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP request/response: `tcp_rr server PORT` echoes one byte at a time; `tcp_rr client HOST PORT FILE` sends one
 * byte, waits for it, and so on until it is killed; FILE has the number of round trips, 8 bytes. The load of a round
 * trip is all packets and wake-ups, so it shows what watching packets costs.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* The number in @path, which others can read; NULL = there is none. */
static volatile uint64_t *counter(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	void *at = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(uint64_t)))
		at = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static int ask(const char *host, uint16_t port, const char *path)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int c = socket(AF_INET, SOCK_STREAM, 0);
	volatile uint64_t *n = counter(path);
	char byte = 'x';

	if (c < 0 || !n || inet_pton(AF_INET, host, &a.sin_addr) != 1 ||
	    connect(c, (struct sockaddr *)&a, sizeof(a))) {
		perror("tcp_rr: cannot connect");
		return 1;
	}
	no_delay(c);
	while (write(c, &byte, 1) == 1 && read(c, &byte, 1) == 1)
		++*n;
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "server"))
		return serve((uint16_t)atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "client"))
		return ask(argv[2], (uint16_t)atoi(argv[3]), argv[4]);
	fputs("usage: tcp_rr server PORT | tcp_rr client HOST PORT FILE\n", stderr);
	return 2;
}
