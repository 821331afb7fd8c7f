/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request below /api/v1 (doc/api.md) as a struct: path, parameters, their limits. Pure; the text is untrusted.
 */
#ifndef UI_UI_QUERY_H
#define UI_UI_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

#define UI_QUERY_BYTES 8192u	/* of a target */
#define UI_QUERY_SUBS 8u
#define UI_QUERY_NAME 48u

enum ui_path {
	UI_META, UI_FIELDS, UI_CHECK, UI_VIEWS, UI_VIEW, UI_HEAT, UI_FLAME, UI_TRACKS, UI_EVENTS, UI_EVENT, UI_TRACE,
	UI_SIDES, UI_EXPLAIN, UI_RECORDINGS, UI_LIVE, UI_PATH__MAX,
};

enum ui_time_kind { UI_TIME_NONE, UI_TIME_AT, UI_TIME_BACK, UI_TIME__MAX };

struct ui_time {
	enum ui_time_kind kind;
	uint64_t ns;		/* AT: since 1970; BACK: before the end */
};

enum ui_mode { UI_MODE_ON, UI_MODE_OFF, UI_MODE_BOTH, UI_MODE__MAX };
enum ui_by { UI_BY_NONE, UI_BY_PROCESS, UI_BY_CONTAINER, UI_BY_OPERATION, UI_BY_HOST, UI_BY__MAX };

/* Parameters that were not given have their default; texts are NULL, and point into `text`. */
struct ui_query {
	enum ui_path path;
	char name[UI_QUERY_NAME];	/* of /view/NAME, /heat/NAME */
	uint64_t seq;			/* of /event/SEQ */
	const char *q, *sort, *series, *view, *field, *focus, *call;
	struct ui_time from, to;
	struct { bool on; struct ui_time from, to; } against;
	uint32_t step, top, width, height, px, limit, pid;
	uint64_t after, before;		/* UINT64_MAX: not given */
	unsigned mode, by;		/* enum ui_mode, ui_by */
	bool reverse, invert, failed;
	bool columns;			/* answer in frames of columns: by the Accept header, not parsed here */
	const char *subs[UI_QUERY_SUBS];	/* of /live: targets */
	size_t n_subs;
	struct buf text;		/* owned */
};

/*
 * Parses @target, "/view/NAME?q=..." without /api/v1. -ENOENT: no such path; -EINVAL: a parameter; -E2BIG: too long;
 * -ENOMEM; with a sentence. ui_query_fini() in any case.
 */
int ui_query_parse(const char *target, struct ui_query *ret, struct err *err);
void ui_query_fini(struct ui_query *q);

#endif
