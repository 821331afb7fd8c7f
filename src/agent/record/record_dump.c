// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/record/record_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/record/record_opts.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/process/thread.h"
#include "store/store_cut.h"
#include "store/store_dir.h"
#include "store/store_reader.h"

struct record_dump {
	struct record_dump_opts o;
	pthread_t thread;
	atomic_bool done;
	struct err err;
};

static int make_folder(const struct record_dump_opts *o, int dir, struct err *err)
{
	const struct record_process_opts *s = o->store;
	int fd;

	if (mkdirat(dir, o->name, 0700) < 0)
		return err_errno(err, -errno, "cannot create the dump %s/%s", s->dir, o->name);
	fd = openat(dir, o->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && s->mode != 0600 && (fchown(fd, (uid_t)-1, s->group) < 0 || fchmod(fd, 0750) < 0)) {
		close(TAKE_FD(fd));
	}
	return fd < 0 ? err_errno(err, -errno, "cannot write the dump %s/%s", s->dir, o->name) : fd;
}

/* ---- a segment ---- */

/* Where it lies to the begin of the dump. */
enum place { PLACE_BEFORE, PLACE_ACROSS, PLACE_WITHIN, PLACE__MAX };

static enum place place_of(const struct record_dump_opts *o, int fd)
{
	int64_t from_ns, to_ns;

	if (!o->since_ns || store_cut_span(fd, &from_ns, &to_ns) < 0)	/* a damaged one is for its readers */
		return PLACE_WITHIN;
	return to_ns < o->since_ns ? PLACE_BEFORE : from_ns < o->since_ns ? PLACE_ACROSS : PLACE_WITHIN;
}

static int cut(const struct record_dump_opts *o, int fd, int folder, const char *to)
{
	const struct store_query q = {
		.since_ns = o->since_ns, .is_state = o->store->is_state, .ctx = o->store->ctx,
	};
	_cleanup_close_ int out = openat(folder, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const mode_t mode = o->store->mode;
	int r = out < 0 ? -errno : store_cut(fd, out, &q);

	if (r >= 0 && mode != 0600 && (fchown(out, (uid_t)-1, o->store->group) < 0 || fchmod(out, mode) < 0))
		r = -errno;
	if (r >= 0 && fsync(out) < 0)
		r = -errno;
	if (r < 0 && out >= 0)
		unlinkat(folder, to, 0);
	return r;
}

/*
 * The same file under two names, which retention does not remove; a flight recorder has no other use for it: it
 * moves. 1, 0 if nothing of it belongs to the dump, or -errno.
 */
static int take(const struct record_dump_opts *o, int dir, int folder, const struct store_file *f)
{
	char name[STORE_NAME_BYTES], to[STORE_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	enum place place;
	int r = 0;

	store_dir_name(f->number, f->kind, name);
	store_dir_name(f->number, STORE_SEALED, to);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	place = place_of(o, fd);
	if (place == PLACE_ACROSS)
		r = cut(o, fd, folder, to);
	else if (place == PLACE_WITHIN && o->store->keep_ns)
		r = renameat(dir, name, folder, to) < 0 ? -errno : 0;
	else if (place == PLACE_WITHIN)
		r = linkat(dir, name, folder, to, 0) < 0 ? -errno : 0;
	if (r >= 0 && place != PLACE_WITHIN && o->store->keep_ns)
		unlinkat(dir, name, 0);
	return r < 0 ? r : place != PLACE_BEFORE;
}

/* ---- the dump ---- */

static bool belongs(const struct record_dump_opts *o, const struct store_file *f)
{
	return f->kind != STORE_PART && (!o->store->keep_ns || (int64_t)f->number > o->before);
}

static int take_all(const struct record_dump_opts *o, int dir, int folder)
{
	_cleanup_(store_dir_list_fini) struct store_list l = { 0 };
	int r = store_dir_list(dir, &l), n = 0;

	for (size_t i = 0; r >= 0 && i < l.files.len; i++) {
		r = belongs(o, &l.files.items[i]) ? take(o, dir, folder, &l.files.items[i]) : 0;
		n += r > 0;
	}
	if (r >= 0 && fsync(folder) < 0)
		r = -errno;
	if (!n)
		unlinkat(dir, o->name, AT_REMOVEDIR);
	return r < 0 ? r : n ? 0 : -ENODATA;
}

static void make(const struct record_dump_opts *o, struct err *err)
{
	_cleanup_close_ int dir = store_dir_open(o->store->dir, err), folder = -1;
	int r;

	folder = dir < 0 ? dir : make_folder(o, dir, err);
	if (folder < 0)
		return;
	r = take_all(o, dir, folder);
	if (r == -ENODATA)
		err_set(err, r, "nothing of that time reached the disk (is it full?)");
	else if (r < 0)
		err_errno(err, r, "cannot write the dump %s/%s", o->store->dir, o->name);
}

static void *run(void *ctx)
{
	struct record_dump *d = ctx;

	make(&d->o, &d->err);
	atomic_store(&d->done, true);
	return NULL;
}

int record_dump_start(const struct record_dump_opts *o, struct record_dump **ret)
{
	_cleanup_free_ struct record_dump *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->o = *o;
	r = thread_start(&d->thread, run, d);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

bool record_dump_is_done(const struct record_dump *d)
{
	return atomic_load(&d->done);
}

int record_dump_finish(struct record_dump *d, struct err *err)
{
	int r;

	if (!d)
		return 0;
	pthread_join(d->thread, NULL);
	r = d->err.code;
	*err = d->err;
	free(d);
	return r;
}
