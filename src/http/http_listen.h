/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening sockets of HTTP servers: loopback addresses and unix sockets only.
 */
#ifndef HTTP_HTTP_LISTEN_H
#define HTTP_HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/*
 * Is @address one of "127.0.0.1:PORT", "[::1]:PORT", "PORT", the absolute path of a socket, or "unix:PATH"?
 * Otherwise a message.
 */
bool http_listen_check(const char *address, struct err *err);

/* The path of the unix socket in @address, or NULL. Borrowed. */
const char *http_listen_path(const char *address);

/*
 * Binds and listens. A unix socket has mode 0600, or 0660 with @gid (0 = none), and replaces a socket of the same
 * name, which the caller removes at the end. A non-blocking descriptor, or -errno with a message.
 */
int http_listen_open(const char *address, gid_t gid, struct err *err);

#endif
