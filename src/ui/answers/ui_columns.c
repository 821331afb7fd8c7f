// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_columns.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

enum { COL_TIME, COL_SEQ, COL_TYPE, COL_PID, COL_TID, COL_CPU, COL_PROCESS, COL_HOST, COL_TEXT, COLS };
enum { KIND_U32, KIND_U64, KIND_WORD, KIND_TEXT };

static const struct { const char *name; uint32_t kind; } cols[] = {
	[COL_TIME] = { "time", KIND_U32 }, [COL_SEQ] = { "seq", KIND_U64 }, [COL_TYPE] = { "type", KIND_WORD },
	[COL_PID] = { "pid", KIND_U32 }, [COL_TID] = { "tid", KIND_U32 }, [COL_CPU] = { "cpu", KIND_U32 },
	[COL_PROCESS] = { "process", KIND_WORD }, [COL_HOST] = { "host", KIND_WORD },
	[COL_TEXT] = { "text", KIND_TEXT },
};
_Static_assert(ARRAY_SIZE(cols) == COLS, "a row per column");
_Static_assert(COLS == ARRAY_SIZE(((struct ui_columns *)0)->cols), "a buffer per column");

/* Number of the word, which the next frame brings along if it is new. */
static uint32_t word_of(struct ui_columns *c, const char *text, size_t len)
{
	uint64_t hash = map_hash(text, len);
	bool is_new;
	uint32_t *number = map_add(&c->by_hash, &hash, &is_new);

	if (!number) {
		c->word_ends.error = -ENOMEM;
		return 0;
	}
	if (!is_new)
		return *number;
	*number = c->words++;
	c->new_words++;
	buf_add(&c->word_bytes, text, len);
	buf_put_u32(&c->word_ends, (uint32_t)c->word_bytes.len);
	return *number;
}

static void start(struct ui_columns *c)
{
	buf_put_u32(&c->cols[COL_TEXT], 0);
	buf_put_u32(&c->word_ends, 0);
}

int ui_columns_init(struct ui_columns *c, struct buf *out)
{
	*c = (struct ui_columns){ .out = out };
	map_init(&c->by_hash, sizeof(uint64_t), sizeof(uint32_t));
	start(c);
	return 0;
}

void ui_columns_fini(struct ui_columns *c)
{
	map_fini(&c->by_hash);
	buf_fini(&c->word_ends);
	buf_fini(&c->word_bytes);
	for (unsigned i = 0; i < COLS; i++)
		buf_fini(&c->cols[i]);
	buf_fini(&c->texts);
}

static int error_of(const struct ui_columns *c)
{
	int r = buf_error(c->out) | buf_error(&c->word_ends) | buf_error(&c->word_bytes) | buf_error(&c->texts);

	for (unsigned i = 0; i < COLS; i++)
		r |= buf_error(&c->cols[i]);
	return r ? -ENOMEM : 0;
}

static void put_column(struct ui_columns *c, unsigned i, uint32_t name)
{
	const struct buf *tail = i == COL_TEXT ? &c->texts : NULL;

	buf_put_u32(c->out, name);
	buf_put_u32(c->out, cols[i].kind);
	buf_put_u64(c->out, c->cols[i].len + (tail ? tail->len : 0));
	buf_add(c->out, c->cols[i].data, c->cols[i].len);
	if (tail)
		buf_add(c->out, tail->data, tail->len);
	buf_align(c->out, 8);
}

static int put_frame(struct ui_columns *c)
{
	const size_t from = c->out->len;
	uint32_t names[COLS], len;

	for (unsigned i = 0; i < COLS; i++)
		names[i] = word_of(c, cols[i].name, strlen(cols[i].name));
	buf_put_u32(c->out, 0);
	buf_put_u32(c->out, c->rows);
	buf_put_u64(c->out, c->base_ns);
	buf_put_u64(c->out, from ? 0 : c->lost);
	buf_put_u64(c->out, from ? 0 : c->n);
	buf_put_u32(c->out, COLS);
	buf_put_u32(c->out, c->new_words);
	buf_add(c->out, c->word_ends.data, c->word_ends.len);
	buf_add(c->out, c->word_bytes.data, c->word_bytes.len);
	buf_align(c->out, 8);
	for (unsigned i = 0; i < COLS; i++)
		put_column(c, i, names[i]);
	if (error_of(c) < 0)
		return -ENOMEM;
	len = (uint32_t)(c->out->len - from);
	memcpy(c->out->data + from, &len, sizeof(len));
	c->rows = c->new_words = 0;
	buf_reset(&c->word_ends);
	buf_reset(&c->word_bytes);
	buf_reset(&c->texts);
	for (unsigned i = 0; i < COLS; i++)
		buf_reset(&c->cols[i]);
	start(c);
	return 0;
}

int ui_columns_add(struct ui_columns *c, const struct ui_columns_row *r)
{
	int error = 0;

	if (c->rows && (c->rows == UI_COLUMNS_ROWS || r->ns < c->base_ns || r->ns - c->base_ns > UINT32_MAX))
		error = put_frame(c);
	if (error < 0)
		return error;
	if (!c->rows)
		c->base_ns = r->ns;
	c->rows++;
	buf_put_u32(&c->cols[COL_TIME], (uint32_t)(r->ns - c->base_ns));
	buf_put_u64(&c->cols[COL_SEQ], r->seq);
	buf_put_u32(&c->cols[COL_TYPE], word_of(c, r->type, r->type_len));
	buf_put_u32(&c->cols[COL_PID], r->pid);
	buf_put_u32(&c->cols[COL_TID], r->tid);
	buf_put_u32(&c->cols[COL_CPU], r->cpu);
	buf_put_u32(&c->cols[COL_PROCESS], word_of(c, r->process, r->process_len));
	buf_put_u32(&c->cols[COL_HOST], word_of(c, r->host, r->host_len));
	buf_add(&c->texts, r->text, r->text_len);
	buf_put_u32(&c->cols[COL_TEXT], (uint32_t)c->texts.len);
	return error_of(c);
}

int ui_columns_end(struct ui_columns *c)
{
	return c->rows || !c->out->len ? put_frame(c) : 0;
}
