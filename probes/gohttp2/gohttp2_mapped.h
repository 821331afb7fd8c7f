/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the files that processes map to run could be Go libraries (c-shared, plugin): nearly none, and each is
 * asked once.
 */
#ifndef GOHTTP2_MAPPED_H
#define GOHTTP2_MAPPED_H

#include <stdint.h>

struct gohttp2_mapped;
struct sonde_mmap_rec;

struct gohttp2_mapped *gohttp2_mapped_new(void);    /* NULL without memory */
void gohttp2_mapped_free(struct gohttp2_mapped *m); /* NULL is fine */

/*
 * The file of a mapping, when it could be one: a descriptor, -ENOEXEC when it is none, another -errno when it cannot
 * be opened (any more). @proc_fd: of the host's /proc.
 */
int gohttp2_mapped_open(struct gohttp2_mapped *m, int proc_fd, const struct sonde_mmap_rec *r);
/* It was looked at, and is no library: not again. */
void gohttp2_mapped_refuse(struct gohttp2_mapped *m, const struct sonde_mmap_rec *r);

#endif
