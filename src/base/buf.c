// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->error = 0;
}

static int grow(struct buf *b, size_t len)
{
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	if (b->error)
		return b->error;
	if (len > SIZE_MAX / 2 - b->len)
		return b->error = -ENOMEM;
	while (cap < b->len + len)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p)
		return b->error = -ENOMEM;
	b->data = p;
	b->cap = cap;
	return 0;
}

void *buf_reserve(struct buf *b, size_t len)
{
	/* allocates for @len 0, too: the result must be a valid address */
	if (unlikely(b->error || !b->data || b->cap - b->len < len) && grow(b, len) < 0)
		return NULL;
	return b->data + b->len;
}

int buf_add_slow(struct buf *b, const void *data, size_t len)
{
	void *p = buf_reserve(b, len);

	if (!p)
		return b->error;
	if (len)
		memcpy(p, data, len);
	b->len += len;
	return 0;
}

int buf_add_u64(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return buf_add(b, digits + i, sizeof(digits) - i);
}

static int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	if (!buf_reserve(b, 1))
		return b->error;
	va_copy(again, ap);
	n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	if (n >= 0 && (size_t)n >= b->cap - b->len) {
		if (buf_reserve(b, (size_t)n + 1))
			n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
		else
			n = -1;
	}
	va_end(again);
	if (n < 0)
		return b->error ? b->error : (b->error = -EINVAL);
	b->len += (size_t)n;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

int buf_align(struct buf *b, size_t align)
{
	size_t pad = ROUND_UP(b->len, align) - b->len;
	void *p = buf_reserve(b, pad);

	if (!p)
		return b->error;
	if (pad)
		memset(p, 0, pad);
	b->len += pad;
	return 0;
}

void buf_consume(struct buf *b, size_t len)
{
	len = MIN(len, b->len);
	if (len)
		memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
}

const char *buf_str(struct buf *b)
{
	if (buf_add_char(b, '\0') < 0)
		return "";
	b->len--;
	return b->data;
}
