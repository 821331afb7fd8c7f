// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Input files, in the pipeline's process: opens the input, runs a worker that parses it (source/worker_parser.c) and
 * validates the worker's replies.
 */
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/unix_socket.h"
#include "sonde/wire.h"
#include "source/segments.h"
#include "source/tables.h"
#include "source/worker_reply.h"
#include "worker/opener.h"
#include "worker/worker.h"

#define READ_BYTES (256u << 10)
#define FINISH_NS 2000000000ull	/* for a worker to exit after its last reply */

struct source {
	char *name;			/* owned; for messages */
	struct worker *worker;		/* owned; NULL after its end */
	int fd;				/* owned; its replies. Outlives the worker so that loops see the end */
	const struct source_ops *ops;	/* NULL = unknown */
	struct buf in;			/* pending replies start at in.data + taken */
	size_t taken;			/* a multiple of 8 */
	bool regular;			/* a regular file: the format is known without waiting for a writer */
	int input;			/* owned; of a regular file: its offset is the worker's; -1 = none */
	uint64_t input_bytes;
	bool live;			/* stamp records with their arrival time */
	struct segments segments;	/* of a store */
	struct tables *tables;		/* owned; of a database; NULL = none */
	bool ended;
	int result;			/* once ended: 0 or -errno */
	struct err err;
};

void source_close(struct source *s)
{
	if (!s)
		return;
	worker_kill(s->worker);
	cleanup_close(&s->fd);
	cleanup_close(&s->input);
	segments_close(&s->segments);
	free(s->tables);
	buf_fini(&s->in);
	free(s->name);
	free(s);
}
DEFINE_CLEANUP(struct source *, source_close)

int source_fd(const struct source *s)
{
	return s->fd;
}

const struct source_ops *source_format(const struct source *s)
{
	return s->ops;
}

int source_read_permille(const struct source *s)
{
	off_t at = s->input >= 0 ? lseek(s->input, 0, SEEK_CUR) : -1;

	if (at < 0 || !s->input_bytes)
		return -1;
	return (int)(1000 * MIN((uint64_t)at, s->input_bytes) / s->input_bytes);
}

/*
 * Opens regular files, pipes, sockets and readable devices. O_NONBLOCK: open() must not wait for a FIFO's writer with
 * signals blocked; the worker waits instead.
 */
static int open_input(const char *path, struct source *s, int *ret_fd, struct err *err)
{
	const char *name = s->name;

	_cleanup_close_ int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) :
						     fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	struct stat st;
	int flags;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, -errno, "cannot read %s", name);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (isatty(fd))
		return err_set(err, -EINVAL, "cannot read %s: it is a terminal; name a file or use a pipe", name);
	/* Standard input may be non-blocking too, but the worker needs blocking reads. */
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && flags & O_NONBLOCK)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	s->regular = S_ISREG(st.st_mode);
	s->input_bytes = (uint64_t)st.st_size;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Ends the source with @result, whatever the reason. */
static int end(struct source *s, int result)
{
	worker_kill(TAKE_PTR(s->worker));
	s->ended = true;
	s->result = result;
	if (result < 0)
		err_prefix(&s->err, "%s", s->name);
	return 0;
}

/* The replies ended without ANSWER_END: the worker's exit status is the reason. */
static int end_without_word(struct source *s)
{
	int r = worker_finish(TAKE_PTR(s->worker), FINISH_NS, &s->err);

	if (r >= 0)
		r = err_set(&s->err, -ECHILD, "the worker process ended without a reply (status %d)", r);
	return end(s, r);
}

/* Reads more replies. 1, or 0 if the source has ended (s->ended) or @timeout_ms has passed. */
static int receive(struct source *s, int timeout_ms)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	char *at;
	ssize_t n;
	int r = TEMP_FAILURE_RETRY(poll(&p, 1, timeout_ms));

	if (r == 0)
		return 0;
	buf_consume(&s->in, s->taken);
	s->taken = 0;
	at = buf_reserve(&s->in, READ_BYTES);
	if (!at)
		return end(s, err_errno(&s->err, -ENOMEM, "cannot read"));
	n = read(s->fd, at, READ_BYTES);
	if (n < 0)
		return errno == EINTR ? 1 : end(s, err_errno(&s->err, -errno, "cannot read from the worker process"));
	if (n == 0)
		return end_without_word(s);
	buf_commit(&s->in, (size_t)n);
	return 1;
}

static size_t n_sources(void)
{
	size_t n = 0;

	while (all_sources[n])
		n++;
	return n;
}

/* Takes one reply from the received bytes. 1, or 0 if none is complete or it was the end. */
static int take(struct source *s, struct answer *a)
{
	struct cursor c = cur_init(s->in.data + s->taken, s->in.len - s->taken);
	int r;

	if (s->ended || s->taken == s->in.len)
		return 0;
	r = worker_reply_next(&c, a);
	if (r == 0)
		return 0;
	s->taken = s->in.len - cur_left(&c);
	if (r > 0 && a->kind == ANSWER_END) {
		if (a->code < 0)
			err_set(&s->err, a->code, "%s", a->text);
		return end(s, a->code);
	}
	/* ANSWER_FORMAT comes first, exactly once. */
	if (r < 0 || (a->kind == ANSWER_FORMAT) != !s->ops || (a->kind == ANSWER_FORMAT && a->format >= n_sources()))
		return end(s, err_set(&s->err, -EBADMSG, "invalid reply from the worker process"));
	if (a->kind == ANSWER_FORMAT)
		s->ops = all_sources[a->format];
	return 1;
}

static int report(const struct source *s, struct err *err)
{
	if (err && s->result < 0)
		*err = s->err;
	return s->result;
}

int source_await_format(struct source *s, int timeout_ms, struct err *err)
{
	struct answer a;

	while (s->regular && !s->ops && !s->ended)
		if (!take(s, &a) && !s->ended && !receive(s, timeout_ms) && !s->ended)
			return err_errno(err, -ETIMEDOUT, "cannot read %s", s->name);
	return s->ended && !s->ops ? report(s, err) : 0;
}

static int start_worker(struct source *s, const struct worker_opts *opts, worker_fn fn, void *ctx, int fd,
			struct err *err)
{
	int r = worker_start(opts, fn, ctx, fd, &s->worker, err);

	if (r < 0)
		return r;
	s->fd = fcntl(worker_fd(s->worker), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return s->fd < 0 ? err_errno(err, -errno, "cannot read %s", s->name) : 0;
}

/* Starts a worker for @fd with format @ops (NULL = detect it). */
static int start(struct source *s, int fd, const struct source_ops *ops, struct err *err)
{
	static const struct worker_opts opts = { .name = "sonde-read" };

	return start_worker(s, &opts, source_worker_parser_work, (void *)ops, fd, err);
}

/* The worker has the only descriptor of the opener's socket: the opener ends with it. */
static int start_store(struct source *s, const char *path, const struct store_query *query, struct err *err)
{
	static const struct worker_opts opts = { .name = "sonde-read", .asks = true };
	_cleanup_close_ int fd = -1;
	int r = segments_open(&s->segments, path, query, err);

	if (r < 0)
		return r;
	s->regular = true;
	fd = opener_take_fd(s->segments.opener);
	return start_worker(s, &opts, segments_work, &s->segments, fd, err);
}

#define TABLES_MEMORY_BYTES (1024ull << 20) /* as in http_client.c */

static int start_tables(struct source *s, const char *url, const struct store_query *query, struct err *err)
{
	static const struct worker_opts opts = {
		.name = "sonde-read",
		.memory_bytes = TABLES_MEMORY_BYTES,
		.network = true,
	};
	int r;

	s->tables = calloc(1, sizeof(*s->tables));
	if (!s->tables)
		return err_errno(err, -ENOMEM, "cannot read %s", url);
	r = clickhouse_target_parse(url, &s->tables->target, err);
	if (r < 0)
		return r;
	if (query && query->follow)
		return err_set(err, -EOPNOTSUPP, "%s: --follow waits for stores only", s->name);
	s->tables->since_ns = query ? query->since_ns : 0;
	s->tables->until_ns = query ? query->until_ns : 0;
	s->regular = true;
	return start_worker(s, &opts, tables_work, s->tables, -1, err);
}

int source_open_socket(const char *path, const struct source_ops *ops, struct source **ret, struct err *err)
{
	_cleanup_(source_closep) struct source *s = calloc(1, sizeof(*s));
	_cleanup_close_ int fd = -1;
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot read %s", path);
	s->fd = s->input = s->segments.dir_fd = -1;
	s->live = true;
	s->name = strdup(path);
	if (!s->name)
		return err_errno(err, -ENOMEM, "cannot read %s", path);
	r = fd = unix_socket_connect(path, 0, err);
	if (r >= 0)
		r = start(s, fd, ops, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

int source_open_query(const char *path, const struct store_query *query, struct source **ret, struct err *err)
{
	_cleanup_(source_closep) struct source *s = calloc(1, sizeof(*s));
	_cleanup_close_ int fd = -1;
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot read %s", path);
	s->fd = s->input = s->segments.dir_fd = -1;
	s->name = strdup(strcmp(path, "-") ? path : "standard input");
	if (!s->name)
		return err_errno(err, -ENOMEM, "cannot read %s", path);
	if (clickhouse_target_is_input(path)) {
		r = start_tables(s, path, query, err);
	} else {
		r = open_input(path, s, &fd, err);
		if (r >= 0)
			r = start(s, fd, NULL, err);
		else if (r == -EISDIR)
			r = start_store(s, path, query, err);
		s->input = s->regular && fd >= 0 ? TAKE_FD(fd) : -1;
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

int source_open(const char *path, struct source **ret, struct err *err)
{
	return source_open_query(path, NULL, ret, err);
}

/* @r lies in our own buffer. */
static void stamp(const struct source *s, const struct sonde_rec *r)
{
	size_t at = (size_t)((const char *)r - s->in.data) + offsetof(struct sonde_rec, ts_ns);
	uint64_t now_ns;

	if (!s->live || r->ts_ns)
		return;
	now_ns = clock_boot_ns();
	memcpy(s->in.data + at, &now_ns, sizeof(now_ns));
}

int source_read(struct source *s, unsigned budget, source_fn fn, void *ctx, struct err *err)
{
	struct answer a;
	int n = 0, r;

	while (!budget || (unsigned)n < budget) {
		if (!take(s, &a)) {
			if (s->ended || n || !receive(s, 0))
				break;
			continue;
		}
		if (a.kind != ANSWER_RECORD)
			continue;
		n++;
		stamp(s, a.rec);
		r = fn(ctx, a.rec);
		if (r < 0)
			return r;
	}
	if (n)
		return n;
	return s->ended ? report(s, err) : -EAGAIN;
}
