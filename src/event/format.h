/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-defined line formats: "%evt.num %evt.outputtime %proc.name (%thread.tid) %evt.info".
 *
 * A percent sign introduces a field (event/filter/filter.h), with an optional width (%10proc.name). An event that
 * lacks one of the fields prints no line; a leading * prints <NA> instead. %evt.outputtime is the time as --time
 * formats it; %evt.time, %evt.datetime and %evt.time.iso8601 have fixed formats.
 */
#ifndef EVENT_FORMAT_H
#define EVENT_FORMAT_H

#include <stdbool.h>

struct buf;
struct err;
struct event;
struct format;
struct registry;

/* -EINVAL with a message that names the position in @text. */
int format_parse(const struct registry *reg, const char *text, struct format **ret, struct err *err);
void format_free(struct format *f);
bool format_also(const struct format *f);	/* see filter_also() */

/*
 * Appends the line with its
 * , or nothing if the event lacks a field. @outputtime: value of %evt.outputtime. 0 or -ENOMEM.
 */
int format_event(const struct format *f, const struct event *ev, const char *outputtime, struct buf *out);

#endif
