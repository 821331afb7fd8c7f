// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of any times and texts: the frames of the answer end where they say, and their columns hold every row. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "ui/answers/ui_columns.h"

static uint32_t u32_at(const struct buf *b, size_t at)
{
	uint32_t v;

	if (at + sizeof(v) > b->len)
		abort();
	memcpy(&v, b->data + at, sizeof(v));
	return v;
}

/* Behind @n texts at @at. */
static size_t behind_texts(const struct buf *b, size_t at, uint32_t n)
{
	size_t end = at + 4 * ((size_t)n + 1);

	for (uint32_t i = 0; i < n; i++)
		if (u32_at(b, at + 4 * i) > u32_at(b, at + 4 * (i + 1)))
			abort();
	return end + u32_at(b, at + 4 * n);
}

static size_t check_frame(const struct buf *b, size_t at, uint64_t *rows)
{
	size_t end = at + u32_at(b, at), p = behind_texts(b, at + 40, u32_at(b, at + 36));

	*rows += u32_at(b, at + 4);
	p = at + ((p - at + 7) & ~(size_t)7);
	for (uint32_t i = 0; i < u32_at(b, at + 32); i++) {
		size_t len = u32_at(b, p + 8);

		if (u32_at(b, p + 4) == 3 && behind_texts(b, p + 16, u32_at(b, at + 4)) != p + 16 + len)
			abort();
		p += 16 + ((len + 7) & ~(size_t)7);
	}
	if (p != end || end > b->len)
		abort();
	return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = { 0 };
	struct ui_columns c;
	uint64_t put = 0, got = 0;

	ui_columns_init(&c, &out);
	while (size >= 10) {
		size_t len = data[8] < size - 10 ? data[8] : size - 10, word = data[9] < len ? data[9] : len;
		struct ui_columns_row r = { .type = (const char *)data + 10, .type_len = word,
					    .process = (const char *)data + 10, .process_len = len - word,
					    .host = (const char *)data + 10, .host_len = len - word,
					    .text = (const char *)data + 10, .text_len = len };

		memcpy(&r.ns, data, sizeof(r.ns));
		r.seq = put++;
		if (ui_columns_add(&c, &r) < 0)
			abort();
		data += 10 + len;
		size -= 10 + len;
	}
	if (ui_columns_end(&c) < 0)
		abort();
	for (size_t at = 0; at < out.len;)
		at = check_frame(&out, at, &got);
	if (got != put)
		abort();
	ui_columns_fini(&c);
	buf_fini(&out);
	return 0;
}
