/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/cmd/views*.c only.
 */
#ifndef CMD_VIEWS_IMPL_H
#define CMD_VIEWS_IMPL_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "cmd/views.h"

enum view_unit { UNIT_BYTES, UNIT_NS, UNIT_COUNT, UNIT_CPU, UNIT__MAX };

/* An event as the tables look at it. */
struct view_event {
	const struct event *ev;
	const struct scap_view *v;
	const char *call;		/* its name */
	int64_t res;
	uint64_t latency_ns, moved;	/* moved: bytes, of successful I/O */
	bool leaves, failed;
};

struct view_kind {
	const char *name, *title, *key;
	enum view_unit unit;
	unsigned needs;			/* VIEW_NEEDS_* */
	bool largest;			/* the value is the largest seen, not the sum */
	/* Adds the key's text and says the value; false when the event is none of this table's. */
	bool (*take)(const struct view_event *e, struct buf *key, uint64_t *ret_value);
};
extern const struct view_kind view_kinds[];
extern const size_t view_n_kinds;

struct view_row {
	char *key;			/* owned, printable */
	uint64_t value, count;
};

struct view_table {
	const struct view_kind *kind;
	VEC(struct view_row) rows;
	struct map by_key;		/* uint64_t hash of the key -> uint32_t index */
	uint64_t total;
};

/* Latencies by tenths of a decade, from 1 us to 10 s; the first and last take what is beyond. */
#define SPECTRUM_STEPS 70

struct screen;

struct views {
	VEC(struct view_table *) tables;
	bool spectrum;
	uint64_t steps[SPECTRUM_STEPS];	/* of the interval at hand */
	uint64_t interval_ns;		/* its beginning; 0 = nothing yet */
	bool spectrum_color, spectrum_begun;
	uint64_t first_ns, last_ns;	/* of the events */
	struct buf key;			/* scratch */
	struct screen *screen;		/* NULL = none */
	struct pipeline *pipeline;
	size_t shown;			/* the table on the screen */
	bool paused;
};

/* The heaviest first. */
void view_sort(struct view_table *t);
/* One line of the spectrogram for the interval at hand, which is empty then. */
void spectrum_line(struct views *v);

#endif
