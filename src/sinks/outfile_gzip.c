// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/outfile_gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/buf.h"

#define GZIP_HEADER 16		/* added to the window's size: a gzip stream */
#define STEP_BYTES (16u << 10)
#define MEMORY_LEVEL 8

struct outfile_gzip {
	z_stream z;
	bool dirty;		/* added since the last flush */
};

struct outfile_gzip *outfile_gzip_new(void)
{
	struct outfile_gzip *z = calloc(1, sizeof(*z));

	if (z && deflateInit2(&z->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_HEADER + MAX_WBITS, MEMORY_LEVEL,
			      Z_DEFAULT_STRATEGY) == Z_OK)
		return z;
	free(z);
	return NULL;
}

void outfile_gzip_free(struct outfile_gzip *z)
{
	if (!z)
		return;
	deflateEnd(&z->z);
	free(z);
}

/* Compresses the input with @how until zlib has no more to give. */
static int step(struct outfile_gzip *z, int how, struct buf *out)
{
	do {
		void *to = buf_reserve(out, STEP_BYTES);

		if (!to)
			return -ENOMEM;
		z->z.next_out = to;
		z->z.avail_out = STEP_BYTES;
		deflate(&z->z, how);
		buf_commit(out, STEP_BYTES - z->z.avail_out);
	} while (!z->z.avail_out);
	return 0;
}

int outfile_gzip_add(struct outfile_gzip *z, const void *data, size_t len, struct buf *out)
{
	z->z.next_in = (void *)data;	/* zlib reads it only */
	z->z.avail_in = (uInt)len;
	z->dirty = true;
	return step(z, Z_NO_FLUSH, out);
}

int outfile_gzip_flush(struct outfile_gzip *z, struct buf *out)
{
	if (!z->dirty)
		return 0;
	z->dirty = false;
	return step(z, Z_SYNC_FLUSH, out);
}

int outfile_gzip_end(struct outfile_gzip *z, struct buf *out)
{
	return step(z, Z_FINISH, out);
}
