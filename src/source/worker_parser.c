// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The worker's half of a source: an input window, the format's parser, and replies. Its only rights are to read the
 * input and write the replies.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sonde/wire.h"
#include "source/worker_reply.h"
#include "source/inflate.h"
#include "source/source_ops.h"

#define READ_BYTES (256u << 10)
#define ANSWER_BYTES (64u << 10)	/* send at this size, and before waiting for input */
#define WINDOW_MAX_BYTES (64u << 20)	/* limit of one item of a file; a larger one is invalid */
#define MATCH_BYTES 8

struct work {
	int in_fd, out_fd;
	struct buf window;	/* read, not yet consumed */
	struct buf raw;		/* read, not yet decompressed */
	struct inflate *inflate;	/* owned; NULL for uncompressed input */
	bool raw_eof;
	bool eof;
	struct buf out;
};

/* 0 or -errno. If the parent is gone, SIGPIPE ends the worker. */
static int on_record(void *ctx, const struct sonde_rec *r)
{
	struct work *w = ctx;

	if (r->len < sizeof(*r) || r->len > SOURCE_RECORD_MAX_BYTES)
		return -EMSGSIZE;
	worker_reply_add_record(&w->out, r);
	return w->out.len >= ANSWER_BYTES ? worker_reply_send(&w->out, w->out_fd) : buf_error(&w->out);
}

/* Appends up to READ_BYTES of the input to @b; *ret_eof at its end. */
static int read_into(struct work *w, struct buf *b, bool *ret_eof, struct err *err)
{
	char *p = buf_reserve(b, READ_BYTES);
	ssize_t n;

	if (!p)
		return err_errno(err, -ENOMEM, "cannot read");
	n = TEMP_FAILURE_RETRY(read(w->in_fd, p, READ_BYTES));
	if (n < 0)
		return err_errno(err, -errno, "cannot read");
	*ret_eof = n == 0;
	buf_commit(b, (size_t)n);
	return 0;
}

/* Decompresses pending input; reads only if that yields nothing. */
static int read_compressed(struct work *w, struct err *err)
{
	size_t before = w->window.len;
	int r = 0;

	while (r >= 0 && w->window.len == before && !w->eof) {
		r = inflate_feed(w->inflate, &w->raw, &w->window, READ_BYTES, err);
		if (r < 0 || w->window.len > before)
			return r;
		w->eof = w->raw_eof;
		if (!w->raw_eof)
			r = read_into(w, &w->raw, &w->raw_eof, err);
	}
	return r;
}

/* Reads more input into the window. 0 or -errno. */
static int read_more(struct work *w, struct err *err)
{
	int r = worker_reply_send(&w->out, w->out_fd);

	if (r < 0)
		return r;
	if (w->window.len >= WINDOW_MAX_BYTES)
		return err_set(err, -EBADMSG, "an item exceeds %u bytes", WINDOW_MAX_BYTES);
	return w->inflate ? read_compressed(w, err) : read_into(w, &w->window, &w->eof, err);
}

/* Moves the first bytes from the window to the decompressor's input. */
static int start_inflate(struct work *w, struct err *err)
{
	if (!inflate_wants(w->window.data, w->window.len))
		return 0;
	w->inflate = inflate_new(w->window.data, w->window.len);
	if (!w->inflate)
		return err_errno(err, -ENOMEM, "cannot decompress");
	buf_add(&w->raw, w->window.data, w->window.len);
	buf_reset(&w->window);
	w->raw_eof = w->eof;
	w->eof = false;
	return buf_error(&w->raw);
}

static int no_match(const struct work *w, struct err *err)
{
	_cleanup_(buf_fini) struct buf names = { 0 };

	if (!w->window.len)
		return err_set(err, -EPROTONOSUPPORT, "the file is empty");
	for (size_t i = 0; all_sources[i]; i++)
		if (strcmp(all_sources[i]->name, "clickhouse") != 0)	/* a database, no file */
			buf_printf(&names, "%s%s", i ? ", " : "", all_sources[i]->name);
	return err_set(err, -EPROTONOSUPPORT, "unknown file format (known: %s)", buf_str(&names));
}

/* Fills the window to @bytes, or to the end of the input. */
static int fill(struct work *w, size_t bytes, struct err *err)
{
	int r = 0;

	while (r >= 0 && !w->eof && w->window.len < bytes)
		r = read_more(w, err);
	return r;
}

static int find_format(struct work *w, const struct source_ops **ret, struct err *err)
{
	int r = fill(w, MATCH_BYTES, err);

	if (r >= 0)
		r = start_inflate(w, err);
	if (r >= 0)
		r = fill(w, MATCH_BYTES, err);
	for (uint32_t i = 0; r >= 0 && all_sources[i]; i++) {
		const struct source_ops *ops = all_sources[i];

		if (ops->match_bytes)
			r = fill(w, ops->match_bytes(w->window.data, w->window.len), err);
		if (r < 0 || !ops->match(w->window.data, w->window.len))
			continue;
		*ret = ops;
		return worker_reply_add_format(&w->out, i);
	}
	return r < 0 ? r : no_match(w, err);
}

static int end_of_input(const struct work *w, struct err *err)
{
	if (!w->inflate || inflate_is_whole(w->inflate))
		return 0;
	return err_set(err, -ENODATA, "the compressed file is truncated; everything before the end was read");
}

/* Parses up to the end of the input or the first failure. */
static int parse_all(struct work *w, const struct source_ops *ops, void *state, struct err *err)
{
	for (;;) {
		int64_t n = ops->parse(state, w->window.data, w->window.len, w->eof, on_record, w, err);
		int r;

		if (n < 0)
			return (int)n;
		if ((uint64_t)n > w->window.len)
			return err_set(err, -EBADMSG, "the parser exceeded its data");
		buf_consume(&w->window, (size_t)n);
		if (n)
			continue;
		if (w->eof && w->window.len)
			return err_set(err, -ENODATA, "the file ends within its last record");
		if (w->eof)
			return end_of_input(w, err);
		r = read_more(w, err);
		if (r < 0)
			return r;
	}
}

static uint32_t index_of(const struct source_ops *ops)
{
	uint32_t i = 0;

	while (all_sources[i] && all_sources[i] != ops)
		i++;
	return i;
}

static int run(struct work *w, const struct source_ops *ops, struct err *err)
{
	_cleanup_free_ void *state = NULL;
	int r = ops ? worker_reply_add_format(&w->out, index_of(ops)) : find_format(w, &ops, err);

	if (r < 0)
		return r;
	if (ops->state_size) {
		state = calloc(1, ops->state_size);
		if (!state)
			return err_errno(err, -ENOMEM, "cannot parse");
	}
	r = parse_all(w, ops, state, err);
	if (ops->fini)
		ops->fini(state);
	return r;
}

/*
 * A FIFO without a writer reads as if at its end but is not readable yet. Uses select(): poll() obeys RLIMIT_NOFILE,
 * which is 0 here.
 */
static void wait_for_writer(int fd)
{
	fd_set one;
	int r;

	do {
		FD_ZERO(&one);
		FD_SET(fd, &one);
		r = select(fd + 1, &one, NULL, NULL, NULL);
	} while (r < 0 && errno == EINTR);
}

int source_worker_parser_work(void *ctx, int in_fd, int out_fd)
{
	struct work w = { .in_fd = in_fd, .out_fd = out_fd };
	struct err err = { 0 };
	int r;

	wait_for_writer(in_fd);
	r = run(&w, ctx, &err);
	if (r < 0 && !err.code)
		err_errno(&err, r, "cannot parse");
	worker_reply_add_end(&w.out, r, err.msg);
	r = worker_reply_send(&w.out, w.out_fd);
	buf_fini(&w.window);
	buf_fini(&w.raw);
	buf_fini(&w.out);
	inflate_free(w.inflate);
	return r < 0;
}
