// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output files. Remembers the record boundaries of buffered data: after a partial write, the file is truncated to the
 * last whole record.
 */
#include "sinks/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "sinks/outfile_gzip.h"

#define FLUSH_BYTES (60u << 10)	/* and a record: what an empty pipe takes */
#define STOP_WAIT_MS 1000

struct outfile {
	const char *peer;	/* borrowed */
	int fd;			/* -1 = memory only */
	bool own_fd;
	bool regular, tty, socket;
	size_t pipe_size;	/* bytes that a pipe holds; 0 = no pipe */
	char *name;		/* owned */
	struct buf buf;		/* whole records to be written; in memory mode, all records */
	VEC(size_t) ends;	/* end offset of each record in buf */
	size_t begun;		/* offset of the record that outfile_begin() began */
	uint64_t start;		/* file offset of our first byte */
	uint64_t written;	/* bytes of whole records in the file */
	uint64_t dropped;	/* records */
	uint64_t torn;		/* bytes of a partial record that could not be removed */
	int error;		/* first error, negative errno */
	struct outfile_gzip *gzip; /* owned; NULL = records are written as they are */
	struct buf packed;	/* scratch: a record, compressed */
	outfile_put_fn put;	/* receives the records; NULL = write to fd or keep in memory */
	void *put_ctx;
};

void outfile_free(struct outfile *f)
{
	if (!f)
		return;
	if (f->own_fd)
		close(f->fd);
	buf_fini(&f->buf);
	outfile_gzip_free(f->gzip);
	buf_fini(&f->packed);
	vec_fini(&f->ends);
	free(f->name);
	free(f);
}
DEFINE_CLEANUP(struct outfile *, outfile_free)

static struct outfile *outfile_new(const char *name)
{
	_cleanup_free_ struct outfile *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = -1;
	f->name = strdup(name);
	if (!f->name)
		return NULL;
	return TAKE_PTR(f);
}

/* The standard stream that @path names, or -1. */
static int standard_fd(const char *path)
{
	if (!path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	return !strcmp(path, "/dev/stderr") ? STDERR_FILENO : -1;
}

static int open_standard(struct outfile *f, int fd, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return err_set(err, -errno, "cannot write to %s: it is closed", f->name);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return err_set(err, -EBADF, "cannot write to %s: it is closed or read-only", f->name);
	f->fd = fd;
	return 0;
}

static int open_path(struct outfile *f, const char *path, struct err *err)
{
	f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	if (f->fd >= 0) {
		f->own_fd = true;
		return 0;
	}
	if (errno == ELOOP)
		return err_set(err, -ELOOP, "cannot write %s: it is a symbolic link, and outputs follow none; "
			       "name the file itself", path);
	return err_errno(err, -errno, "cannot write %s", path);
}

/* Standard output may be a file that already has content. */
static int find_start(struct outfile *f, struct err *err)
{
	struct stat st;
	off_t at;

	if (fstat(f->fd, &st) < 0)
		return err_errno(err, -errno, "cannot write %s", f->name);
	f->tty = isatty(f->fd);
	f->regular = S_ISREG(st.st_mode);
	f->socket = S_ISSOCK(st.st_mode);
	f->pipe_size = S_ISFIFO(st.st_mode) ? (size_t)MAX(fcntl(f->fd, F_GETPIPE_SZ), 0) : 0;
	if (!f->regular)
		return 0;
	at = fcntl(f->fd, F_GETFL) & O_APPEND ? st.st_size : lseek(f->fd, 0, SEEK_CUR);
	if (at < 0)
		return err_errno(err, -errno, "cannot write %s", f->name);
	f->start = (uint64_t)at;
	return 0;
}

int outfile_open(const char *path, struct outfile **ret, struct err *err)
{
	int fd = standard_fd(path), r;
	const char *name = fd < 0 ? path : fd == STDOUT_FILENO ? "standard output" : "standard error";
	_cleanup_(outfile_freep) struct outfile *f = outfile_new(name);

	if (!f)
		return err_errno(err, -ENOMEM, "cannot write %s", name);
	r = fd < 0 ? open_path(f, path, err) : open_standard(f, fd, err);
	if (r < 0)
		return r;
	r = find_start(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

int outfile_open_fd(int fd, const char *name, struct outfile **ret, struct err *err)
{
	_cleanup_close_ int owned = fd;
	_cleanup_(outfile_freep) struct outfile *f = outfile_new(name);
	struct stat st;
	int r;

	if (!f)
		return err_errno(err, -ENOMEM, "cannot write %s", name);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return err_set(err, -EINVAL, "cannot write %s: not a file open for writing", name);
	f->fd = TAKE_FD(owned);
	f->own_fd = true;
	if (ftruncate(f->fd, 0) < 0)
		return err_errno(err, -errno, "cannot empty %s", name);
	r = find_start(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

int outfile_open_below(int dir_fd, const char *name)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, .mode = 0600,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int outfile_open_mem(struct outfile **ret)
{
	*ret = outfile_new("memory");
	return *ret ? 0 : -ENOMEM;
}

int outfile_open_name(const char *name, struct outfile **ret)
{
	*ret = outfile_new(name);
	return *ret ? 0 : -ENOMEM;
}

int outfile_use_gzip(struct outfile *f)
{
	if (!f->gzip)
		f->gzip = outfile_gzip_new();
	return f->gzip ? 0 : -ENOMEM;
}

void outfile_count_dropped(struct outfile *f, uint64_t n)
{
	f->dropped += n;
}

int outfile_open_remote(const char *name, outfile_put_fn put, void *ctx, struct outfile **ret)
{
	struct outfile *f = outfile_new(name);

	if (!f)
		return -ENOMEM;
	f->put = put;
	f->put_ctx = ctx;
	*ret = f;
	return 0;
}

bool outfile_is_remote(const struct outfile *f)
{
	return f->put;
}

void outfile_set_peer(struct outfile *f, const char *text)
{
	f->peer = text;
}

const char *outfile_peer(const struct outfile *f)
{
	return f->peer;
}

/*
 * write(2) without SIGPIPE: blocks the signal for the call and clears one raised by it, unless one was pending
 * before. Returns bytes or -errno; -EAGAIN instead of waiting for a socket's peer.
 */
static ssize_t write_quietly(const struct outfile *f, const void *data, size_t len)
{
	static const struct timespec now = { 0 };
	sigset_t pipe_set, before, pending;
	ssize_t n;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	n = f->socket ? send(f->fd, data, len, MSG_DONTWAIT) : write(f->fd, data, len);
	if (n < 0)
		n = -errno;
	/* A pipe whose reader closes during a write accepts a part and raises the signal as well. */
	if (n != (ssize_t)len && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

/* Stop signals are blocked: the caller's loop reads them, which waits for the write. */
static bool stop_waits(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

/* Waits until the reader has made room. -ETIMEDOUT: a stop waits, and the reader took nothing since. */
static int wait_for_reader(const struct outfile *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLOUT };
	bool stopping = false;
	int r;

	while ((r = poll(&p, 1, STOP_WAIT_MS)) == 0) {
		if (stopping)
			return -ETIMEDOUT;
		stopping = stop_waits();
	}
	return r < 0 ? -errno : 0;
}

/*
 * Bytes, of @len, that write() takes without waiting. pipe(7): an empty pipe takes its size, POLLOUT means PIPE_BUF.
 * In between, any two pages in a row hold more than PIPE_BUF; the first may be read but for a byte.
 */
static ssize_t room_for(const struct outfile *f, size_t len)
{
	size_t taken;
	int waiting, r;

	if (!f->pipe_size || ioctl(f->fd, FIONREAD, &waiting) < 0)
		return (ssize_t)len;
	taken = waiting ? 2 * (size_t)waiting + 3 * PIPE_BUF : 0;
	if (taken < f->pipe_size)
		return (ssize_t)MIN(len, f->pipe_size - taken);
	r = wait_for_reader(f);
	return r < 0 ? r : (ssize_t)MIN(len, (size_t)PIPE_BUF);
}

/* Writes everything, or up to the first failure. *ret_done: bytes written. */
static int write_all(const struct outfile *f, const char *data, size_t len, size_t *ret_done)
{
	size_t done = 0;
	ssize_t n = 0;

	while (done < len) {
		n = room_for(f, len - done);
		if (n > 0)
			n = write_quietly(f, data + done, (size_t)n);
		if (n == -EAGAIN)	/* a socket, or another process made our standard output non-blocking */
			n = wait_for_reader(f);
		else if (n == 0)
			n = -EIO;
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && n != -EINTR)
			break;
	}
	*ret_done = done;
	return done == len ? 0 : (int)n;
}

/* Removes the written part of a partial record, unless another process has appended to the file. */
static bool cut_back(const struct outfile *f, uint64_t whole, uint64_t torn)
{
	struct stat st;

	if (!f->regular || fstat(f->fd, &st) < 0 || (uint64_t)st.st_size != f->start + whole + torn)
		return false;
	if (ftruncate(f->fd, (off_t)(f->start + whole)) < 0)
		return false;
	/* Moves the offset back, so that later writes to the same open file (a shell's redirection) leave no hole. */
	lseek(f->fd, (off_t)(f->start + whole), SEEK_SET);
	return true;
}

/* Converts the first @done written bytes of the buffer to whole records and their total size. */
static size_t whole_records(const struct outfile *f, size_t done, size_t *ret_end)
{
	size_t n = 0;

	while (n < f->ends.len && f->ends.items[n] <= done)
		n++;
	*ret_end = n ? f->ends.items[n - 1] : 0;
	return n;
}

/* Appends the bytes that zlib still holds to the last record. */
static void drain(struct outfile *f)
{
	if (f->gzip && !f->error && f->fd >= 0)
		f->error = outfile_gzip_flush(f->gzip, &f->buf);
	if (f->gzip && f->ends.len)
		f->ends.items[f->ends.len - 1] = f->buf.len;
}

int outfile_flush(struct outfile *f)
{
	size_t done, whole, n;
	int r;

	drain(f);
	if (f->error || f->fd < 0 || !f->buf.len)
		return f->error;
	r = write_all(f, f->buf.data, f->buf.len, &done);
	n = whole_records(f, done, &whole);
	if (r < 0) {
		f->error = r;
		f->dropped += f->ends.len - n;
		if (done > whole && !cut_back(f, f->written + whole, done - whole))
			f->torn = done - whole;
	}
	f->written += whole;
	buf_reset(&f->buf);
	f->ends.len = 0;
	return r;
}

struct buf *outfile_begin(struct outfile *f)
{
	f->begun = f->buf.len;
	return &f->buf;
}

void outfile_cancel(struct outfile *f)
{
	f->buf.len = f->begun;
	f->buf.error = 0;	/* of this record; a smaller one may fit */
}

/* Hands the record over and takes it out of the buffer. */
static int put_record(struct outfile *f, size_t n)
{
	const size_t len = f->buf.len - f->begun;
	int r = f->put(f->put_ctx, f->buf.data + f->begun, len, n);

	f->written += r < 0 ? 0 : len;
	outfile_cancel(f);
	return r;
}

/* Replaces the record by its compressed bytes. */
static int pack(struct outfile *f)
{
	int r;

	buf_reset(&f->packed);
	r = outfile_gzip_add(f->gzip, f->buf.data + f->begun, f->buf.len - f->begun, &f->packed);
	f->buf.len = f->begun;
	return r < 0 ? r : buf_add(&f->buf, f->packed.data, f->packed.len);
}

static int end_record(struct outfile *f, size_t n)
{
	int r = f->error ? f->error : buf_error(&f->buf);

	if (r >= 0 && f->buf.len == f->begun)
		return 0;
	if (r >= 0 && f->put)
		return put_record(f, n);
	if (r >= 0 && f->gzip)
		r = pack(f);
	if (r >= 0)
		r = vec_grow(&f->ends);
	if (r < 0) {
		outfile_cancel(f);
		return r;
	}
	if (f->fd < 0)
		return 0;
	f->ends.items[f->ends.len++] = f->buf.len;
	return f->buf.len >= FLUSH_BYTES ? outfile_flush(f) : 0;
}

int outfile_end(struct outfile *f)
{
	return end_record(f, 1);
}

int outfile_batch(struct outfile *f, const void *data, size_t len, size_t n)
{
	buf_add(outfile_begin(f), data, len);
	return end_record(f, n);
}

int outfile_record(struct outfile *f, const void *data, size_t len)
{
	return outfile_batch(f, data, len, 1);
}

/* The end of the compressed stream, as a record of its own. */
static int end_gzip(struct outfile *f)
{
	struct outfile_gzip *z = TAKE_PTR(f->gzip);
	int r = outfile_gzip_end(z, outfile_begin(f));

	outfile_gzip_free(z);
	return r < 0 ? r : outfile_end(f);
}

int outfile_close(struct outfile *f)
{
	int e = f->gzip ? end_gzip(f) : 0, r = outfile_flush(f);

	r = r < 0 ? r : e;

	/* Some file systems report write errors only on close. */
	if (f->own_fd && close(TAKE_FD(f->fd)) < 0 && r == 0)
		r = -errno;
	f->own_fd = false;
	outfile_free(f);
	return r;
}

int outfile_error(const struct outfile *f, struct err *err)
{
	const char *why = f->error == -ETIMEDOUT ? "stopped while its reader takes nothing" : strerror(-f->error);
	unsigned long long whole = f->written;

	if (!f->error)
		return 0;
	if (f->error == -EPIPE)
		return err_set(err, f->error, "cannot write %s: its reader has closed it", f->name);
	if (f->torn)
		return err_set(err, f->error, "cannot write %s: %s; its last record is truncated after %llu bytes, "
			       "after %llu bytes of whole records", f->name, why, (unsigned long long)f->torn, whole);
	return err_set(err, f->error, "cannot write %s: %s; it holds %llu bytes of whole records", f->name, why,
		       whole);
}

uint64_t outfile_dropped(const struct outfile *f)
{
	return f->dropped;
}

bool outfile_is_stdout(const struct outfile *f)
{
	return f->fd == STDOUT_FILENO;
}

bool outfile_is_tty(const struct outfile *f)
{
	return f->tty;
}

uint64_t outfile_bytes(const struct outfile *f)
{
	return f->written + f->buf.len;
}

const char *outfile_name(const struct outfile *f)
{
	return f->name;
}

const void *outfile_mem(const struct outfile *f, size_t *ret_len)
{
	*ret_len = f->buf.len;
	return f->buf.data;
}
