/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines in a form of the user's own: "%evt.num %evt.outputtime %proc.name (%thread.tid) %evt.info".
 *
 * Behind a percent sign stand the words of filters (event/filter/filter.h), with a width in front if wanted
 * (%10proc.name). An event that lacks one of them has no line; with a * at the beginning of the form <NA> stands in
 * its place. %evt.outputtime is the time as --time has it; %evt.time, %evt.datetime, %evt.time.iso8601 are times of
 * their own.
 */
#ifndef EVENT_FORMAT_H
#define EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct event;
struct format;
struct registry;

/* -EINVAL with a sentence that names the place. */
int format_parse(const struct registry *reg, const char *text, struct format **ret, struct err *err);
void format_free(struct format *f);
bool format_also(const struct format *f);	/* as filter_also() */

/*
 * Appends the line, its \n included, or nothing when the event has no line. @outputtime: text of that word.
 * 0 or -ENOMEM.
 */
int format_event(const struct format *f, const struct event *ev, const char *outputtime, struct buf *out);

#endif
