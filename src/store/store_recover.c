// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "store/crc32c.h"
#include "base/macros.h"
#include "store/store_dir.h"
#include "store/store_scan.h"

/* Index and foot behind the last whole chunk. */
static int complete(struct store_scan *s)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct sonde_store_foot f = { .magic = SONDE_STORE_FOOT_MAGIC, .index_off = s->end };
	int r = store_index_write(&s->index, &out);

	vec_each(b, &s->index.blocks) {
		if (b->role != SONDE_STORE_DATA || !b->n)
			continue;
		f.t_min = f.n ? MIN(f.t_min, b->t_min) : b->t_min;
		f.t_max = MAX(f.t_max, b->t_max);
		f.n += b->n;
	}
	f.index_len = (uint32_t)out.len;
	f.crc = crc32c(0, &f, offsetof(struct sonde_store_foot, crc));
	if (r >= 0)
		r = buf_add(&out, &f, sizeof(f));
	if (r < 0)
		return r;
	if (ftruncate(s->fd, (off_t)s->end) < 0 || lseek(s->fd, (off_t)s->end, SEEK_SET) < 0)
		return -errno;
	r = io_write_all(s->fd, out.data, out.len);
	if (r < 0 && ftruncate(s->fd, (off_t)s->end) < 0) /* a part of an index is damage */
		return -errno;
	return r < 0 ? r : fsync(s->fd) < 0 ? -errno : 0;
}

int store_recover(int dir_fd, uint64_t number)
{
	char from[STORE_NAME_BYTES], to[STORE_NAME_BYTES];
	_cleanup_(store_scan_fini) struct store_scan s = { 0 };
	_cleanup_close_ int fd = -1;
	int r;

	store_dir_name(number, STORE_PART, from);
	store_dir_name(number, STORE_SEALED, to);
	fd = openat(dir_fd, from, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = store_scan_open(fd, &s, NULL);
	if (r == -ENODATA || (r >= 0 && !s.index.blocks.len && s.end == s.bytes))
		return unlinkat(dir_fd, from, 0) < 0 ? -errno : 0;
	if (r == -EBADMSG || r == -EPROTONOSUPPORT)	/* another program's, or damaged: not ours to change */
		return 0;
	if (r >= 0 && !s.indexed)
		r = complete(&s);
	if (r < 0 && r != -ENOSPC && r != -EDQUOT)	/* without room it is sealed without an index */
		return r;
	return renameat(dir_fd, from, dir_fd, to) < 0 ? -errno : 0;
}
