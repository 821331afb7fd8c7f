/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer: status, type, bytes. And members of its JSON objects.
 */
#ifndef UI_UI_ANSWER_H
#define UI_UI_ANSWER_H

#include <stdint.h>

#include "base/buf.h"
#include "event/json.h"

struct err;

#define UI_ANSWER_JSON "application/json; charset=utf-8"
#define UI_ANSWER_COLUMNS "application/vnd.sonde.columns"

struct ui_answer {	/* zeroed: empty */
	unsigned status;	/* 0: not yet answered */
	bool columns;		/* type; else JSON */
	struct buf body;	/* owned */
};

void ui_answer_fini(struct ui_answer *a);

/* Replaces the answer by {"error":...}; lines of @text behind the first are left out. */
void ui_answer_error(struct ui_answer *a, unsigned status, const char *text);
/*
 * The same for a negative errno: 400 for -EINVAL, 404 for -ENOENT, 414 for -E2BIG, 503 otherwise. @q: the filter that
 * may be at fault, NULL = none.
 */
void ui_answer_fail(struct ui_answer *a, int error, const struct err *err, const char *q);
/* Byte of filter @q under the caret of an error message of the filter language; SIZE_MAX without one. */
size_t ui_answer_offset(const char *q, const char *msg);

/* ---- members ---- */

/* Escaped as for a terminal: neither control nor bidirectional characters. */
void ui_answer_put_text(struct json *j, const char *key, const char *s);
void ui_answer_put_string(struct json *j, const char *s, size_t len); /* without a key */
void ui_answer_put_time(struct json *j, const char *key, uint64_t ns); /* "digits" */

/* Escapes bidirectional controls in the JSON text behind @from, which has them within strings only. 0 or -ENOMEM. */
int ui_answer_plain(struct buf *b, size_t from);

#endif
