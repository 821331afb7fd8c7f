/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files for a process that has dropped its privileges (confine_self()): a worker that keeps the
 * capabilities for files only. It is started beforehand, with a function that decides which files may be opened; it
 * receives a name and returns a descriptor. It can also remove a file that the process created, at the end of a run:
 * the request has no name, since the opener knows the file from its start.
 */
#ifndef WORKER_OPENER_H
#define WORKER_OPENER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct opener;

#define OPENER_NAME_MAX 4095

/*
 * Runs in the opener, with the caller's memory as of opener_start(). Returns a descriptor (owned by the opener) or
 * -errno. @what is the caller's number for a kind of file or directory. @name is untrusted: the caller may have been
 * taken over.
 */
typedef int (*opener_fn)(void *ctx, uint32_t what, const char *name);

struct opener_opts {
	opener_fn open;
	/* Runs in the opener, too: removes the file. 0 or -errno. NULL = no file to remove. */
	int (*remove)(void *ctx);
	int remove_fd;		/* with remove: directory of the file; unlinkat() accepts no other */
	void *ctx;
	const int *fds;		/* descriptors above 2 that the functions use, @remove_fd included */
	size_t n_fds;		/* at most WORKER_FDS_MAX */
};

int opener_start(const struct opener_opts *opts, struct opener **ret, struct err *err);

/*
 * For a worker that asks the opener itself (struct worker_opts, asks): its end of the connection, owned by the caller
 * from now on, and the request over it.
 */
int opener_take_fd(struct opener *o);
int opener_open_at(int fd, uint32_t what, const char *name);

/* Opens a file. A descriptor owned by the caller, close-on-exec, or -errno. Blocks on the file system. */
int opener_open(struct opener *o, uint32_t what, const char *name);

/* Removes the file. 0 or -errno; -EPERM without opener_opts.remove. */
int opener_remove(struct opener *o);

void opener_free(struct opener *o);	/* NULL is fine; the opener exits */

#endif
