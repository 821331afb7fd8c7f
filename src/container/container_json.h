/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a JSON text by the keys above them, in the order of the text. Hostile bytes in; nothing is kept.
 */
#ifndef CONTAINER_CONTAINER_JSON_H
#define CONTAINER_CONTAINER_JSON_H

#include <stddef.h>

struct buf;

/*
 * @path: each key behind a byte 0x1f, such as "\x1f" "Config\x1fImage"; elements of an array have its path.
 * @text has a NUL behind it; of its escapes those are resolved that names use. Members may be NULL.
 */
struct container_json_ops {
	void (*text)(void *ctx, const char *path, const struct buf *text);
	void (*bare)(void *ctx, const char *path, const struct buf *text);	/* a number, or true, false, null */
	void (*end)(void *ctx, const char *path);	/* of an object or array that is an element of an array */
};

/* 0, -EBADMSG if it is not JSON (the values before that were passed), -ENOMEM. */
int container_json_walk(const void *data, size_t len, const struct container_json_ops *ops, void *ctx);

#endif
