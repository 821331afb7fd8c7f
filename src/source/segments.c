// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "sonde/wire.h"
#include "source/source_ops.h"
#include "source/worker_reply.h"
#include "worker/opener.h"

#define ANSWER_BYTES (64u << 10)

/* Runs in the opener. The name may come from a process that was taken over: only segments of this directory. */
static int open_segment(void *ctx, uint32_t kind, const char *number)
{
	static const struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const struct segments *s = ctx;
	char name[STORE_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	struct stat st;
	uint64_t n;

	if (kind >= STORE_KIND__MAX || sscanf(number, "%" SCNu64, &n) != 1)
		return -EINVAL;
	store_dir_name(n, (enum store_kind)kind, name);
	fd = (int)syscall(SYS_openat2, s->dir_fd, name, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int segments_open(struct segments *s, const char *path, const struct store_query *query, struct err *err)
{
	struct opener_opts o = { .open = open_segment, .ctx = s, .n_fds = 1 };
	int r;

	if (query)
		s->query = *query;
	s->dir_fd = store_dir_open(path, err);
	if (s->dir_fd < 0)
		return s->dir_fd;
	r = store_dir_list(s->dir_fd, &s->list);
	if (r < 0)
		return err_errno(err, r, "cannot read the store %s", path);
	if (!s->list.files.len)
		return err_set(err, -ENOENT, "%s is a directory without segments of a store", path);
	o.fds = &s->dir_fd;
	return opener_start(&o, &s->opener, err);
}

void segments_close(struct segments *s)
{
	opener_free(s->opener);
	cleanup_close(&s->dir_fd);
	store_dir_list_fini(&s->list);
}

/* ---- the worker ---- */

struct work {
	const struct segments *segments;
	struct store_reader *reader;	/* owned */
	struct buf out;
	int in_fd, out_fd;
	unsigned refused;	/* segments that could not be read */
	struct err first;	/* why, the first of them */
};

static int on_record(void *ctx, const struct sonde_rec *r)
{
	struct work *w = ctx;

	worker_reply_add_record(&w->out, r);
	return w->out.len >= ANSWER_BYTES ? worker_reply_send(&w->out, w->out_fd) : buf_error(&w->out);
}

/* A segment may be sealed between the listing and now. */
static int open_by_opener(const struct work *w, const struct store_file *f)
{
	char number[24];
	int fd;

	snprintf(number, sizeof(number), "%" PRIu64, f->number);
	fd = opener_open_at(w->in_fd, f->kind, number);
	return fd == -ENOENT && f->kind != STORE_KEPT ? opener_open_at(w->in_fd, f->kind + 1, number) : fd;
}

/* A segment that cannot be read does not end the reading of the others. */
static int read_one(struct work *w, const struct store_file *f)
{
	_cleanup_close_ int fd = open_by_opener(w, f);
	struct err err = { 0 };
	int r;

	if (fd == -ENOENT)	/* removed by the writer's limits */
		return 0;
	r = fd < 0 ? err_errno(&err, fd, "cannot open it") :
		     store_reader_segment(w->reader, fd, on_record, w, &err);
	if (r >= 0 || !err.code)
		return r;
	if (r == -ENODATA && f->kind == STORE_PART)	/* its writer has just begun */
		return 0;
	if (!w->refused++)
		err_set(&w->first, r, "segment %" PRIu64 ": %s", f->number, err.msg);
	return 0;
}

/* ---- a store that grows ---- */

#define PAUSE_US 100000		/* the writer flushes each second */
#define REMOVED_MAX 64		/* segments that limits may remove before their turn */

/* select(): the filter of system calls allows no other way to wait. */
static void pause_reading(void)
{
	struct timeval tv = { .tv_usec = PAUSE_US };

	select(0, NULL, NULL, NULL, &tv);
}

/* Opens segment *@number, or the first one behind it. -ENOENT if there is none yet. */
static int open_next(const struct work *w, uint64_t *number)
{
	int fd = -ENOENT;

	for (uint64_t n = *number; fd == -ENOENT && n < *number + REMOVED_MAX; n++) {
		fd = open_by_opener(w, &(struct store_file){ .number = n, .kind = STORE_PART });
		if (fd == -ENOENT)
			fd = open_by_opener(w, &(struct store_file){ .number = n, .kind = STORE_KEPT });
		if (fd >= 0)
			*number = n;
	}
	return fd;
}

/* Reads up to the end of the segment. Errors of the segment itself end it. */
static int follow_one(struct work *w, int fd)
{
	uint64_t off = 0;
	int r = 0;

	while (r == 0) {
		struct err err = { 0 };

		r = store_reader_follow(w->reader, fd, &off, on_record, w, &err);
		if (r >= 0 && worker_reply_send(&w->out, w->out_fd) < 0)
			return -EPIPE;
		if (r < 0 && err.code)
			return 0;
		if (r == 0)
			pause_reading();
	}
	return MIN(r, 0);
}

/* Does not end: the reader ends with its parent. */
static int follow(struct work *w, uint64_t number)
{
	int r = 0;

	while (r >= 0) {
		_cleanup_close_ int fd = open_next(w, &number);

		if (fd == -ENOENT) {
			pause_reading();
			continue;
		}
		r = fd < 0 ? fd : follow_one(w, fd);
		number++;
	}
	return r;
}

static int damage_error(const struct work *w, struct err *err)
{
	const struct store_report *p = store_reader_report(w->reader);

	if (w->refused)
		return err_set(err, -EBADMSG, "%u of %zu segments could not be read (%s); the others were",
			       w->refused, w->segments->list.files.len, w->first.msg);
	if (!p->damages)
		return 0;
	return err_set(err, -EBADMSG, "%" PRIu64 " bytes in %" PRIu64 " places are unreadable, between %.3f and "
		       "%.3f s of the boot clock; everything else was read", p->damaged_bytes, p->damages,
		       (double)p->from_ns / NS_PER_S, (double)p->to_ns / NS_PER_S);
}

static uint32_t own_format(void)
{
	uint32_t i = 0;

	while (strcmp(all_sources[i]->name, "store") != 0)
		i++;
	return i;
}

static int run(struct work *w, struct err *err)
{
	const struct store_list *l = &w->segments->list;
	size_t n = l->files.len;	/* that are complete */
	int r = store_reader_new(&w->segments->query, &w->reader);

	if (r >= 0)
		r = worker_reply_add_format(&w->out, own_format());
	if (r >= 0)
		r = worker_reply_send(&w->out, w->out_fd);
	if (w->segments->query.follow && l->files.items[n - 1].kind == STORE_PART)
		n--;
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (!w->segments->query.segment || *w->segments->query.segment == l->files.items[i].number)
			r = read_one(w, &l->files.items[i]);
	if (r >= 0 && w->segments->query.follow)
		r = worker_reply_send(&w->out, w->out_fd);
	if (r >= 0 && w->segments->query.follow)
		r = follow(w, n < l->files.len ? l->files.items[n].number : l->files.items[n - 1].number + 1);
	if (r >= 0)
		r = store_reader_end(w->reader, on_record, w);
	return r < 0 ? err_errno(err, r, "cannot read the store") : damage_error(w, err);
}

int segments_work(void *ctx, int in_fd, int out_fd)
{
	struct work w = { .segments = ctx, .in_fd = in_fd, .out_fd = out_fd };
	struct err err = { 0 };
	int r = run(&w, &err);

	worker_reply_add_end(&w.out, r, err.msg);
	r = worker_reply_send(&w.out, w.out_fd);
	store_reader_free(w.reader);
	buf_fini(&w.out);
	return r < 0;
}
