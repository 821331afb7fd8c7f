/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times of events as text. Wall-clock time is what the stream says (boot time plus its offset), never this
 * machine's clock; of the environment only the time zone counts.
 */
#ifndef SINKS_TIME_TEXT_H
#define SINKS_TIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "event/event.h"

struct buf;

/* Zeroed at the start. */
struct time_text {
	int64_t second;		/* of tm, since 1970 */
	bool have_tm, utc;	/* tm is valid, and in UTC */
	struct tm tm;
	bool have_first;
	uint64_t first_ns, last_ns; /* boot time of the first event and the one before this */
};

/*
 * The time column of @ev in @mode and a blank behind it; nothing for TIME_NONE. Modes that need the wall clock
 * show time since boot while the stream has not told it.
 */
int time_text_column(struct time_text *t, enum time_mode mode, const struct event *ev, struct buf *out);

/* The same without the blank, with all nine digits. */
int time_text_full(struct time_text *t, enum time_mode mode, const struct event *ev, struct buf *out);

/* "2026-11-21T13:00:00.000000001Z". Returns false, and adds nothing, when the wall clock is not known. */
bool time_text_rfc3339_utc(struct time_text *t, const struct event *ev, struct buf *out);

#endif
