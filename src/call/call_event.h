/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call as an event: one type whatever its protocol and source. Decoders of probes fill the body (gohttp2: HTTP/2
 * inside Go programs; call: bytes at sockets and TLS libraries); fields, filters and lines are the same for all.
 */
#ifndef CALL_CALL_EVENT_H
#define CALL_CALL_EVENT_H

#include <stdint.h>

#include "call/call_entry.h"
#include "event/event.h"
#include "sonde/wire.h"

/* Types of the events: numbers of the gohttp2 probe, which was the first to make them. Never records. */
#define CALL_EVENT_TYPE_OPEN SONDE_EV(5, 3)
#define CALL_EVENT_TYPE_END SONDE_EV(5, 4)
#define CALL_EVENT_TYPE_PROGRESS SONDE_EV(5, 5)
#define CALL_EVENT_TYPE_DATA SONDE_EV(5, 10)
#define CALL_EVENT_TYPE_LOG SONDE_EV(5, 13)	/* also a record */

/* Side of the process; 0 = unknown. */
enum call_event_side {
	CALL_EVENT_SIDE_UNKNOWN, CALL_EVENT_SIDE_CLIENT, CALL_EVENT_SIDE_SERVER, CALL_EVENT_SIDE__MAX,
};

/* Where the bytes of a call were seen. */
enum call_event_source {
	CALL_EVENT_SOURCE_GO, CALL_EVENT_SOURCE_SOCKET, CALL_EVENT_SOURCE_OPENSSL, CALL_EVENT_SOURCE_GNUTLS,
	CALL_EVENT_SOURCE_GOTLS, CALL_EVENT_SOURCE__MAX,
};

/* How the socket of a TLS session was found; 0 = no TLS. */
enum call_event_tls_by {
	CALL_EVENT_TLS_NONE, CALL_EVENT_TLS_NESTED, CALL_EVENT_TLS_RANDOM, CALL_EVENT_TLS_KEPT,
	CALL_EVENT_TLS_DESCRIPTOR, CALL_EVENT_TLS__MAX,
};

/* How the call that caused this one was found; 0 = none is known. */
enum call_event_link {
	CALL_EVENT_LINK_NONE, CALL_EVENT_LINK_HEADER, CALL_EVENT_LINK_THREAD, CALL_EVENT_LINK_INFERRED,
	CALL_EVENT_LINK__MAX,
};

/* Unknown parts of a call; bits. */
#define CALL_EVENT_CUT CALL_INCOMPLETE_CUT	/* a part of its bytes was not kept */
#define CALL_EVENT_HPACK CALL_INCOMPLETE_HPACK	/* headers refer to bytes from before the start */
#define CALL_EVENT_MIDSTREAM CALL_INCOMPLETE_MIDSTREAM	/* its connection began before it was watched */
#define CALL_EVENT_SAMPLED 8	/* one of several connections, the others are left out */

/* How a call ended. */
enum call_event_end {
	CALL_EVENT_END_OPEN,     /* still open */
	CALL_EVENT_END_DONE,     /* both sides ended the stream */
	CALL_EVENT_END_RESET,    /* the stream was reset */
	CALL_EVENT_END_CONN,     /* its connection ended first */
	CALL_EVENT_END_EXIT,     /* its process ended first */
	CALL_EVENT_END_REPLACED, /* its stream number was reused: the end was lost */
	CALL_EVENT_END_EVICTED,  /* the table of open calls was full */
	CALL_EVENT_END_UNSENT,   /* it failed before it was sent */
	CALL_EVENT_END_ONEWAY,   /* its protocol has no response to it */
	CALL_EVENT_END_LOST,     /* its end was not captured */
	CALL_EVENT_END__MAX,
};

/* Strings of a call, behind the body. */
enum call_event_text {
	CALL_EVENT_TEXT_PATH, /* :path */
	CALL_EVENT_TEXT_HTTP_METHOD,
	CALL_EVENT_TEXT_AUTHORITY,
	CALL_EVENT_TEXT_CONTENT_TYPE,
	CALL_EVENT_TEXT_AGENT,
	CALL_EVENT_TEXT_MESSAGE, /* of the status, decoded */
	CALL_EVENT_TEXT_HEADERS, /* configured ones, "name: value" lines */
	CALL_EVENT_TEXT_PARENT, /* :path of the call that it is part of */
	CALL_EVENT_TEXT_PAYLOAD, /* of a frame, its first bytes */
	CALL_EVENT_TEXT_LOG, /* of one write, its first bytes */
	CALL_EVENT_TEXT_LOGS, /* of all writes of the call, at most 16 KiB */
	CALL_EVENT_TEXT_OPERATION, /* verb; empty: the HTTP method */
	CALL_EVENT_TEXT_RESOURCE,  /* table, key, question...; empty: the path */
	CALL_EVENT_TEXT_QUERY,	   /* of HTTP: keys, or with values */
	CALL_EVENT_TEXT_STATEMENT,
	CALL_EVENT_TEXT_DATABASE,
	CALL_EVENT_TEXT_STATUS, /* SQLSTATE, error prefix, rcode; empty: of gRPC, or none */
	CALL_EVENT_TEXT__MAX,
};

#define CALL_EVENT_STATUS_UNKNOWN 0xffff /* none received */

/* gRPC status codes that the decoder derives: https://grpc.io/docs/guides/status-codes/ */
#define GRPC_CANCELLED 1
#define GRPC_DEADLINE_EXCEEDED 4
#define GRPC_PERMISSION_DENIED 7
#define GRPC_RESOURCE_EXHAUSTED 8
#define GRPC_INTERNAL 13
#define GRPC_UNAVAILABLE 14

/* HTTP/2 error codes with a gRPC status of their own: RFC 9113, section 7. */
#define H2_REFUSED_STREAM 7
#define H2_CANCEL 8
#define H2_ENHANCE_YOUR_CALM 11
#define H2_INADEQUATE_SECURITY 12

struct call_event_body {
	struct sec_str text[CALL_EVENT_TEXT__MAX];
	uint64_t opened_ns;  /* boot clock; 0 = before the start */
	uint64_t latency_ns; /* from the request to the end; 0 = unknown */
	uint64_t first_ns;   /* from the request to the response headers; 0 = none, or unknown */
	uint64_t timeout_ns; /* sent by the client; 0 = none */
	uint64_t sent_bytes, received_bytes; /* Go: of DATA */
	uint64_t request_ns, server_ns, response_ns; /* 0 = unknown */
	uint64_t queue_ns;   /* from the arrival of the received message to its first read; 0 = unknown */
	uint64_t rtt_ns;     /* smoothed round-trip time of the connection; 0 = unknown */
	uint64_t statement_id; /* 0 = none */
	uint64_t rows_1;     /* rows + 1; 0 = unknown */
	uint64_t parent;     /* number of the call that caused this one; 0 = unknown */
	uint64_t ordinal;    /* number of the call on its connection, the same at both ends; 0 = unknown */
	uint64_t peer_call;  /* number of the same call at the other end; 0 = unknown */
	uint64_t parent_goid;
	uint64_t parent_opened_ns; /* its opened_ns; 0 = it was not open */
	uint64_t log_bytes; /* written to logs, shown or not; rpc.log: by this write */
	uint32_t sent_frames, received_frames;
	uint32_t reset_code;  /* HTTP/2 error code */
	uint32_t frame_bytes; /* of the DATA frame of this event */
	uint32_t index;	      /* calls outstanding before it */
	uint16_t status;      /* of gRPC; CALL_EVENT_STATUS_UNKNOWN */
	uint16_t http_status; /* 0 = none */
	int32_t fd;	      /* -1 = unknown */
	uint8_t side, kind, end;
	uint8_t derived; /* the status is derived, not received */
	uint8_t error;
	uint8_t unix_socket;
	uint8_t reset_sent;		   /* by this process */
	uint8_t frame_sent;		   /* by this process */
	uint8_t source, tls_by, link;	   /* enum call_event_source, _tls_by, _link */
	uint8_t incomplete;		   /* CALL_EVENT_CUT... */
	char trace[33], span[17], pad2[6]; /* traceparent; "" = none */
	char parent_trace[33], pad3[7]; /* trace of the call that it is part of */
};

/* rpc.call, rpc.open, rpc.progress, rpc.data, rpc.log */
extern const struct event_desc call_event_end, call_event_open, call_event_progress, call_event_data,
	call_event_log;

/* "go", "socket"...: enum call_event_source as rpc.source has it; NULL = unknown. */
const char *call_event_source_name(uint8_t source);

/* Appends " 12.3us": four digits at most. */
void call_event_add_time(struct buf *out, uint64_t ns);

#endif
