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

#define BACKLOG 128
#define UNIX "unix:"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
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

static socklen_t parse_unix(const char *path, union address *ret)
{
	ret->un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!*path || strlen(path) >= sizeof(ret->un.sun_path))
		return 0;
	memcpy(ret->un.sun_path, path, strlen(path));
	return sizeof(ret->un);
}

static socklen_t parse(const char *address, union address *ret)
{
	const char *path = http_listen_path(address);

	return path ? parse_unix(path, ret) : parse_inet(address, ret);
}

bool http_listen_check(const char *address, struct err *err)
{
	union address a;

	if (parse(address, &a))
		return true;
	err_set(err, -EINVAL,
		"%s: expected 127.0.0.1:PORT, [::1]:PORT or the path of a socket; other addresses are "
		"refused",
		address);
	return false;
}

/* Removes the socket of a server that was killed. */
static void remove_stale(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
}

static int bind_unix(int fd, const union address *a, socklen_t len, gid_t gid)
{
	mode_t mask = umask(0177);
	int r;

	remove_stale(a->un.sun_path);
	r = bind(fd, &a->any, len) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	if (gid && (chown(a->un.sun_path, (uid_t)-1, gid) < 0 || chmod(a->un.sun_path, 0660) < 0)) {
		r = -errno;
		unlink(a->un.sun_path);
	}
	return r;
}

int http_listen_open(const char *address, gid_t gid, struct err *err)
{
	union address a;
	socklen_t len = parse(address, &a);
	_cleanup_close_ int fd = -1;
	int one = 1, r;

	if (!http_listen_check(address, err))
		return -EINVAL;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(err, -errno, "cannot create a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	r = a.any.sa_family == AF_UNIX ? bind_unix(fd, &a, len, gid) : bind(fd, &a.any, len) < 0 ? -errno : 0;
	if (r >= 0 && listen(fd, BACKLOG) < 0) {
		r = -errno;
		if (a.any.sa_family == AF_UNIX)
			unlink(a.un.sun_path);
	}
	return r < 0 ? err_errno(err, r, "cannot serve %s", address) : TAKE_FD(fd);
}
