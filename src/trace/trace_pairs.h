/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call belongs to which: the other side, and the calls made for a call. Private to src/trace.
 */
#ifndef TRACE_PAIRS_H
#define TRACE_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/trace_call.h"
#include "trace/trace_window.h"

/* The other side of @call, NULL if it was not seen. */
const struct trace_fact *trace_pairs_other(const struct trace_window *w, const struct trace_fact *call);

/*
 * The next call from *pos on (0 at first) that is made for the server's call @server; NULL at the end. Counts in
 * *ambiguous what several calls of the process contain.
 */
const struct trace_fact *trace_pairs_child(const struct trace_window *w, const struct trace_fact *server, size_t *pos,
					   enum trace_how *ret_how, uint64_t *ambiguous);

#endif
