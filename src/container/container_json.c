// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/container_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"

#define DEPTH_MAX 32
#define SEP '\x1f'

/* Position in a JSON text, as the path of keys. Array elements have no key. */
struct walk {
	struct cursor c;
	struct buf path, text;
	size_t base[DEPTH_MAX];	/* path length of each open object and array */
	char kind[DEPTH_MAX];
	unsigned depth;
	bool wants_key;
	const struct container_json_ops *ops;
	void *ctx;
};

/* Reads a string after its first quote, with the escapes that names use. False if it is unterminated. */
static bool read_text(struct walk *w)
{
	buf_reset(&w->text);
	for (;;) {
		uint8_t ch = cur_u8(&w->c);

		if (!cur_ok(&w->c))
			return false;
		if (ch == '"')
			return true;
		if (ch == '\\') {
			ch = cur_u8(&w->c);
			if (ch == 'u') {
				cur_skip(&w->c, 4);
				ch = '?';
			}
		}
		buf_add_char(&w->text, (char)ch);
	}
}

static bool take_key(struct walk *w)
{
	w->path.len = w->base[w->depth - 1];
	buf_add_char(&w->path, SEP);
	buf_add(&w->path, w->text.data, w->text.len);
	w->wants_key = false;
	return true;
}

static bool end_with_nul(struct buf *b)
{
	if (buf_add_char(b, '\0') < 0)
		return false;
	b->len--;
	return true;
}

static bool give(struct walk *w, void (*fn)(void *ctx, const char *path, const struct buf *text))
{
	if (!end_with_nul(&w->path) || !end_with_nul(&w->text))
		return false;
	if (fn)
		fn(w->ctx, w->path.data, &w->text);
	return true;
}

static bool take_text(struct walk *w)
{
	if (!read_text(w))
		return false;
	return w->wants_key && w->depth ? take_key(w) : give(w, w->ops->text);
}

static bool take_bare(struct walk *w, uint8_t first)
{
	buf_reset(&w->text);
	buf_add_char(&w->text, (char)first);
	while (cur_left(&w->c) && (isalnum(cur_peek(&w->c, 0)) || strchr("+-.", cur_peek(&w->c, 0))))
		buf_add_char(&w->text, (char)cur_u8(&w->c));
	return give(w, w->ops->bare);
}

static bool open_one(struct walk *w, char kind)
{
	if (w->depth == DEPTH_MAX)
		return false;
	w->base[w->depth] = w->path.len;
	w->kind[w->depth++] = kind;
	w->wants_key = kind == '{';
	return true;
}

static bool close_one(struct walk *w, char kind)
{
	if (!w->depth || w->kind[w->depth - 1] != kind)
		return false;
	w->path.len = w->base[--w->depth];
	w->wants_key = false;
	if (!w->depth || w->kind[w->depth - 1] != '[' || !w->ops->end)
		return true;
	if (!end_with_nul(&w->path))
		return false;
	w->ops->end(w->ctx, w->path.data);
	return true;
}

static bool take_one(struct walk *w)
{
	uint8_t ch = cur_u8(&w->c);

	switch (ch) {
	case '"': return take_text(w);
	case '{':
	case '[': return open_one(w, (char)ch);
	case '}': return close_one(w, '{');
	case ']': return close_one(w, '[');
	case ',':
		w->wants_key = w->depth && w->kind[w->depth - 1] == '{';
		return true;
	default: return isalnum(ch) || ch == '-' ? take_bare(w, ch) : true;	/* blanks, colons */
	}
}

int container_json_walk(const void *data, size_t len, const struct container_json_ops *ops, void *ctx)
{
	struct walk w = { .c = cur_init(data, len), .ops = ops, .ctx = ctx };
	bool ok = true;
	int r;

	while (ok && cur_left(&w.c))
		ok = take_one(&w);
	r = buf_error(&w.path) < 0 || buf_error(&w.text) < 0 ? -ENOMEM : ok && !w.depth ? 0 : -EBADMSG;
	buf_fini(&w.path);
	buf_fini(&w.text);
	return r;
}
