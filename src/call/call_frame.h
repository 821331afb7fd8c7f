/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of known length.
 */
#ifndef CALL_CALL_FRAME_H
#define CALL_CALL_FRAME_H

#include "call/call_protocol.h"

/*
 * Takes a frame of @len bytes, of which at most @most are read: they are in @ret_body, the rest is set to be skipped.
 * *ret_cut: the body is not the whole frame. False if bytes are still to come; the cursor stays then.
 */
static inline bool call_frame_take(struct call_io *io, uint64_t len, size_t most, struct cursor *ret_body,
				   bool *ret_cut)
{
	size_t left = cur_left(&io->c), n = len < most ? (size_t)len : most;

	if (left < n && !io->partial)
		return false;
	n = left < n ? left : n;
	*ret_body = cur_sub(&io->c, n);
	*ret_cut = n < len;
	io->skip = len - n;
	return true;
}

/* A string that ends with NUL, without it; the rest of @c if the end is missing. NULL if @c is bad. */
static inline const char *call_frame_string(struct cursor *c, size_t *ret_len)
{
	size_t left = cur_left(c);
	const uint8_t *end = left ? memchr(c->pos, 0, left) : NULL;
	const char *s = cur_bytes(c, end ? (size_t)(end - c->pos) : left);

	*ret_len = end ? (size_t)((const char *)end - s) : left;
	if (end)
		cur_skip(c, 1);
	return s;
}

#endif
