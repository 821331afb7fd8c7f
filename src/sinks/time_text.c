// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Time columns. Caches the broken-down time of the current second: many events share it, and localtime_r() would
 * dominate the cost of a line.
 */
#include "sinks/time_text.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/macros.h"

/* Floor division: only broken files have times before 1970, but they must not crash us. */
static int64_t split(int64_t ns, uint32_t *ret_frac)
{
	const int64_t second = NS_PER_S;
	int64_t s = ns / second, frac = ns % second;

	if (frac < 0) {
		frac += second;
		s--;
	}
	*ret_frac = (uint32_t)frac;
	return s;
}

/* Wraps on overflow: both offset and time may come from a broken file. */
static int64_t wall_ns(const struct event *ev)
{
	return (int64_t)event_wall_ns(ev);
}

/* Text of a second: "2026-11-21T13:00:00." */
static void make_text(struct time_text *t)
{
	struct buf b = buf_in(t->text, sizeof(t->text));

	buf_add_digits(&b, (uint32_t)(t->tm.tm_year + 1900), 4);
	buf_add_char(&b, '-');
	buf_add_digits(&b, (uint32_t)t->tm.tm_mon + 1, 2);
	buf_add_char(&b, '-');
	buf_add_digits(&b, (uint32_t)t->tm.tm_mday, 2);
	buf_add_char(&b, 'T');
	buf_add_digits(&b, (uint32_t)t->tm.tm_hour, 2);
	buf_add_char(&b, ':');
	buf_add_digits(&b, (uint32_t)t->tm.tm_min, 2);
	buf_add_char(&b, ':');
	buf_add_digits(&b, (uint32_t)t->tm.tm_sec, 2);
	buf_add_char(&b, '.');
}

static const struct tm *broken_down(struct time_text *t, int64_t second, bool utc)
{
	time_t s = (time_t)second;

	if (likely(t->have_tm && t->second == second && t->utc == utc))
		return &t->tm;
	if (utc)
		gmtime_r(&s, &t->tm);
	else
		localtime_r(&s, &t->tm);
	t->second = second;
	t->utc = utc;
	t->have_tm = true;
	make_text(t);
	return &t->tm;
}

/* Date, time and nanoseconds of the broken-down second; the caller adds the zone. */
static void rfc3339_part(const struct time_text *t, uint32_t frac, struct buf *out)
{
	buf_add(out, t->text, sizeof(t->text));
	buf_add_digits(out, frac, 9);
}

static void zone_part(const struct tm *tm, struct buf *out)
{
	uint32_t minutes = (uint32_t)(labs(tm->tm_gmtoff) / 60);

	buf_add_char(out, tm->tm_gmtoff < 0 ? '-' : '+');
	buf_add_digits(out, minutes / 60, 2);
	buf_add_char(out, ':');
	buf_add_digits(out, minutes % 60, 2);
}

bool time_text_rfc3339_utc(struct time_text *t, const struct event *ev, struct buf *out)
{
	uint32_t frac;
	int64_t s;

	if (!ev->clock_offset_ns)
		return false;
	s = split(wall_ns(ev), &frac);
	broken_down(t, s, true);
	rfc3339_part(t, frac, out);
	buf_add_char(out, 'Z');
	return true;
}

/* "12.345678901" with at most @n decimals; signed, since time can step back. */
static void seconds(struct buf *out, int64_t ns, unsigned n)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint32_t frac = (uint32_t)(v % NS_PER_S);

	if (ns < 0)
		buf_add_char(out, '-');
	buf_add_u64(out, v / NS_PER_S);
	buf_add_char(out, '.');
	for (unsigned i = n; i < 9; i++)
		frac /= 10;
	buf_add_digits(out, frac, n);
}

static void wall_column(struct time_text *t, enum time_mode mode, const struct event *ev, unsigned n, struct buf *out)
{
	uint32_t frac;
	int64_t s = split(wall_ns(ev), &frac);
	const struct tm *tm;

	if (mode == TIME_EPOCH) {
		seconds(out, wall_ns(ev), 9);
		return;
	}
	tm = broken_down(t, s, false);
	if (mode == TIME_RFC3339) {
		rfc3339_part(t, frac, out);
		zone_part(tm, out);
		return;
	}
	buf_add(out, t->text + TIME_TEXT_CLOCK, sizeof(t->text) - TIME_TEXT_CLOCK);
	buf_add_digits(out, n == 9 ? frac : frac / 1000, n);
}

/* @n decimals, unless the mode defines its own number. */
static int column(struct time_text *t, enum time_mode mode, const struct event *ev, unsigned n, struct buf *out)
{
	t->before_ns = t->last_ns;
	t->was_first = !t->have_first;
	if (!t->have_first) {
		t->have_first = true;
		t->first_ns = t->last_ns = ev->ts_ns;
	}
	switch (mode) {
	case TIME_LOCAL:
	case TIME_RFC3339:
	case TIME_EPOCH:
		if (ev->clock_offset_ns)
			wall_column(t, mode, ev, n, out);
		else
			seconds(out, (int64_t)ev->ts_ns, n);
		break;
	case TIME_DELTA:
		seconds(out, (int64_t)(ev->ts_ns - t->last_ns), n);
		break;
	case TIME_REL:
		seconds(out, (int64_t)(ev->ts_ns - t->first_ns), n);
		break;
	case TIME_MONO:
		seconds(out, (int64_t)ev->ts_ns, 9);
		break;
	case TIME_NONE:
	case TIME__MAX: break;
	}
	t->last_ns = ev->ts_ns;
	return buf_error(out);
}

void time_text_undo(struct time_text *t)
{
	t->last_ns = t->before_ns;
	t->have_first = !t->was_first;
}

int time_text_full(struct time_text *t, enum time_mode mode, const struct event *ev, struct buf *out)
{
	return column(t, mode, ev, 9, out);
}

int time_text_column(struct time_text *t, enum time_mode mode, const struct event *ev, struct buf *out)
{
	int r = column(t, mode, ev, 6, out);

	return r < 0 || mode >= TIME_NONE ? r : buf_add_char(out, ' ');
}
