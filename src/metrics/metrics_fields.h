/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of events behind the rows of tables/metrics.def: found once, then read.
 */
#ifndef METRICS_METRICS_FIELDS_H
#define METRICS_METRICS_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

#define METRICS_PARTS 6u	/* most fields of a pseudo field */

enum metrics_pseudo {
	METRICS_NO_PSEUDO, METRICS_ERROR_TYPE, METRICS_CPU_MODE, METRICS_CONN_ROLE, METRICS_CALL_RESULT,
	METRICS_COUNT_CAUSE, METRICS_SERVICE_NAME, METRICS_HUBBLE_PROTOCOL,
	METRICS_HUBBLE_TYPE, METRICS_HUBBLE_VERDICT, METRICS_PSEUDO__MAX,
};

struct metrics_field {
	const struct field *field;	/* NULL = events of the type lack it */
	bool common;
	enum metrics_pseudo pseudo;	/* not NO_PSEUDO: `field` is unused */
	const struct field *parts[METRICS_PARTS];
	bool common_parts;
};

/* False if neither the type nor all events have the field. @name NULL: an empty field, true. */
bool metrics_fields_find(const struct event_desc *d, const char *name, struct metrics_field *ret);
/* VAL_NONE if the event lacks it. A string is borrowed from the event. */
void metrics_fields_get(const struct metrics_field *f, const struct event *ev, struct value *ret);
/* False without a number. A negative one counts as 0. */
bool metrics_fields_number(const struct metrics_field *f, const struct event *ev, uint64_t *ret);

#endif
