/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets of the agent: made so that at no moment anybody gets in who may not, and accepted from without ever
 * spinning, whatever the other side does.
 */
#ifndef BUS_LISTEN_H
#define BUS_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct listener;
struct loop;

/*
 * The directory of the sockets, 0750 of this user and @gid, made if it is not there; refused (-EPERM) when others
 * could write to it. Holds a lock on it until listen_sock_dir_close(): -EBUSY while another agent has it.
 */
struct sock_dir;
int listen_sock_dir_open(const char *path, gid_t gid, struct sock_dir **ret, struct err *err);
/* Removes its sockets, and itself when it was made here. NULL is fine. */
void listen_sock_dir_close(struct sock_dir *d);

/*
 * A listening socket @name in @d: mode 0660 with @gid, or 0600 without (0). What an earlier agent left there is
 * replaced; may be called again after listen_sock_dir_lost(). The descriptor or -errno.
 */
int listen_sock_dir_listen(struct sock_dir *d, const char *name, gid_t gid, struct err *err);

/* Was the file of a socket that was made here removed or replaced? */
bool listen_sock_dir_lost(struct sock_dir *d, const char *name);

/* The descriptor that systemd passed under @name (LISTEN_FDS, LISTEN_FDNAMES), or -ENOENT. */
int listen_passed(const char *name);

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/* Who is at the other end. 0 or -errno. */
int listen_peer_of(int fd, struct peer *ret);
/* Is the peer of @fd in group @gid, by its primary or any other group? */
bool listen_peer_in_group(int fd, const struct peer *p, gid_t gid);

/*
 * Calls @fn with each new connection (non-blocking; taken over by @fn). When descriptors run out one that is kept
 * in reserve lets the connection be refused, and accepting pauses for a while. @fd is taken over.
 */
int listen_new(struct loop *loop, int fd, void (*fn)(void *ctx, int fd), void *ctx, struct listener **ret);
void listen_free(struct listener *l); /* NULL is fine */
/* From here on connections come from @fd, which is taken over; what was accepted stays. */
int listen_replace(struct listener *l, int fd);

#endif
