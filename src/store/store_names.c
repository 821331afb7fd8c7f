// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "sonde/store.h"
#include "store/crc32c.h"
#include "store/store_block.h"
#include "store/store_dir.h"
#include "store/store_scan.h"

#define COPY_BYTES (256u << 10)
#define TEMPORARY_BYTES (STORE_NAME_BYTES + 24)

DEFINE_CLEANUP(struct store_block *, store_block_free)

/* The bytes behind the blocks of the segment: blocks of names, index, foot. */
struct tail {
	struct store_scan *s;
	struct store_block *block;
	struct buf *out;
	size_t begin;		/* of the block, in @out */
};

static int end_block(struct tail *t)
{
	struct store_block_sum sum;
	int r = store_block_chunk(t->block, true, t->out);

	store_block_sum(t->block, &sum);
	return r < 0 ? r : store_index_add(&t->s->index, t->s->foot.index_off + t->begin, SONDE_STORE_NAMES, &sum,
					   NULL);
}

static int add_record(struct tail *t, const struct sonde_rec *r)
{
	int ret;

	if (!store_block_is_open(t->block)) {
		t->begin = t->out->len;
		store_block_begin(t->block, SONDE_STORE_NAMES);
	}
	ret = store_block_add(t->block, r);
	if (ret >= 0 && store_block_is_full(t->block))
		return end_block(t);
	return ret >= 0 && store_block_chunk_is_full(t->block) ? store_block_chunk(t->block, false, t->out) : ret;
}

static int add_index(struct tail *t)
{
	struct sonde_store_foot f = t->s->foot;
	const size_t at = t->out->len;
	int r = store_index_write(&t->s->index, t->out);

	f.index_off += at;
	f.index_len = (uint32_t)(t->out->len - at);
	f.crc = crc32c(0, &f, offsetof(struct sonde_store_foot, crc));
	return r < 0 ? r : buf_add(t->out, &f, sizeof(f));
}

static int make_tail(struct store_scan *s, const struct buf *records, struct buf *out)
{
	_cleanup_(store_block_freep) struct store_block *block = NULL;
	struct tail t = { .s = s, .out = out };
	int r = store_block_new(&block);

	t.block = block;
	for (size_t at = 0; r >= 0 && at < records->len;) {
		const struct sonde_rec *rec = (const void *)(records->data + at);

		r = add_record(&t, rec);
		at += ROUND_UP(rec->len, (uint32_t)SONDE_STORE_ALIGN);
	}
	if (r >= 0 && store_block_is_open(block))
		r = end_block(&t);
	return r < 0 ? r : add_index(&t);
}

static int copy(int from_fd, int to_fd, uint64_t len)
{
	_cleanup_free_ void *data = malloc(COPY_BYTES);
	int r = data ? 0 : -ENOMEM;

	for (uint64_t at = 0; r >= 0 && at < len;) {
		const size_t n = MIN(len - at, (uint64_t)COPY_BYTES);

		r = io_read_at(from_fd, data, n, at);
		if (r >= 0)
			r = io_write_all(to_fd, data, n);
		at += n;
	}
	return r;
}

/* Retention goes by the time of the last change, readers by owner and mode: they stay. */
static int look_like(int fd, const struct stat *st)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };

	return fchown(fd, st->st_uid, st->st_gid) < 0 || fchmod(fd, st->st_mode & 07777) < 0 ||
	       futimens(fd, times) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Fails if the segment left meanwhile: it does not return from the dead. */
static int exchange(int dir_fd, const char *from, const char *to)
{
	int r = renameat2(dir_fd, from, dir_fd, to, RENAME_EXCHANGE) < 0 ? -errno : 0;

	if (r == -EINVAL || r == -ENOSYS)	/* a file system without it */
		r = renameat(dir_fd, from, dir_fd, to) < 0 ? -errno : 0;
	return r;
}

static int replace(int dir_fd, int fd, const char *name, uint64_t kept, const struct buf *tail)
{
	char temporary[TEMPORARY_BYTES];
	_cleanup_close_ int to = -1;
	struct stat st;
	int r;

	snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
	to = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0 || fstat(fd, &st) < 0)
		return -errno;
	r = copy(fd, to, kept);
	if (r >= 0)
		r = io_write_all(to, tail->data, tail->len);
	if (r >= 0)
		r = look_like(to, &st);
	if (r >= 0)
		r = exchange(dir_fd, temporary, name);
	unlinkat(dir_fd, temporary, 0);
	return r < 0 ? r : fsync(dir_fd) < 0 ? -errno : 0;
}

int store_names_add(int dir_fd, const struct store_file *f, const struct buf *records)
{
	_cleanup_(store_scan_fini) struct store_scan s = { 0 };
	_cleanup_(buf_fini) struct buf tail = { 0 };
	_cleanup_close_ int fd = -1;
	char name[STORE_NAME_BYTES];
	uint64_t kept;
	int r;

	store_dir_name(f->number, f->kind, name);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = store_scan_open(fd, &s, NULL);
	if (r >= 0 && !s.indexed)
		r = -EBADMSG;
	kept = r < 0 ? 0 : s.foot.index_off;
	if (r >= 0)
		r = make_tail(&s, records, &tail);
	return r < 0 ? r : replace(dir_fd, fd, name, kept, &tail);
}
