/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals of OpenTelemetry that "-o otlp" stands for.
 */
#ifndef SINKS_OTLP_SIGNALS_H
#define SINKS_OTLP_SIGNALS_H

#include <stddef.h>

struct sink_ops;

#define OTLP_SIGNALS 4

/*
 * The formats of "-o NAME:PATH". A server of OTLP/HTTP that is named without a path gets all signals; a file, and a
 * URL with a path, has one: format @own (NULL = traces), which is first in either case. Any other format than "otlp"
 * is itself. Returns their number.
 */
size_t otlp_signals(const struct sink_ops *ops, const char *path, const char *own,
		    const struct sink_ops *ret[OTLP_SIGNALS]);

#endif
