// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "base/unix_socket.h"

#define BACKLOG 128
#define UNIX "unix:"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

const char *http_listen_path(const char *address)
{
	if (!strncmp(address, UNIX, strlen(UNIX)))
		return address + strlen(UNIX);
	return *address == '/' ? address : NULL;
}

/* "HOST:PORT", "[HOST]:PORT" or "PORT". */
static socklen_t parse_inet(const char *text, union address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN] = "127.0.0.1";
	uint32_t port;
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (str_to_u32(colon ? colon + 1 : text, 10, &port) < 0 || !port || port > UINT16_MAX || len >= sizeof(host))
		return 0;
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)len, text);
	ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &ret->v4.sin_addr) == 1)
		return ntohl(ret->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? sizeof(ret->v4) : 0;
	if (len < 2 || host[0] != '[' || host[len - 1] != ']')
		return 0;
	host[len - 1] = '\0';
	ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr)
		       ? sizeof(ret->v6)
		       : 0;
}

bool http_listen_check(const char *address, struct err *err)
{
	const char *path = http_listen_path(address);
	union address a;

	if (path ? *path && strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path) : parse_inet(address, &a))
		return true;
	err_set(err, -EINVAL,
		"%s: expected 127.0.0.1:PORT, [::1]:PORT or the path of a socket; other addresses are "
		"refused",
		address);
	return false;
}

/* Replaces the socket of a server that was killed. */
static int listen_unix(const char *path, gid_t gid, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	return unix_socket_listen(path, gid, gid ? 0660 : 0600, err);
}

static int listen_inet(const char *address, const union address *a, socklen_t len, struct err *err)
{
	_cleanup_close_ int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return err_errno(err, -errno, "cannot create a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a->any, len) < 0 || listen(fd, BACKLOG) < 0)
		return err_errno(err, -errno, "cannot serve %s", address);
	return TAKE_FD(fd);
}

int http_listen_open(const char *address, gid_t gid, struct err *err)
{
	const char *path = http_listen_path(address);
	union address a;
	socklen_t len = path ? 0 : parse_inet(address, &a);

	if (!http_listen_check(address, err))
		return -EINVAL;
	return path ? listen_unix(path, gid, err) : listen_inet(address, &a, len, err);
}
