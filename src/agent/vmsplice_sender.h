/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends memory to sockets without a copy, through a pipe. The memory must stay unchanged while the kernel may refer
 * to it (stable memory of ipc/broadcast.h); the peer copies it once when it reads.
 */
#ifndef AGENT_VMSPLICE_SENDER_H
#define AGENT_VMSPLICE_SENDER_H

#include <sys/uio.h>

#define VMSPLICE_SENDER_PIECES 12 /* of 64 KiB: capacity of the pipe */

struct vmsplice_sender *vmsplice_sender_new(void); /* NULL = no pipe; vmsplice_sender_send() accepts it */
void vmsplice_sender_free(struct vmsplice_sender *s); /* NULL is fine */

/*
 * Never blocks if @fd does not. Bytes sent, at least 1; -EAGAIN or another error of the socket; -ENOTSUP: copy them
 * instead.
 */
ssize_t vmsplice_sender_send(struct vmsplice_sender *s, int fd, const struct iovec *iov, int n);

#endif
