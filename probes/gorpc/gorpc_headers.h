/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers of a frame into what is known of its call.
 */
#ifndef GORPC_HEADERS_H
#define GORPC_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "probes/gorpc/gorpc_wire.h"

struct gorpc_call;

/* Are the fields whole? The functions below rely on it. */
bool gorpc_headers_check(struct cursor fields);
bool gorpc_headers_has(struct cursor fields, enum gorpc_header which);
/* 0 or -ENOMEM. */
int gorpc_headers_apply(struct gorpc_call *c, struct cursor fields);

/* "200m" and the like in ns, 0 when it makes no sense. */
uint64_t gorpc_timeout_ns(const char *text, size_t len);
/* Percent-decoding, in place; what is no code stays. Returns the new length. */
size_t gorpc_percent_decode(char *text, size_t len);
/* W3C trace context, version 00 or later: @trace gets 33 bytes, @span 17. False when it is none. */
bool gorpc_traceparent(const char *text, size_t len, char *trace, char *span);

#endif
