// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The half of a source that runs in the worker: a window over the input, the format's parser, and answers. It
 * has no right but to read the one and write the other.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sonde/wire.h"
#include "source/answer.h"
#include "source/source.h"

#define READ_BYTES (256u << 10)
#define ANSWER_BYTES (64u << 10)	/* sent when so much has gathered, and before waiting for input */
#define WINDOW_MAX_BYTES (64u << 20)	/* of one item of a file; a larger one is taken for broken */
#define MATCH_BYTES 8

struct work {
	int in_fd, out_fd;
	struct buf window;	/* what was read and not consumed */
	bool eof;
	struct buf out;
};

/* 0 or -errno. A parent that does not listen any more ends us by SIGPIPE. */
static int send_answers(struct work *w)
{
	size_t done = 0;

	if (buf_error(&w->out))
		return buf_error(&w->out);
	while (done < w->out.len) {
		ssize_t n = write(w->out_fd, w->out.data + done, w->out.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	buf_reset(&w->out);
	return 0;
}

static int on_record(void *ctx, const struct sonde_rec *r)
{
	struct work *w = ctx;

	if (r->len < sizeof(*r) || r->len > SOURCE_RECORD_MAX_BYTES)
		return -EMSGSIZE;
	answer_add_record(&w->out, r);
	return w->out.len >= ANSWER_BYTES ? send_answers(w) : buf_error(&w->out);
}

/* More of the input into the window. 0 or -errno. */
static int read_more(struct work *w, struct err *err)
{
	int r = send_answers(w);
	ssize_t n;
	char *p;

	if (r < 0)
		return r;
	if (w->window.len >= WINDOW_MAX_BYTES)
		return err_set(err, -EBADMSG, "an item of more than %u bytes", WINDOW_MAX_BYTES);
	p = buf_reserve(&w->window, READ_BYTES);
	if (!p)
		return err_errno(err, -ENOMEM, "cannot read");
	do
		n = read(w->in_fd, p, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(err, -errno, "cannot read");
	w->eof = n == 0;
	buf_commit(&w->window, (size_t)n);
	return 0;
}

static int no_match(const struct work *w, struct err *err)
{
	_cleanup_(buf_fini) struct buf names = { 0 };

	if (!w->window.len)
		return err_set(err, -EPROTONOSUPPORT, "the file is empty");
	for (size_t i = 0; all_sources[i]; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", all_sources[i]->name);
	return err_set(err, -EPROTONOSUPPORT, "not a recording of a known format (%s)", buf_str(&names));
}

static int find_format(struct work *w, const struct source_ops **ret, struct err *err)
{
	int r = 0;

	while (r == 0 && !w->eof && w->window.len < MATCH_BYTES)
		r = read_more(w, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; all_sources[i]; i++) {
		if (!all_sources[i]->match(w->window.data, w->window.len))
			continue;
		*ret = all_sources[i];
		return answer_add_format(&w->out, i);
	}
	return no_match(w, err);
}

/* Until the end of the input or the first failure. */
static int parse_all(struct work *w, const struct source_ops *ops, void *state, struct err *err)
{
	for (;;) {
		int64_t n = ops->parse(state, w->window.data, w->window.len, w->eof, on_record, w, err);
		int r;

		if (n < 0)
			return (int)n;
		if ((uint64_t)n > w->window.len)
			return err_set(err, -EBADMSG, "the parser went beyond its data");
		buf_consume(&w->window, (size_t)n);
		if (n)
			continue;
		if (w->eof && w->window.len)
			return err_set(err, -ENODATA, "the file ends within its last record");
		if (w->eof)
			return 0;
		r = read_more(w, err);
		if (r < 0)
			return r;
	}
}

static int run(struct work *w, struct err *err)
{
	_cleanup_free_ void *state = NULL;
	const struct source_ops *ops = NULL;
	int r = find_format(w, &ops, err);

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

int source_work(void *ctx, int in_fd, int out_fd)
{
	struct work w = { .in_fd = in_fd, .out_fd = out_fd };
	struct err err = { 0 };
	int r = run(&w, &err);

	(void)ctx;
	if (r < 0 && !err.code)
		err_errno(&err, r, "cannot parse");
	answer_add_end(&w.out, r, err.msg);
	r = send_answers(&w);
	buf_fini(&w.window);
	buf_fini(&w.out);
	return r < 0;
}
