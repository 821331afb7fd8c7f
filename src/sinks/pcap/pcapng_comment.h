/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metadata of a packet's event as pcapng comments: lists of field=value, with field names of the filter language.
 * Values with blanks, quotes or = are quoted.
 */
#ifndef SINKS_PCAPNG_COMMENT_H
#define SINKS_PCAPNG_COMMENT_H

#include <stddef.h>

struct buf;
struct event;

#define PCAPNG_COMMON_WORDS 9

/* Common fields that comments include, looked up once. */
struct pcapng_common {
	const struct field *fields[PCAPNG_COMMON_WORDS];
	size_t n;
};
void pcapng_comment_resolve(struct pcapng_common *ret);

/* Adds the comment options to @block. @text: scratch. */
void pcapng_comment_write(struct buf *block, const struct event *ev, const struct pcapng_common *common,
			  struct buf *text);

#endif
