/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the gohttp2 events, between the table of calls (gohttp2_calls.c) and their rows and lines
 * (gohttp2_event.c).
 */
#ifndef GOHTTP2_EVENT_H
#define GOHTTP2_EVENT_H

#include <stdint.h>

#include "event/decode.h"
#include "event/event.h"
#include "probes/gohttp2/gohttp2_wire.h"

enum gohttp2_kind { GOHTTP2_KIND_HTTP, GOHTTP2_KIND_GRPC, GOHTTP2_KIND__MAX };

/* How a call ended. */
enum gohttp2_end {
	GOHTTP2_END_OPEN,     /* still open */
	GOHTTP2_END_DONE,     /* both sides ended the stream */
	GOHTTP2_END_RESET,    /* the stream was reset */
	GOHTTP2_END_CONN,     /* its connection ended first */
	GOHTTP2_END_EXIT,     /* its process ended first */
	GOHTTP2_END_REPLACED, /* its stream number was reused: the end was lost */
	GOHTTP2_END_EVICTED,  /* the table of open calls was full */
	GOHTTP2_END__MAX,
};

/* Strings of a call, behind the body. */
enum gohttp2_text {
	GOHTTP2_TEXT_PATH, /* :path */
	GOHTTP2_TEXT_HTTP_METHOD,
	GOHTTP2_TEXT_AUTHORITY,
	GOHTTP2_TEXT_CONTENT_TYPE,
	GOHTTP2_TEXT_AGENT,
	GOHTTP2_TEXT_MESSAGE, /* of the status, decoded */
	GOHTTP2_TEXT_HEADERS, /* configured ones, "name: value" lines */
	GOHTTP2_TEXT_PAYLOAD, /* of a frame, its first bytes */
	GOHTTP2_TEXT__MAX,
};

#define GOHTTP2_STATUS_UNKNOWN 0xffff /* none received */

struct gohttp2_call_body {
	struct sec_str text[GOHTTP2_TEXT__MAX];
	uint64_t opened_ns;  /* boot clock; 0 = before the start */
	uint64_t latency_ns; /* from the request to the end; 0 = unknown */
	uint64_t first_ns;   /* from the request to the response headers; 0 = none, or unknown */
	uint64_t timeout_ns; /* sent by the client; 0 = none */
	uint64_t sent_bytes, received_bytes; /* of DATA */
	uint64_t parent_goid;
	uint32_t sent_frames, received_frames;
	uint32_t reset_code;  /* HTTP/2 error code */
	uint32_t frame_bytes; /* of the DATA frame of this event */
	uint16_t status;      /* of gRPC; GOHTTP2_STATUS_UNKNOWN */
	uint16_t http_status; /* 0 = none */
	int32_t fd;	      /* -1 = unknown */
	uint8_t side, kind, end;
	uint8_t derived; /* the status is derived, not received */
	uint8_t error;
	uint8_t unix_socket;
	uint8_t reset_sent;		   /* by this process */
	uint8_t frame_sent;		   /* by this process */
	char trace[33], span[17], pad2[6]; /* traceparent; "" = none */
};

struct gohttp2_miss_body {
	uint64_t count;
	uint32_t site, line;
	char file[32], reason[96];
};

struct gohttp2_program_body {
	uint32_t n_sites, pad;
	char text[256];
};

extern const struct event_desc gohttp2_open_desc, gohttp2_call_desc, gohttp2_progress_desc, gohttp2_data_desc,
	gohttp2_miss_desc, gohttp2_program_desc;
extern const struct event_desc *const gohttp2_descs[];

/* Content in records: gohttp2_content.c. */
extern const struct content_rule gohttp2_content[];

#endif
