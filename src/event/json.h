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
#include <string.h>

#include "base/buf.h"

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
static inline void json_key_len(struct json *j, const char *key, size_t len)
{
	const size_t comma = j->comma;
	char *p = buf_reserve(j->out, len + 4);

	j->comma = false;
	if (!p)
		return;
	p[0] = ',';
	p += comma;
	p[0] = '"';
	memcpy(p + 1, key, len);
	memcpy(p + 1 + len, "\":", 2);
	buf_commit(j->out, comma + len + 3);
}

/* Inline, so that the length of a literal is known. */
static inline void json_key(struct json *j, const char *key)
{
	json_key_len(j, key, strlen(key));
}

/* The comma before an element that the caller writes. */
static inline void json_element(struct json *j)
{
	if (j->comma)
		buf_add_char(j->out, ',');
	j->comma = true;
}

void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_bool(struct json *j, bool v);
void json_str(struct json *j, const char *s, size_t len);
void json_value(struct json *j, const struct value *v);

/* ---- members: a key and its value ---- */

static inline void json_put_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	json_open(j, bracket);
}

static inline void json_put_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

static inline void json_put_i64(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_i64(j, v);
}

static inline void json_put_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

static inline void json_put_str(struct json *j, const char *key, const char *s, size_t len)
{
	json_key(j, key);
	json_str(j, s, len);
}

/* Nothing if @s is NULL. */
static inline void json_put_text(struct json *j, const char *key, const char *s)
{
	if (s)
		json_put_str(j, key, s, strlen(s));
}

/*
 * Writes the known fields of the event's type as members of the open object. A dot in a key nests: adjacent rows
 * "x.lost_by.a" and "x.lost_by.b" become "lost_by":{"a":1,"b":2}.
 */
void json_event_fields(struct json *j, const struct event *ev);

/* Keys of an event type's fields. */
struct json_keys {
	const struct event_desc *desc;	/* NULL = none */
	struct json_field {
		const struct field *field;
		const char *key;
		uint16_t len, group;	/* bytes of the key; of these up to its dot, the dot included */
	} *items;			/* owned; the members of a line, in order */
	size_t n;
};

/* 0 or -ENOMEM. */
int json_keys_init(struct json_keys *k, const struct event_desc *d);
void json_keys_fini(struct json_keys *k);
/* json_event_fields() with the keys of the event's type at hand. */
void json_event_fields_by(struct json *j, const struct event *ev, const struct json_keys *k);

/* A quoted JSON string; each byte that is not UTF-8 becomes \ufffd. 0 or -ENOMEM. */
int json_string(struct buf *out, const char *s, size_t len);

#endif
