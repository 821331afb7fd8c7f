/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a packet's event says beyond its bytes, as comments of a pcapng packet: lists of word=value, where the
 * words are those of the filter language. Values with blanks, quotes or = stand in quotes.
 */
#ifndef SINKS_PCAPNG_COMMENT_H
#define SINKS_PCAPNG_COMMENT_H

struct buf;
struct event;

/* Adds the comment options to @block; @text is scratch. */
void pcapng_comments(struct buf *block, const struct event *ev, struct buf *text);

#endif
