/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the gorpc events, between the table of calls (gorpc_calls.c) and their rows and lines (gorpc_event.c).
 */
#ifndef GORPC_EVENT_H
#define GORPC_EVENT_H

#include <stdint.h>

#include "event/decode.h"
#include "event/event.h"
#include "probes/gorpc/gorpc_wire.h"

enum gorpc_kind { GORPC_KIND_HTTP, GORPC_KIND_GRPC, GORPC_KIND__MAX };

/* How a call ended. */
enum gorpc_end {
	GORPC_END_OPEN,		/* it has not */
	GORPC_END_DONE,		/* both sides said all they had to say */
	GORPC_END_RESET,	/* the stream was reset */
	GORPC_END_CONN,		/* its connection ended first */
	GORPC_END_EXIT,		/* its process ended first */
	GORPC_END_REPLACED,	/* another call has its place: the end was lost */
	GORPC_END_EVICTED,	/* too many calls are open to follow them all */
	GORPC_END__MAX,
};

/* Strings of a call, behind the body. */
enum gorpc_text {
	GORPC_TEXT_PATH,	/* :path */
	GORPC_TEXT_HTTP_METHOD,
	GORPC_TEXT_AUTHORITY,
	GORPC_TEXT_CONTENT_TYPE,
	GORPC_TEXT_AGENT,
	GORPC_TEXT_MESSAGE,	/* of the status, decoded */
	GORPC_TEXT_HEADERS,	/* configured ones, "name: value" lines */
	GORPC_TEXT_PAYLOAD,	/* of a frame, its first bytes */
	GORPC_TEXT__MAX,
};

#define GORPC_STATUS_UNKNOWN 0xffff	/* nobody said one */

struct gorpc_call_body {
	struct sec_str text[GORPC_TEXT__MAX];
	uint64_t opened_ns;	/* boot clock; 0 = before the start */
	uint64_t latency_ns;	/* from the request to the end; 0 = not known */
	uint64_t first_ns;	/* from the request to the first answer; 0 = there was none, or not known */
	uint64_t timeout_ns;	/* what the client said it would wait; 0 = for ever */
	uint64_t sent_bytes, received_bytes; /* of DATA */
	uint64_t parent_goid;
	uint32_t sent_frames, received_frames;
	uint32_t reset_code;	/* HTTP/2 error code */
	uint32_t frame_bytes;	/* of the DATA frame that the event is about */
	uint16_t status;	/* of gRPC; GORPC_STATUS_UNKNOWN */
	uint16_t http_status;	/* 0 = none */
	int32_t fd;		/* -1 = not known */
	uint8_t side, kind, end;
	uint8_t derived;	/* the status follows from how it ended, nobody said it */
	uint8_t error;
	uint8_t unix_socket;
	uint8_t reset_sent;	/* by this process */
	uint8_t frame_sent;	/* likewise */
	char trace[33], span[17], pad2[6];	/* traceparent; "" = none */
};

struct gorpc_miss_body {
	uint64_t count;
	uint32_t site, line;
	char file[32], reason[96];
};

struct gorpc_program_body {
	uint32_t n_sites, pad;
	char text[256];
};

extern const struct event_desc gorpc_open_desc, gorpc_call_desc, gorpc_progress_desc, gorpc_data_desc,
	gorpc_miss_desc, gorpc_program_desc;
extern const struct event_desc *const gorpc_descs[];

/* Content of the records: gorpc_content.c. */
extern const struct content_rule gorpc_content[];

#endif
