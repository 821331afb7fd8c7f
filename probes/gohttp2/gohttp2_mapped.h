/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executable mappings that may be Go libraries (c-shared, plugin). Nearly none are, and each file is checked once.
 */
#ifndef GOHTTP2_MAPPED_H
#define GOHTTP2_MAPPED_H

struct sonde_mmap_rec;

struct gohttp2_mapped *gohttp2_mapped_new(void);    /* NULL without memory */
void gohttp2_mapped_free(struct gohttp2_mapped *m); /* NULL is fine */

/*
 * Opens the file of a mapping if it may be a Go library: a descriptor, -ENOEXEC if it is not, -errno if it cannot be
 * opened (any more). @proc_fd: the host's /proc.
 */
int gohttp2_mapped_open(struct gohttp2_mapped *m, int proc_fd, const struct sonde_mmap_rec *r);
/* The file was inspected and is not a Go library: do not open it again. */
void gohttp2_mapped_refuse(struct gohttp2_mapped *m, const struct sonde_mmap_rec *r);

#endif
