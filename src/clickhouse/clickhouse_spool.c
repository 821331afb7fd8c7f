// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "clickhouse/clickhouse_sync.h"

#define RUN_DIGITS 16  /* of a folder, hexadecimal */
#define FILE_DIGITS 12 /* of a file, decimal */
#define NAME_BYTES 32
#define SUFFIX ".block"
#define PART_SUFFIX ".part"
#define FILE_MAX (64u << 20)

struct clickhouse_spool {
	int parent_fd, fd;	       /* owned; fd has the lock */
	struct clickhouse_sync *syncs; /* owned; NULL = nothing was synced yet */
	char name[RUN_DIGITS + 1];
};

static void run_name(uint64_t run, char ret[RUN_DIGITS + 1])
{
	snprintf(ret, RUN_DIGITS + 1, "%016" PRIx64, run);
}

static void file_name(uint64_t number, const char *suffix, char ret[NAME_BYTES])
{
	snprintf(ret, NAME_BYTES, "%0*" PRIu64 "%s", FILE_DIGITS, number % (uint64_t)1000000000000, suffix);
}

static void spool_free(struct clickhouse_spool *s)
{
	clickhouse_sync_free(s->syncs);
	if (s->fd >= 0)
		close(s->fd);
	if (s->parent_fd >= 0)
		close(s->parent_fd);
	free(s);
}
DEFINE_CLEANUP(struct clickhouse_spool *, spool_free)

static struct clickhouse_spool *spool_new(const char *dir)
{
	struct clickhouse_spool *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = -1;
	s->parent_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s;
}

/*
 * Between the making and the locking of a folder, another process could take it over and remove it: both happen under
 * the lock of the directory, and so does the search for folders without a lock. 0 or -errno.
 */
static int lock_parent(const struct clickhouse_spool *s)
{
	int r = TEMP_FAILURE_RETRY(flock(s->parent_fd, LOCK_EX));

	return r < 0 ? -errno : 0;
}

static void unlock_parent(const struct clickhouse_spool *s)
{
	flock(s->parent_fd, LOCK_UN);
}

/* 0, -EWOULDBLOCK if another process has it, -errno. */
static int open_folder(struct clickhouse_spool *s)
{
	s->fd = openat(s->parent_fd, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	return flock(s->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

static int make_folder(struct clickhouse_spool *s)
{
	int r = lock_parent(s);

	if (r >= 0 && mkdirat(s->parent_fd, s->name, 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (r >= 0)
		r = open_folder(s);
	unlock_parent(s);
	return r;
}

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int clickhouse_spool_open(const char *dir, uint64_t run, struct clickhouse_spool **ret, struct err *err)
{
	_cleanup_(spool_freep) struct clickhouse_spool *s = NULL;
	int r;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_errno(err, -errno, "cannot create the spool %s", dir);
	s = spool_new(dir);
	if (!s || s->parent_fd < 0)
		return err_errno(err, s ? -errno : -ENOMEM, "cannot open the spool %s", dir);
	if (!is_ours(s->parent_fd))
		return err_set(err, -EPERM, "the spool %s must belong to this user and be writable by it alone", dir);
	run_name(run, s->name);
	r = make_folder(s);
	if (r < 0)
		return err_errno(err, r, "cannot write the spool %s", dir);
	*ret = TAKE_PTR(s);
	return 0;
}

static bool parse_number(const char *name, unsigned digits, int base, const char *suffix, uint64_t *ret)
{
	char text[24];

	if (strspn(name, "0123456789abcdef") != digits || strcmp(name + digits, suffix) != 0)
		return false;
	memcpy(text, name, digits);
	text[digits] = '\0';
	return str_to_u64(text, base, ret) == 0;
}

/* The lowest number of a folder above @after; false if there is none. */
static bool find_folder(int parent_fd, uint64_t after, uint64_t *ret)
{
	const int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool found = false;
	uint64_t n;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		if (!parse_number(e->d_name, RUN_DIGITS, 16, "", &n) || n <= after || (found && n >= *ret))
			continue;
		*ret = n;
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

/* The next folder without a lock, open and locked. False if there is none. */
static bool take_folder(struct clickhouse_spool *s, uint64_t *after)
{
	while (find_folder(s->parent_fd, *after, after)) {
		run_name(*after, s->name);
		if (open_folder(s) >= 0)
			return true;
		if (s->fd >= 0)
			close(TAKE_FD(s->fd));
	}
	return false;
}

int clickhouse_spool_adopt(const char *dir, uint64_t *after, struct clickhouse_spool **ret)
{
	_cleanup_(spool_freep) struct clickhouse_spool *s = spool_new(dir);
	bool found;
	int r;

	if (!s || s->parent_fd < 0)
		return s ? -errno : -ENOMEM;
	r = lock_parent(s);
	if (r < 0)
		return r;
	found = take_folder(s, after);
	unlock_parent(s);
	if (found)
		*ret = TAKE_PTR(s);
	return found;
}

void clickhouse_spool_close(struct clickhouse_spool *s)
{
	if (!s)
		return;
	unlinkat(s->parent_fd, s->name, AT_REMOVEDIR); /* fails if blocks are left */
	spool_free(s);
}

/* To the disk, by a thread; without one, or with much to do for it, at once. 0 or -errno. */
static int sync_file(struct clickhouse_spool *s, int *fd)
{
	if (!s->syncs)
		clickhouse_sync_new(s->fd, &s->syncs);
	if (s->syncs && clickhouse_sync_add(s->syncs, *fd) == 0) {
		*fd = -1;
		return 0;
	}
	return fdatasync(*fd) < 0 || fsync(s->fd) < 0 ? -errno : 0;
}

int clickhouse_spool_put(struct clickhouse_spool *s, uint64_t number, const void *data, size_t len, bool sync)
{
	char part[NAME_BYTES], name[NAME_BYTES];
	_cleanup_close_ int fd = -1;
	int r;

	file_name(number, PART_SUFFIX, part);
	file_name(number, SUFFIX, name);
	fd = openat(s->fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, data, len);
	if (r >= 0 && renameat(s->fd, part, s->fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(s->fd, part, 0);
	if (r < 0 || !sync)
		return r;
	r = sync_file(s, &fd);
	if (r < 0)
		unlinkat(s->fd, name, 0);
	return r;
}

int clickhouse_spool_get(const struct clickhouse_spool *s, uint64_t number, struct buf *ret)
{
	char name[NAME_BYTES];
	_cleanup_close_ int fd = -1;

	file_name(number, SUFFIX, name);
	fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buf_reset(ret);
	return io_read_to_end(fd, FILE_MAX, ret);
}

void clickhouse_spool_remove(struct clickhouse_spool *s, uint64_t number)
{
	char name[NAME_BYTES];

	file_name(number, SUFFIX, name);
	unlinkat(s->fd, name, 0);
}

static int by_number(const void *a, const void *b)
{
	const struct clickhouse_spool_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int add_file(const struct clickhouse_spool *s, const char *name, struct clickhouse_spool_list *ret)
{
	struct clickhouse_spool_file f;
	struct stat st;

	if (parse_number(name, FILE_DIGITS, 10, PART_SUFFIX, &f.number))
		unlinkat(s->fd, name, 0); /* of a process that was killed while it wrote */
	if (!parse_number(name, FILE_DIGITS, 10, SUFFIX, &f.number))
		return 0;
	if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	f.bytes = (uint64_t)st.st_size;
	f.changed_ns = st.st_mtim.tv_sec * (int64_t)NS_PER_S + st.st_mtim.tv_nsec;
	if (vec_grow(&ret->files) < 0)
		return -ENOMEM;
	ret->files.items[ret->files.len++] = f;
	return 0;
}

int clickhouse_spool_list(const struct clickhouse_spool *s, struct clickhouse_spool_list *ret)
{
	const int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r = d ? 0 : -errno;

	if (!d && fd >= 0)
		close(fd);
	while (r >= 0 && (e = readdir(d)))
		r = add_file(s, e->d_name, ret);
	if (d)
		closedir(d);
	if (ret->files.len)
		qsort(ret->files.items, ret->files.len, sizeof(ret->files.items[0]), by_number);
	return r;
}
