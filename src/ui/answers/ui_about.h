/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists that a page needs before it asks: /meta, /fields, /check, /views, /recordings.
 */
#ifndef UI_UI_ABOUT_H
#define UI_UI_ABOUT_H

struct err;
struct json;
struct ui_answer;
struct ui_memory;
struct ui_query;

/* As struct ui_source_ops; @ctx: a struct ui_memory. */
int ui_about_meta(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_about_fields(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_about_check(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_about_views(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);
int ui_about_recordings(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err);

/* Member @key: [{"cause":"ring_full","count":3}], causes of losses so far. */
void ui_about_put_causes(struct json *j, const char *key, const struct ui_memory *m);

#endif
