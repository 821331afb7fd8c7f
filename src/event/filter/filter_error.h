/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages about a filter: the sentence, an excerpt with a caret, and the nearest known name.
 */
#ifndef EVENT_FILTER_ERROR_H
#define EVENT_FILTER_ERROR_H

#include <stddef.h>

struct buf;
struct err;
struct token;

/* Puts the place below the sentence in @message. Returns -EINVAL, or -ENOMEM if that could not be said. */
int filter_error_fail(struct err *err, const char *text, const struct token *at, struct buf *message);
/* At most 48 bytes, escaped, in quotes. */
void filter_error_add_quoted(struct buf *out, const char *s, size_t len);

/* The nearest of the words offered to filter_error_suggest(), if it is near at all. */
struct filter_suggestion {
	char word[64];		/* what was written; empty when it was longer */
	size_t len;
	const char *best;	/* borrowed; NULL = none */
	unsigned distance;
};

struct filter_suggestion filter_error_suggestion(const char *word, size_t len);
void filter_error_suggest(struct filter_suggestion *s, const char *candidate);
void filter_error_add_suggestion(struct buf *out, const struct filter_suggestion *s);

#endif
