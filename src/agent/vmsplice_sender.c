// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmsplice(2) and splice(2). The pipe is empty between two calls: the rest that the socket refused goes to /dev/null,
 * which drops the page references.
 */
#include "agent/vmsplice_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PIPE_BYTES (1 << 20)	/* one page per slot, also for partial pages; the limit without privileges */

struct vmsplice_sender {
	int in, out, null;	/* owned; -1 = none */
	bool off;		/* not supported by this kernel */
};

void vmsplice_sender_free(struct vmsplice_sender *s)
{
	if (!s)
		return;
	cleanup_close(&s->in);
	cleanup_close(&s->out);
	cleanup_close(&s->null);
	free(s);
}
DEFINE_CLEANUP(struct vmsplice_sender *, vmsplice_sender_free)

struct vmsplice_sender *vmsplice_sender_new(void)
{
	_cleanup_(vmsplice_sender_freep) struct vmsplice_sender *s = malloc(sizeof(*s));
	int fds[2] = { -1, -1 };

	if (!s)
		return NULL;
	*s = (struct vmsplice_sender){ .in = -1, .out = -1, .null = open("/dev/null", O_WRONLY | O_CLOEXEC) };
	if (s->null < 0 || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return NULL;
	s->out = fds[0];
	s->in = fds[1];
	(void)fcntl(s->in, F_SETPIPE_SZ, PIPE_BYTES);	/* a smaller pipe is slower and still correct */
	return TAKE_PTR(s);
}

/* Empties the pipe. True on success. */
static bool empty(struct vmsplice_sender *s, size_t bytes)
{
	while (bytes) {
		ssize_t n = splice(s->out, NULL, s->null, NULL, bytes, SPLICE_F_NONBLOCK);

		if (n <= 0 && errno != EINTR)
			return false;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

ssize_t vmsplice_sender_send(struct vmsplice_sender *s, int fd, const struct iovec *iov, int n)
{
	ssize_t held = s && !s->off ? vmsplice(s->in, iov, (size_t)n, SPLICE_F_NONBLOCK) : -1, sent = 0;
	int error = 0;

	while (sent < held) {
		ssize_t r = splice(s->out, NULL, fd, NULL, (size_t)(held - sent), SPLICE_F_NONBLOCK);

		if (r <= 0) {
			error = r < 0 ? -errno : -EAGAIN;
			break;
		}
		sent += r;
	}
	if (held > 0 && !empty(s, (size_t)(held - sent)))
		s->off = true;	/* the rest would go to the next client */
	if (sent > 0)
		return sent;
	if (held > 0 && error != -EINVAL && error != -EPERM && error != -ENOSYS)
		return error;
	if (s)
		s->off = true;
	return -ENOTSUP;
}
