// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Servers of a guest whose sockets are used by others than their makers. `serve` makes them and prints "up"; its
 * child `worker` has connections to port 9011, answers datagrams to 9012 and only reads those to 9013; two processes
 * `member` share port 9014. They run until they are killed.
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TCP, UDP, QUIET, SOCKETS };

static int bound(int type, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, type, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	if (bind(fd, (void *)&a, sizeof(a)) < 0)
		perror("bind");
	return fd;
}

static void answer(int fd)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	char data[100];
	ssize_t n = recvfrom(fd, data, sizeof(data), 0, (void *)&peer, &len);

	if (n > 0)
		sendto(fd, data, (size_t)n, 0, (void *)&peer, len);
}

static void converse(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char data[100];
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		send(fd, data, (size_t)n, MSG_NOSIGNAL);
	close(fd);
}

static void work(const int *sockets)
{
	struct pollfd p[SOCKETS];
	char data[100];

	prctl(PR_SET_NAME, "worker");
	for (int i = 0; i < SOCKETS; i++)
		p[i] = (struct pollfd){ .fd = sockets[i], .events = POLLIN };
	while (poll(p, SOCKETS, -1) > 0) {
		if (p[TCP].revents)
			converse(sockets[TCP]);
		if (p[UDP].revents)
			answer(sockets[UDP]);
		if (p[QUIET].revents)
			recv(sockets[QUIET], data, sizeof(data), 0);
	}
}

static void join(int ready)
{
	int fd;

	prctl(PR_SET_NAME, "member");
	fd = bound(SOCK_DGRAM, 9014);
	if (write(ready, "x", 1) == 1)
		for (;;)
			answer(fd);
}

int main(void)
{
	int sockets[SOCKETS] = { bound(SOCK_STREAM, 9011), bound(SOCK_DGRAM, 9012), bound(SOCK_DGRAM, 9013) };
	int ready[2];
	char byte;

	listen(sockets[TCP], 10);
	if (pipe(ready) < 0)
		return 1;
	if (!fork())
		work(sockets);
	for (int i = 0; i < 2; i++) {
		if (!fork())
			join(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	}
	puts("up");
	fflush(stdout);
	pause();
	return 0;
}
