// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls inside a guest, over each pair of system calls that moves bytes of sockets. A process serves, its parent
 * asks: GET /WAY is answered with 200, GET /WAY/absent with 404, on one connection each. Then two questions of DNS at
 * once.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HTTP_PORT 8081
#define DNS_PORT 53

enum way { WAY_READ, WAY_RECV, WAY_READV, WAY_RECVMSG, WAY_SENDFILE, WAY__MAX };

static const char *const way_names[] = { "read", "recv", "readv", "recvmsg", "sendfile" };

static ssize_t in(enum way way, int fd, char *b, size_t len)
{
	struct iovec v[2] = { { b, len / 2 }, { b + len / 2, len - len / 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	switch (way) {
	case WAY_RECV: return recv(fd, b, len, 0);
	case WAY_READV: return readv(fd, v, 2);
	case WAY_RECVMSG: return recvmsg(fd, &m, 0);
	default: return read(fd, b, len);
	}
}

static ssize_t out(enum way way, int fd, const char *b, size_t len)
{
	struct iovec v[2] = { { (char *)b, 5 }, { (char *)b + 5, len - 5 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	switch (way) {
	case WAY_RECV: return send(fd, b, len, 0);
	case WAY_READV: return writev(fd, v, 2);
	case WAY_RECVMSG: return sendmsg(fd, &m, 0);
	default: return write(fd, b, len);
	}
}

/* Up to the end of the heading. False: the peer is gone. */
static int heading(enum way way, int fd, char *b, size_t size)
{
	size_t have = 0;
	ssize_t n;

	while ((n = in(way, fd, b + have, size - 1 - have)) > 0) {
		have += (size_t)n;
		b[have] = 0;
		if (strstr(b, "\r\n\r\n"))
			return 1;
	}
	return 0;
}

static int body(void)
{
	FILE *f = tmpfile();

	if (!f || fputs("hello", f) < 0 || fflush(f) < 0)
		exit(2);
	return fileno(f);
}

static void serve(enum way way, int fd)
{
	static const char found[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	static const char absent[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
	char b[4096];
	off_t at = 0;

	while (heading(way, fd, b, sizeof(b))) {
		if (strstr(b, "absent "))
			out(way, fd, absent, sizeof(absent) - 1);
		else
			out(way, fd, found, sizeof(found) - (way == WAY_SENDFILE ? 6 : 1));
		if (way == WAY_SENDFILE && !strstr(b, "absent "))
			sendfile(fd, body(), &at, 5);
	}
	close(fd);
}

static void ask(enum way way, int fd)
{
	char b[4096];

	for (int i = 0; i < 2; i++) {
		int n = snprintf(b, sizeof(b), "GET /%s%s HTTP/1.1\r\nHost: here\r\n\r\n", way_names[way],
				 i ? "/absent" : "");

		out(way, fd, b, (size_t)n);
		if (!heading(way, fd, b, sizeof(b)))
			exit(3);
		for (n = 0; !i && !strstr(b, "hello") && n < 5; n += (int)in(way, fd, b, sizeof(b)))
			;
	}
	close(fd);
}

static int opened(int type, int port, int server)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 || (server ? bind(fd, (void *)&a, sizeof(a)) : connect(fd, (void *)&a, sizeof(a))) < 0 ||
	    (server && type == SOCK_STREAM && listen(fd, 8) < 0)) {
		perror("calls");
		exit(4);
	}
	return fd;
}

/* "guest.test", type A and AAAA, in one call of sendmmsg(); both are answered with NXDOMAIN. */
static void dns(int server, int client)
{
	static const char name[] = "\5guest\4test";
	char q[2][29] = { "\0\1\1\0\0\1\0\0\0\0\0", "\0\2\1\0\0\1\0\0\0\0\0" }, b[512];
	struct iovec v[2] = { { q[0], sizeof(q[0]) - 1 }, { q[1], sizeof(q[1]) - 1 } };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = v, .msg_iovlen = 1 } },
				{ .msg_hdr = { .msg_iov = v + 1, .msg_iovlen = 1 } } };
	struct sockaddr_in from;

	for (int i = 0; i < 2; i++) {
		memcpy(q[i] + 12, name, sizeof(name));
		q[i][12 + sizeof(name) + 1] = i ? 28 : 1;
		q[i][12 + sizeof(name) + 3] = 1;
	}
	sendmmsg(client, m, 2, 0);
	for (int i = 0; i < 2; i++) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(server, b, sizeof(b), 0, (void *)&from, &len);

		b[2] = (char)0x81;
		b[3] = (char)0x83;
		sendto(server, b, (size_t)n, 0, (void *)&from, len);
	}
	for (int i = 0; i < 2; i++)
		recv(client, b, sizeof(b), 0);
}

int main(void)
{
	int listener = opened(SOCK_STREAM, HTTP_PORT, 1);

	if (!fork()) {
		for (int way = 0; way < WAY__MAX; way++)
			serve((enum way)way, accept(listener, NULL, NULL));
		return 0;
	}
	for (int way = 0; way < WAY__MAX; way++)
		ask((enum way)way, opened(SOCK_STREAM, HTTP_PORT, 0));
	dns(opened(SOCK_DGRAM, DNS_PORT, 1), opened(SOCK_DGRAM, DNS_PORT, 0));
	return 0;
}
