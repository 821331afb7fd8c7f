/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a packet's event says beyond its bytes, as comments of a pcapng packet: lists of word=value, where the
 * words are those of the filter language. Values with blanks, quotes or = stand in quotes.
 */
#ifndef SINKS_PCAPNG_COMMENT_H
#define SINKS_PCAPNG_COMMENT_H

#include <stddef.h>

struct buf;
struct event;
struct field;

#define PCAPNG_COMMON_WORDS 9

/* The words of every event that a comment repeats, looked up once. */
struct pcapng_common {
	const struct field *fields[PCAPNG_COMMON_WORDS];
	size_t n;
};
void pcapng_comment_resolve(struct pcapng_common *ret);

/* Adds the comment options to @block; @text is scratch. */
void pcapng_comment_write(struct buf *block, const struct event *ev, const struct pcapng_common *common,
			  struct buf *text);

#endif
