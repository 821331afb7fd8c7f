/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unix sockets with a path. */
#ifndef BASE_UNIX_SOCKET_H
#define BASE_UNIX_SOCKET_H

#include <sys/types.h>

struct err;

/* Connects a stream; @flags: SOCK_NONBLOCK or 0. The descriptor, or -errno with a message. */
int unix_socket_connect(const char *path, int flags, struct err *err);

/*
 * Binds and listens: the file has @mode from its first moment on, and group @gid (0 = that of the process). The
 * non-blocking descriptor, or -errno with a message: -EADDRINUSE if @path exists, -EPERM if that group is refused.
 */
int unix_socket_listen(const char *path, gid_t gid, mode_t mode, struct err *err);

/* Files that this thread creates lack the bits of @umask_, and have group @gid (0 = its own) if it may set that. */
struct unix_socket_mask { gid_t gid; mode_t umask; };
struct unix_socket_mask unix_socket_mask_set(gid_t gid, mode_t umask_);
void unix_socket_mask_reset(const struct unix_socket_mask *old);

#endif
