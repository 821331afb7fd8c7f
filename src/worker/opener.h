/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files for a process that gave up its rights (worker_confine_self()): a worker that keeps those over files and
 * nothing else. It is started before, with the function that decides what may be opened; a name goes in, a
 * descriptor comes back. It can also remove one file that the process made, at the end of a run: the request has no
 * name, the opener knows the file from before.
 */
#ifndef WORKER_OPENER_H
#define WORKER_OPENER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct opener;

#define OPENER_NAME_MAX 4095

/*
 * Runs in the opener, with the caller's memory as it was at opener_start(): a descriptor (owned by the opener) or
 * -errno. @what is the caller's own number for a kind of file or folder; @name comes from a process that may be
 * somebody else's by then.
 */
typedef int (*opener_fn)(void *ctx, uint32_t what, const char *name);

struct opener_opts {
	opener_fn open;
	/* Runs in the opener as well: removes the file, 0 or -errno; NULL = no file to remove. */
	int (*remove)(void *ctx);
	int remove_fd;		/* with remove: its folder, the only one that the opener may call unlinkat() with */
	void *ctx;
	const int *fds;		/* descriptors above 2 that the functions need, @remove_fd included */
	size_t n_fds;		/* at most WORKER_FDS_MAX */
};

int opener_start(const struct opener_opts *opts, struct opener **ret, struct err *err);

/* A descriptor, owned by the caller, with close-on-exec; or -errno. Waits for the file system. */
int opener_open(struct opener *o, uint32_t what, const char *name);

/* 0 or -errno; -EPERM if the opener was started without a function for it. */
int opener_remove(struct opener *o);

void opener_free(struct opener *o);	/* NULL is fine; the opener ends */

#endif
