// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_source.h"

#include <errno.h>

#include "base/err.h"
#include "ui/answers/ui_about.h"
#include "ui/ui_answer.h"
#include "ui/answers/ui_answers.h"

static const struct ui_source_ops kept_ops = {
	.name = "kept events",
	.answer = {
		[UI_META] = ui_about_meta, [UI_FIELDS] = ui_about_fields, [UI_CHECK] = ui_about_check,
		[UI_VIEWS] = ui_about_views, [UI_RECORDINGS] = ui_about_recordings, [UI_VIEW] = ui_view_answer,
		[UI_HEAT] = ui_heat_answer, [UI_FLAME] = ui_flame_answer, [UI_TRACKS] = ui_tracks_answer,
		[UI_EVENTS] = ui_events_answer, [UI_EVENT] = ui_events_one, [UI_TRACE] = ui_trace_answer,
		[UI_SIDES] = ui_sides_answer,
		[UI_EXPLAIN] = ui_trace_explain,
	},
};

struct ui_source ui_source_kept(const struct ui_memory *m)
{
	return (struct ui_source){ .ops = &kept_ops, .ctx = m };
}

void ui_source_answer(const struct ui_source *s, const struct ui_query *q, struct ui_answer *ret)
{
	struct err err = { 0 };
	int r = s->ops->answer[q->path] ? s->ops->answer[q->path](s->ctx, q, ret, &err)
					: err_set(&err, -ENOENT, "not answered here");

	if (r >= 0)
		r = buf_error(&ret->body);
	if (r >= 0 && !ret->columns)
		r = ui_answer_plain(&ret->body, 0);
	if (r < 0)
		ui_answer_fail(ret, r, &err, q->q);
	else
		ret->status = 200;
}
