/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files for a process that gave up its rights (worker_confine_self()): a worker that keeps those over files and
 * nothing else. It is started before, with the function that decides what may be opened; a name goes in, a
 * descriptor comes back.
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

/* @fds: descriptors above 2 that @fn needs, at most WORKER_FDS_MAX. */
int opener_start(opener_fn fn, void *ctx, const int *fds, size_t n_fds, struct opener **ret, struct err *err);

/* A descriptor, owned by the caller, with close-on-exec; or -errno. Waits for the file system. */
int opener_open(struct opener *o, uint32_t what, const char *name);

void opener_free(struct opener *o);	/* NULL is fine; the opener ends */

#endif
