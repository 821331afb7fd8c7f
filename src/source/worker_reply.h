/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies of the parsing worker to its parent: a length and a kind, padded to 8 bytes. The worker has parsed
 * untrusted input, so the parent validates every field. Private to src/source.
 */
#ifndef SOURCE_ANSWER_H
#define SOURCE_ANSWER_H

#include <stdint.h>

#include "base/err.h"

struct buf;
struct cursor;

enum answer_kind {
	ANSWER_FORMAT,	/* u32: index in all_sources; first, exactly once */
	ANSWER_RECORD,
	ANSWER_END,	/* s32 code (0 or -errno), then a message without NUL; last */
	ANSWER__MAX,
};

struct answer {
	enum answer_kind kind;
	uint32_t format;
	const struct sonde_rec *rec;	/* borrowed from the buffer */
	int code;
	char text[sizeof(((struct err *)0)->msg)];	/* escaped */
};

int worker_reply_add_format(struct buf *b, uint32_t format);
int worker_reply_add_record(struct buf *b, const struct sonde_rec *r);
int worker_reply_add_end(struct buf *b, int code, const char *text);

/* Writes the replies in @b and empties it. 0 or -errno. */
int worker_reply_send(struct buf *b, int fd);

/* Takes the next reply from @c, whose data is 8-byte aligned. 1, 0 if incomplete, or -EBADMSG. */
int worker_reply_next(struct cursor *c, struct answer *ret);

/* The worker's function: parses all of @in_fd, in format @ctx (struct source_ops) or the one its content shows. */
int source_worker_parser_work(void *ctx, int in_fd, int out_fd);

#endif
