/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call as text or JSON.
 */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct trace_call;

#define TRACE_TEXT_WIDTH_MIN 72u
#define TRACE_TEXT_WIDE 120u /* from here on a table stands beside the bars */

extern const char *const trace_text_states[], *const trace_text_causes[]; /* by enum trace_state, trace_cause */
extern const char *const trace_text_by[], *const trace_text_how[];
extern const char *const trace_text_held[]; /* by enum trace_held; of the first "" */

/*
 * The rows with bars, where the time went, and the events of the call. Lines are at most @width columns, at least
 * TRACE_TEXT_WIDTH_MIN. 0 or -ENOMEM.
 */
int trace_text(const struct trace_call *c, unsigned width, struct buf *out);

/*
 * One object: rows, segments, events; times in ns since boot, lengths in ns. `time_ns` is of the wall clock. Times
 * are strings with @time_as_text: readers of JSON may have no numbers of 64 bits. 0 or -ENOMEM.
 */
int trace_json(const struct trace_call *c, int64_t clock_offset_ns, bool time_as_text, struct buf *out);

#endif
