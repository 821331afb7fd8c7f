// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"

#define DIGITS 16
#define LOCK_TRIES 5

static const char *const suffixes[] = { [STORE_PART] = ".part", [STORE_SEALED] = ".seg", [STORE_KEPT] = ".keep" };
_Static_assert(ARRAY_SIZE(suffixes) == STORE_KIND__MAX, "a suffix per kind");

void store_dir_name(uint64_t number, enum store_kind kind, char ret[STORE_NAME_BYTES])
{
	snprintf(ret, STORE_NAME_BYTES, "%0*" PRIu64 "%s", DIGITS, number, suffixes[kind]);
}

/* Is @name a segment's? */
static bool parse_name(const char *name, struct store_file *ret)
{
	char digits[DIGITS + 1];

	if (strlen(name) <= DIGITS || strspn(name, "0123456789") != DIGITS)
		return false;
	memcpy(digits, name, DIGITS);
	digits[DIGITS] = '\0';
	for (enum store_kind k = 0; k < STORE_KIND__MAX; k++)
		if (!strcmp(name + DIGITS, suffixes[k])) {
			ret->kind = k;
			return str_to_u64(digits, 10, &ret->number) == 0;
		}
	return false;
}

int store_dir_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? err_errno(err, -errno, "cannot open the store %s", path) : fd;
}

int store_dir_create(const char *path, mode_t mode, struct err *err)
{
	int fd;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_errno(err, -errno, "cannot create the store %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR)
		return err_set(err, -ENOTDIR, "cannot write the store %s: a file or a link has this name; "
			       "a store is a directory", path);
	return err_errno(err, -errno, "cannot write the store %s", path);
}

void store_dir_list_fini(struct store_list *l)
{
	vec_fini(&l->files);
}

static int add_file(int dir_fd, const char *name, struct store_list *l)
{
	struct store_file f;
	struct stat st;

	if (!parse_name(name, &f))
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (vec_grow(&l->files) < 0)
		return -ENOMEM;
	f.bytes = (uint64_t)st.st_size;
	f.changed_ns = st.st_mtim.tv_sec * (int64_t)NS_PER_S + st.st_mtim.tv_nsec;
	l->files.items[l->files.len++] = f;
	return 0;
}

int store_dir_list(int dir_fd, struct store_list *ret)
{
	_cleanup_(closedirp) DIR *d = io_opendir(dir_fd, ".");
	struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	ret->files.len = 0;
	while (r >= 0 && (e = readdir(d)))
		r = add_file(dir_fd, e->d_name, ret);
	vec_sort(&ret->files, vec_by_u64);
	return r < 0 ? r : 0;
}

/* ---- the lock ---- */

static pid_t read_pid(int fd)
{
	char text[16] = { 0 };
	uint32_t pid;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	text[strspn(text, "0123456789")] = '\0';
	return str_to_u32(text, 10, &pid) == 0 ? (pid_t)pid : 0;
}

/* A reader that asks for the writer holds the lock for a moment: store_dir_writer(). */
static int take_lock(int fd)
{
	static const struct timespec pause = { .tv_nsec = 10 * NS_PER_MS };
	int r = flock(fd, LOCK_EX | LOCK_NB);

	for (int i = 0; i < LOCK_TRIES && r < 0 && errno == EWOULDBLOCK; i++) {
		nanosleep(&pause, NULL);
		r = flock(fd, LOCK_EX | LOCK_NB);
	}
	return r;
}

int store_dir_lock(int dir_fd, const char *path, struct err *err)
{
	_cleanup_close_ int fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	char text[16];
	int len;

	if (fd < 0)
		return err_errno(err, -errno, "cannot write the store %s", path);
	if (take_lock(fd) < 0)
		return errno == EWOULDBLOCK ?
			       err_set(err, -EBUSY, "%s is being written by pid %d; it can be read meanwhile (-r %s)",
				       path, (int)read_pid(fd), path) :
			       err_errno(err, -errno, "cannot lock the store %s", path);
	len = snprintf(text, sizeof(text), "%-7d\n", (int)getpid());
	if (pwrite(fd, text, (size_t)len, 0) != len && errno != ENOSPC && errno != EDQUOT)
		return err_errno(err, -errno, "cannot lock the store %s", path);
	return TAKE_FD(fd);
}

pid_t store_dir_writer(int dir_fd)
{
	_cleanup_close_ int fd = openat(dir_fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	return read_pid(fd);
}

/* ---- what leaves ---- */

static int drop(int dir_fd, const struct store_file *f)
{
	char name[STORE_NAME_BYTES];

	store_dir_name(f->number, f->kind, name);
	return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 1;
}

/* The latest segment stays within any size: segments grow a little while they wait for their end. */
static bool is_over(int dir_fd, const struct store_limits *l, uint64_t bytes, const struct store_file *oldest,
		    bool is_latest)
{
	struct timespec now;
	struct statvfs fs;

	clock_gettime(CLOCK_REALTIME, &now);
	if (l->max_bytes && bytes > l->max_bytes && !is_latest)
		return true;
	if (l->max_age_ns &&
	    now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec - oldest->changed_ns > (int64_t)l->max_age_ns)
		return true;
	return l->min_free_pct && fstatvfs(dir_fd, &fs) == 0 && fs.f_blocks &&
	       fs.f_bavail * 100 < (uint64_t)l->min_free_pct * fs.f_blocks;
}

int store_dir_trim(int dir_fd, const struct store_limits *limits, uint64_t coming)
{
	_cleanup_(store_dir_list_fini) struct store_list l = { 0 };
	int r = store_dir_list(dir_fd, &l), n = 0;
	uint64_t bytes = coming;
	size_t latest = 0;

	for (size_t i = 0; r >= 0 && i < l.files.len; i++) {
		bytes += l.files.items[i].bytes;
		latest = l.files.items[i].kind == STORE_SEALED ? i : latest;
	}
	for (size_t i = 0; r >= 0 && i < l.files.len; i++) {
		const struct store_file *f = &l.files.items[i];

		if (f->kind != STORE_SEALED)
			continue;
		if (!is_over(dir_fd, limits, bytes, f, i == latest))
			break;
		r = drop(dir_fd, f);
		bytes -= f->bytes;
		n++;
	}
	return r < 0 ? r : n;
}

int store_dir_drop_oldest(int dir_fd)
{
	_cleanup_(store_dir_list_fini) struct store_list l = { 0 };
	int r = store_dir_list(dir_fd, &l);

	for (size_t i = 0; r >= 0 && i < l.files.len; i++)
		if (l.files.items[i].kind == STORE_SEALED)
			return drop(dir_fd, &l.files.items[i]);
	return r < 0 ? r : 0;
}
