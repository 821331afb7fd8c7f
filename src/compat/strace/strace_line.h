/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of strace's lines. All functions append to @out; buf_error() reports a lack of memory.
 */
#ifndef COMPAT_STRACE_LINE_H
#define COMPAT_STRACE_LINE_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct strace_opts;

/* Times in front of a line. @wall_ns: since 1970; @since_ns: since the line before. */
void strace_line_times(const struct strace_opts *o, uint64_t wall_ns, uint64_t since_ns, struct buf *out);
/* " <0.000012>" with @digits decimals. */
void strace_line_took(uint64_t ns, unsigned digits, struct buf *out);
/* Quotes the strings of @text, @len bytes, again: @hex is an enum strace_hex. */
void strace_line_requote(const char *text, size_t len, unsigned hex, struct buf *out);
/* Rows of 16 bytes in hex and as text. */
void strace_line_dump(const uint8_t *data, size_t len, struct buf *out);
/* The name behind a descriptor, in angle brackets; @fd may be AT_FDCWD. @ctx: the struct strace_names. */
void strace_line_fd(void *ctx, int32_t fd, struct buf *out);

/* Where names of descriptors come from. */
struct strace_names {
	const struct event *ev;
	unsigned fds; /* STRACE_FDS_* */
};

/* Appends @path as it stands in angle brackets; " (deleted)" is left to the caller. */
void strace_line_path(const char *path, size_t len, struct buf *out);
/* The file behind a descriptor of the caller, *ret_len bytes, borrowed until the next event. NULL = not known. */
const char *strace_line_fd_path(const struct event *ev, int32_t fd, size_t *ret_len);

#endif
