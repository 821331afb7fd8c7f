/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the files that processes map to run could be Go libraries (c-shared, plugin): nearly none, and each is
 * asked once.
 */
#ifndef GORPC_MAPPED_H
#define GORPC_MAPPED_H

#include <stdint.h>

struct gorpc_mapped;
struct sonde_mmap_rec;

struct gorpc_mapped *gorpc_mapped_new(void);	/* NULL without memory */
void gorpc_mapped_free(struct gorpc_mapped *m);	/* NULL is fine */

/*
 * The file of a mapping, when it could be one: a descriptor, -ENOEXEC when it is none, another -errno when it cannot
 * be opened (any more). @proc_fd: of the host's /proc.
 */
int gorpc_mapped_open(struct gorpc_mapped *m, int proc_fd, const struct sonde_mmap_rec *r);
/* It was looked at, and is no library: not again. */
void gorpc_mapped_refuse(struct gorpc_mapped *m, const struct sonde_mmap_rec *r);

#endif
