// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends one message, or tries to connect, inside a guest: send udp|tcp|sctp ADDRESS PORT [twice]. IPv4 and IPv6.
 * Being refused is the point, so only a mistake in the arguments or a missing protocol is a failure. Twice: another
 * message when the answer has come.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int open_socket(const char *protocol, int family)
{
	if (!strcmp(protocol, "udp"))
		return socket(family, SOCK_DGRAM, 0);
	if (!strcmp(protocol, "tcp"))
		return socket(family, SOCK_STREAM, 0);
	return socket(family, SOCK_STREAM, IPPROTO_SCTP);
}

/* 0, or -1: refused, or no answer. */
static int converse(int fd, bool twice)
{
	char answer[5];

	for (int i = 0; i <= twice; i++)
		if (send(fd, "probe", 5, MSG_NOSIGNAL) < 0 || (twice && recv(fd, answer, sizeof(answer), 0) < 0))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM };
	const struct timeval limit = { .tv_sec = 2 };
	struct addrinfo *to = NULL;
	int fd, r;

	if (argc < 4 || getaddrinfo(argv[2], argv[3], &hints, &to) != 0) {
		fprintf(stderr, "usage: send udp|tcp|sctp ADDRESS PORT [twice]\n");
		return 2;
	}
	fd = open_socket(argv[1], to->ai_family);
	if (fd < 0) {
		perror(argv[1]);
		freeaddrinfo(to);
		return 1;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = connect(fd, to->ai_addr, to->ai_addrlen);
	if (r == 0)
		r = converse(fd, argc > 4);
	printf("%s to %s port %s: %s\n", argv[1], argv[2], argv[3], r == 0 ? "sent" : strerror(errno));
	usleep(100000);	/* so that the sender still exists when its packet is looked at */
	close(fd);
	freeaddrinfo(to);
	return 0;
}
