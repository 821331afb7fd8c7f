/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call that a parser found, as the body of an event.
 */
#ifndef CALL_BODY_H
#define CALL_BODY_H

#include <stdint.h>

#include "call/call_event.h"

struct arena;

/*
 * Body of @c in @mem with its strings behind it; *ret_len its length. @server: the process answers. NULL without
 * memory.
 */
struct call_event_body *call_body_make(const struct call *c, bool server, struct arena *mem, uint32_t *ret_len);

/* Of the numbers in records: enum call_event_source (CALL_EVENT_SOURCE__MAX = unknown), enum call_event_tls_by. */
uint8_t call_body_source(uint8_t source);
uint8_t call_body_tls_by(uint8_t by);

/* Value of a header among the lines "name: value" of a call; NULL if it has none. Names are in lower case. */
const char *call_body_header(const struct call *c, const char *name, size_t *ret_len);

#endif
