/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A streaming JSON writer (RFC 8259) into a buffer. It puts the commas; the caller keeps the nesting right.
 * Errors stick to the buffer (buf_error()), so a whole object can be written and checked once.
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct event;
struct value;

/* Zeroed but for out: nothing written yet. */
struct json {
	struct buf *out;	/* borrowed */
	bool comma;		/* the next element needs one in front */
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
 * The known fields of the event's type as members of the open object. A key with a dot in it nests:
 * rows "x.lost_by.a" and "x.lost_by.b" next to each other become "lost_by":{"a":1,"b":2}.
 */
void json_event_fields(struct json *j, const struct event *ev);

/* A JSON string with quotes; every byte that is no UTF-8 becomes \ufffd. 0 or -ENOMEM. */
int json_string(struct buf *out, const char *s, size_t len);

#endif
