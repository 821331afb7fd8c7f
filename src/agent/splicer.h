/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes to sockets without a copy: their pages go through a pipe. For memory that nobody writes to again while the
 * kernel may still hold it (bus/fan.h says which); the other end copies once, when it reads.
 */
#ifndef AGENT_SPLICER_H
#define AGENT_SPLICER_H

#include <sys/uio.h>

#define SPLICER_PIECES 12	/* of 64 KiB: what the pipe takes at once */

struct splicer;

struct splicer *splicer_new(void);	/* NULL: no pipe is to be had; splicer_send() takes that */
void splicer_free(struct splicer *s);	/* NULL is fine */

/*
 * Never waits; @fd does not block. How many bytes were sent, at least one, or -EAGAIN or another error of the socket.
 * -ENOTSUP: not here, copy them.
 */
ssize_t splicer_send(struct splicer *s, int fd, const struct iovec *iov, int n);

#endif
