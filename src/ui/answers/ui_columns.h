/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of events as frames of columns (doc/api.md, /events): typed arrays that a page reads without parsing. Texts of
 * few values go to a dictionary that the frames of one answer share.
 */
#ifndef UI_UI_COLUMNS_H
#define UI_UI_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#define UI_COLUMNS_ROWS 4096u	/* of a frame */

struct ui_columns_row {
	uint64_t ns, seq;	/* wall clock */
	const char *type, *process, *host, *text;
	size_t type_len, process_len, host_len, text_len;
	uint32_t pid, tid, cpu;
};

struct ui_columns {	/* zeroed: empty */
	struct buf *out;	/* borrowed */
	uint64_t lost, n;	/* for the head of the first frame */
	uint64_t base_ns;
	uint32_t rows, words, new_words;
	struct map by_hash;	/* of a word -> number */
	struct buf word_ends, word_bytes;	/* the new words: u32 offsets, bytes */
	struct buf cols[9], texts;
};

int ui_columns_init(struct ui_columns *c, struct buf *out); /* 0 */
void ui_columns_fini(struct ui_columns *c);
int ui_columns_add(struct ui_columns *c, const struct ui_columns_row *r);	/* 0 or -ENOMEM */
int ui_columns_end(struct ui_columns *c);	/* the last frame; without a row an empty one. 0 or -ENOMEM */

#endif
