/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event times as text. Wall-clock time is the stream's (boot time plus offset), never this machine's; only the time
 * zone comes from the environment.
 */
#ifndef SINKS_TIME_TEXT_H
#define SINKS_TIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "event/event.h"

struct buf;

#define TIME_TEXT_CLOCK 11	/* offset of the hours in time_text.text */

/* Starts zeroed. */
struct time_text {
	int64_t second;		/* that tm holds, since 1970 */
	bool have_tm, utc;	/* tm is valid; tm is in UTC */
	struct tm tm;
	char text[20];		/* of the second, as RFC 3339: "2026-11-21T13:00:00." */
	bool have_first, was_first; /* a column was made; and the latest is the first one */
	uint64_t first_ns, last_ns; /* boot time of the first and the previous event */
	uint64_t before_ns;	/* last_ns before the latest column */
};

/*
 * Time column of @ev in @mode, followed by a blank; nothing for TIME_NONE. Modes of the wall clock print time since
 * boot until the offset is known.
 */
int time_text_column(struct time_text *t, enum time_mode mode, const struct event *ev, struct buf *out);

/* time_text_column() without the blank, with all nine decimals. */
int time_text_full(struct time_text *t, enum time_mode mode, const struct event *ev, struct buf *out);

/* Forgets the event of the latest column: the next one counts from the event before it. */
void time_text_undo(struct time_text *t);

/* "2026-11-21T13:00:00.000000001Z". False, adding nothing, if the wall clock is unknown. */
bool time_text_rfc3339_utc(struct time_text *t, const struct event *ev, struct buf *out);

#endif
