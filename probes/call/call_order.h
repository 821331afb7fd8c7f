/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event rpc.conn: the decoder found that a connection needs other bytes than its programs keep. The live half passes
 * it to them.
 */
#ifndef CALL_ORDER_H
#define CALL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "sonde/wire.h"

struct call_order_body {
	uint8_t order;		/* CALL_ORDER_* */
	bool tls;		/* the plain text of a TLS connection, not the socket's bytes */
	char protocol[14];	/* "" = unknown */
};

extern const struct event_desc call_order_desc;

/* Fills @ev for the socket @cookie; its body is NULL without memory. @protocol may be NULL. */
void call_order_event(struct event *ev, const struct sonde_rec *r, uint64_t cookie, uint8_t order, bool tls,
		      const char *protocol, struct arena *mem);

#endif
