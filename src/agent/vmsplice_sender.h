/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes to sockets without a copy: their pages go through a pipe. For memory that nobody writes to again while the
 * kernel may still hold it (ipc/broadcast.h says which); the other end copies once, when it reads.
 */
#ifndef AGENT_VMSPLICE_SENDER_H
#define AGENT_VMSPLICE_SENDER_H

#include <sys/uio.h>

#define VMSPLICE_SENDER_PIECES 12 /* of 64 KiB: what the pipe takes at once */

struct vmsplice_sender;

struct vmsplice_sender *vmsplice_sender_new(void); /* NULL: no pipe is to be had; vmsplice_sender_send() takes that */
void vmsplice_sender_free(struct vmsplice_sender *s); /* NULL is fine */

/*
 * Never waits; @fd does not block. How many bytes were sent, at least one, or -EAGAIN or another error of the socket.
 * -ENOTSUP: not here, copy them.
 */
ssize_t vmsplice_sender_send(struct vmsplice_sender *s, int fd, const struct iovec *iov, int n);

#endif
