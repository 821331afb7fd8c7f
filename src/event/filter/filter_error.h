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

/* Appends the excerpt to @message and sets @err. -EINVAL, or -ENOMEM if memory is short. */
int filter_error_fail(struct err *err, const char *text, const struct token *at, struct buf *message);
/* At most 48 bytes, escaped, in quotes. */
void filter_error_add_quoted(struct buf *out, const char *s, size_t len);

/* Best match among the candidates passed to filter_error_suggest(). */
struct filter_suggestion {
	char name[64];		/* the misspelt name; empty if longer */
	size_t len;
	const char *best;	/* borrowed; NULL = no candidate is close */
	unsigned distance;
};

struct filter_suggestion filter_error_suggestion(const char *name, size_t len);
void filter_error_suggest(struct filter_suggestion *s, const char *candidate);
void filter_error_add_suggestion(struct buf *out, const struct filter_suggestion *s);

#endif
