/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: an event as bytes, for queues and sockets. Little endian, 8-byte aligned, self-delimiting:
 * the first four bytes are the frame's length.
 */
#ifndef EVENT_CODEC_H
#define EVENT_CODEC_H

#include <stddef.h>
#include <stdint.h>

struct event;
struct registry;

#define FRAME_MAX_BYTES (1u << 20)

/* Bytes that event_encode() will write. */
size_t event_frame_size(const struct event *ev);

/* Returns the bytes written, or -ENOSPC / -E2BIG (over FRAME_MAX_BYTES). @buf 8-byte aligned. */
int event_encode(const struct event *ev, void *buf, size_t cap);

/*
 * The event in @buf (8-byte aligned); body and sections point into it. Returns the frame's length,
 * -EAGAIN if @len holds less than a frame, -EPROTONOSUPPORT for a type the registry lacks, or
 * -EBADMSG when the bytes are no frame.
 */
int event_decode(const struct registry *reg, const void *buf, size_t len, struct event *ret);

#endif
