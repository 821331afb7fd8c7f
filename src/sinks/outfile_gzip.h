/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gzip stream for an output file. All functions append compressed bytes to @out: 0 or -ENOMEM.
 */
#ifndef SINKS_OUTFILE_GZIP_H
#define SINKS_OUTFILE_GZIP_H

#include <stddef.h>

struct buf;

struct outfile_gzip *outfile_gzip_new(void);	/* NULL = no memory */
void outfile_gzip_free(struct outfile_gzip *z);	/* NULL is fine */

int outfile_gzip_add(struct outfile_gzip *z, const void *data, size_t len, struct buf *out);
/* All that was added can be read from then on; nothing if that is so already. */
int outfile_gzip_flush(struct outfile_gzip *z, struct buf *out);
int outfile_gzip_end(struct outfile_gzip *z, struct buf *out);

#endif
