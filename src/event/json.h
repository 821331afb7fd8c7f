/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A streaming JSON writer (RFC 8259) into a buffer. It writes commas; the caller keeps the nesting balanced. Errors
 * stick to the buffer: write a whole object, then check buf_error().
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct event;
struct value;

/* Initialise `out` and zero the rest. */
struct json {
	struct buf *out;	/* borrowed */
	bool comma;		/* the next element needs a comma */
};

void json_open(struct json *j, char bracket);		/* '{' or '[' */
void json_close(struct json *j, char bracket);		/* '}' or ']' */
/* Keys come from the program's own tables and are written unescaped. */
void json_key(struct json *j, const char *key);
void json_key_len(struct json *j, const char *key, size_t len);
void json_element(struct json *j);			/* the comma before an element that the caller writes */

void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_bool(struct json *j, bool v);
void json_str(struct json *j, const char *s, size_t len);
void json_value(struct json *j, const struct value *v);

/*
 * Writes the known fields of the event's type as members of the open object. A dot in a key nests: adjacent rows
 * "x.lost_by.a" and "x.lost_by.b" become "lost_by":{"a":1,"b":2}.
 */
void json_event_fields(struct json *j, const struct event *ev);

/* A quoted JSON string; each byte that is not UTF-8 becomes \ufffd. 0 or -ENOMEM. */
int json_string(struct buf *out, const char *s, size_t len);

#endif
