/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening sockets of the agent. They are created with their final rights, and accepting never spins, whatever the
 * clients do.
 */
#ifndef IPC_LISTEN_H
#define IPC_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct listener;
struct loop;

/*
 * Opens the folder of the sockets, mode 0750 of this user and @gid, and creates it if missing; -EPERM if others could
 * write to it. Locks it until listen_sock_dir_close(): -EBUSY while another agent holds the lock.
 */
struct sock_dir;
int listen_sock_dir_open(const char *path, gid_t gid, struct sock_dir **ret, struct err *err);
/* Removes its sockets, and the folder if it was created here. NULL is fine. */
void listen_sock_dir_close(struct sock_dir *d);

/*
 * Creates the listening socket @name in @d: mode 0660 with @gid, or 0600 without (0). Replaces that of an earlier
 * agent, or its own after listen_sock_dir_lost(). The descriptor or -errno.
 */
int listen_sock_dir_listen(struct sock_dir *d, const char *name, gid_t gid, struct err *err);

/* Was the file of one of its sockets removed or replaced? */
bool listen_sock_dir_lost(struct sock_dir *d, const char *name);

/* Descriptor that systemd passed under @name (LISTEN_FDS, LISTEN_FDNAMES), or -ENOENT. */
int listen_passed(const char *name);

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/* Credentials of the peer. 0 or -errno. */
int listen_peer_of(int fd, struct peer *ret);
/* Is the peer of @fd a member of group @gid, primary or supplementary? */
bool listen_peer_in_group(int fd, const struct peer *p, gid_t gid);

/*
 * Calls @fn with each new connection, a non-blocking descriptor that @fn takes over. When descriptors run out, a
 * reserve descriptor serves to refuse the connection, and accepting pauses. Takes over @fd.
 */
int listen_new(struct loop *loop, int fd, void (*fn)(void *ctx, int fd), void *ctx, struct listener **ret);
void listen_free(struct listener *l); /* NULL is fine */
/* Accepts connections from @fd from here on, which is taken over; existing connections stay. */
int listen_replace(struct listener *l, int fd);

#endif
