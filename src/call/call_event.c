// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and text lines of calls. Independent of records.
 */
#include "call/call_event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "call/call_group.h"

static const struct xlat_val side_vals[] = {
	{ CALL_EVENT_SIDE_CLIENT, "client" }, { CALL_EVENT_SIDE_SERVER, "server" },
};
static const struct xlat side_xlat = { .name = "rpc_side", .vals = side_vals, .n = ARRAY_SIZE(side_vals) };

static const struct xlat_val kind_vals[] = {
#define CALL_KIND(kind, name) { CALL_KIND_##kind, name },
#include "call/call_protocols.def"
};
static const struct xlat kind_xlat = { .name = "rpc_kind", .vals = kind_vals, .n = ARRAY_SIZE(kind_vals) };
_Static_assert(ARRAY_SIZE(kind_vals) == CALL_KIND__MAX, "a name per kind");

static const struct xlat_val source_vals[] = {
	{ CALL_EVENT_SOURCE_GO, "go" }, { CALL_EVENT_SOURCE_SOCKET, "socket" },
	{ CALL_EVENT_SOURCE_OPENSSL, "openssl" }, { CALL_EVENT_SOURCE_GNUTLS, "gnutls" },
	{ CALL_EVENT_SOURCE_GOTLS, "gotls" },
};
static const struct xlat source_xlat = { .name = "rpc_source", .vals = source_vals, .n = ARRAY_SIZE(source_vals) };
_Static_assert(ARRAY_SIZE(source_vals) == CALL_EVENT_SOURCE__MAX, "a name per source");

const char *call_event_source_name(uint8_t source)
{
	return xlat_name(&source_xlat, source);
}

static const struct xlat_val tls_vals[] = {
	{ CALL_EVENT_TLS_NONE, "none" }, { CALL_EVENT_TLS_NESTED, "nested" }, { CALL_EVENT_TLS_RANDOM, "random" },
	{ CALL_EVENT_TLS_KEPT, "kept" }, { CALL_EVENT_TLS_DESCRIPTOR, "descriptor" },
};
static const struct xlat tls_xlat = { .name = "rpc_tls_by", .vals = tls_vals, .n = ARRAY_SIZE(tls_vals) };
_Static_assert(ARRAY_SIZE(tls_vals) == CALL_EVENT_TLS__MAX, "a name per way");

static const struct xlat_val link_vals[] = {
	{ CALL_EVENT_LINK_NONE, "none" }, { CALL_EVENT_LINK_HEADER, "header" }, { CALL_EVENT_LINK_THREAD, "thread" },
	{ CALL_EVENT_LINK_INFERRED, "inferred" },
};
static const struct xlat link_xlat = { .name = "rpc_link", .vals = link_vals, .n = ARRAY_SIZE(link_vals) };
_Static_assert(ARRAY_SIZE(link_vals) == CALL_EVENT_LINK__MAX, "a name per link");

static const struct xlat_val incomplete_vals[] = {
	{ CALL_EVENT_CUT, "cut" }, { CALL_EVENT_HPACK, "hpack" }, { CALL_EVENT_MIDSTREAM, "midstream" },
	{ CALL_EVENT_SAMPLED, "sampled" },
};
static const struct xlat incomplete_xlat = {
	.name = "rpc_incomplete", .vals = incomplete_vals, .n = ARRAY_SIZE(incomplete_vals), .is_flags = true,
};

static const struct xlat_val end_vals[] = {
	{ CALL_EVENT_END_OPEN, "open" }, { CALL_EVENT_END_DONE, "done" }, { CALL_EVENT_END_RESET, "reset" },
	{ CALL_EVENT_END_CONN, "connection" }, { CALL_EVENT_END_EXIT, "exit" },
	{ CALL_EVENT_END_REPLACED, "replaced" }, { CALL_EVENT_END_EVICTED, "evicted" },
	{ CALL_EVENT_END_UNSENT, "unsent" }, { CALL_EVENT_END_ONEWAY, "oneway" }, { CALL_EVENT_END_LOST, "lost" },
};
static const struct xlat end_xlat = { .name = "rpc_end", .vals = end_vals, .n = ARRAY_SIZE(end_vals) };
_Static_assert(ARRAY_SIZE(end_vals) == CALL_EVENT_END__MAX, "a name per end");

/* https://grpc.io/docs/guides/status-codes/ */
static const struct xlat_val status_vals[] = {
	{ 0, "OK" }, { 1, "CANCELLED" }, { 2, "UNKNOWN" }, { 3, "INVALID_ARGUMENT" }, { 4, "DEADLINE_EXCEEDED" },
	{ 5, "NOT_FOUND" }, { 6, "ALREADY_EXISTS" }, { 7, "PERMISSION_DENIED" }, { 8, "RESOURCE_EXHAUSTED" },
	{ 9, "FAILED_PRECONDITION" }, { 10, "ABORTED" }, { 11, "OUT_OF_RANGE" }, { 12, "UNIMPLEMENTED" },
	{ 13, "INTERNAL" }, { 14, "UNAVAILABLE" }, { 15, "DATA_LOSS" }, { 16, "UNAUTHENTICATED" },
};
static const struct xlat status_xlat = {
	.name = "grpc_status", .vals = status_vals, .n = ARRAY_SIZE(status_vals),
};

/* RFC 9113, section 7 */
static const struct xlat_val reset_vals[] = {
	{ 0, "NO_ERROR" }, { 1, "PROTOCOL_ERROR" }, { 2, "INTERNAL_ERROR" }, { 3, "FLOW_CONTROL_ERROR" },
	{ 4, "SETTINGS_TIMEOUT" }, { 5, "STREAM_CLOSED" }, { 6, "FRAME_SIZE_ERROR" }, { 7, "REFUSED_STREAM" },
	{ 8, "CANCEL" }, { 9, "COMPRESSION_ERROR" }, { 10, "CONNECT_ERROR" }, { 11, "ENHANCE_YOUR_CALM" },
	{ 12, "INADEQUATE_SECURITY" }, { 13, "HTTP_1_1_REQUIRED" },
};
static const struct xlat reset_xlat = { .name = "h2_error", .vals = reset_vals, .n = ARRAY_SIZE(reset_vals) };

/* ---- fields ---- */

enum {
	GET_METHOD = CALL_EVENT_TEXT__MAX,
	GET_STATUS,
	GET_RESET,
	GET_NAME,
	GET_PEER,
	GET_PAYLOAD,
	GET_OPERATION,
	GET_RESOURCE,
	GET_ROWS,
	GET_ID,
	GET_RAW_NAME,
};

static const struct call_event_body *body_of(const struct event *ev)
{
	return ev->body_len >= sizeof(struct call_event_body) ? ev->body : NULL;
}

/* String @which of a call event; *ret_len is 0 if it has none. */
static const char *text_of(const struct event *ev, enum call_event_text which, size_t *ret_len)
{
	const struct call_event_body *b = body_of(ev);
	size_t strings;

	*ret_len = 0;
	if (!b)
		return "";
	strings = ev->body_len - sizeof(*b);
	if (b->text[which].off > strings || b->text[which].len > strings - b->text[which].off)
		return "";
	*ret_len = b->text[which].len;
	return (const char *)(b + 1) + b->text[which].off;
}

static int give_text(struct value *ret, const char *text, size_t len)
{
	*ret = (struct value){ .kind = VAL_STR, .str = text, .len = len };
	return len ? 0 : -ENOENT;
}

static int give_name(struct value *ret, const struct xlat *x, uint64_t u)
{
	const char *name = xlat_name(x, u);

	*ret = (struct value){ .kind = VAL_UINT, .u = u };
	if (name)
		*ret = (struct value){
			.kind = VAL_STR, .str = name, .len = strlen(name), .has_number = true, .u = u,
		};
	return 0;
}

static bool is_http(const struct call_event_body *b)
{
	return b->kind == CALL_KIND_HTTP || b->kind == CALL_KIND_HTTP2;
}

/* gRPC: package.Service/Method; else the HTTP method. */
static int get_method(const struct event *ev, const struct call_event_body *b, struct value *ret)
{
	size_t len;
	bool grpc = b->kind == CALL_KIND_GRPC;
	const char *text = text_of(ev, grpc ? CALL_EVENT_TEXT_PATH : CALL_EVENT_TEXT_HTTP_METHOD, &len);

	if (grpc && len && *text == '/') {
		text++;
		len--;
	}
	if (!len && is_http(b) && b->source == CALL_EVENT_SOURCE_GO && b->opened_ns)
		return give_text(ret, "GET", 3);	/* Go's clients leave it empty for GET */
	return give_text(ret, text, len);
}

/* The verb: of gRPC the method's name is the resource. */
static int get_operation(const struct event *ev, const struct call_event_body *b, struct value *ret)
{
	size_t len;
	const char *text = text_of(ev, CALL_EVENT_TEXT_OPERATION, &len);

	return is_http(b) || b->kind == CALL_KIND_GRPC ? -ENOENT : give_text(ret, text, len);
}

static int get_resource(const struct event *ev, const struct call_event_body *b, struct value *ret)
{
	size_t len;
	const char *text = text_of(ev, CALL_EVENT_TEXT_RESOURCE, &len);

	return is_http(b) || b->kind == CALL_KIND_GRPC ? -ENOENT : give_text(ret, text, len);
}

/* ---- names ---- */

/* The name of a call: as its line shows it, or as calls are counted by it, without or with ids. */
enum name_form { NAME_LINE, NAME_GROUP, NAME_RAW, NAME_FORM__MAX };

static void add_word(struct buf *out, const char *text, size_t len)
{
	if (!len)
		return;
	if (out->len)
		buf_add_char(out, ' ');
	buf_add(out, text, len);
}

/* A path without its query. */
static void add_path(struct buf *out, enum name_form form, const char *path, size_t len)
{
	const char *query = memchr(path, '?', len);
	size_t n = query ? (size_t)(query - path) : len;

	if (form == NAME_GROUP)
		call_group_add(out, path, n, "/");
	else
		buf_add(out, path, n);
}

/* Method and path. */
static void add_http_name(const struct event *ev, const struct call_event_body *b, enum name_form form,
			  struct buf *out)
{
	struct value method;
	size_t len;
	const char *path = text_of(ev, CALL_EVENT_TEXT_PATH, &len);

	if (get_method(ev, b, &method) < 0)
		return;
	buf_add(out, method.str, method.len);
	if (!len)
		return;
	if (form != NAME_LINE) {
		buf_add_char(out, ' ');
		add_path(out, form, path, len);
		return;
	}
	add_word(out, path, len);
	path = text_of(ev, CALL_EVENT_TEXT_QUERY, &len);
	if (len) {
		buf_add_char(out, '?');
		buf_add(out, path, len);
	}
}

/* Kind, operation, resource. */
static void add_other_name(const struct event *ev, const struct call_event_body *b, enum name_form form,
			   struct buf *out)
{
	const char *kind = xlat_name(&kind_xlat, b->kind);
	struct value v;

	buf_add_str(out, kind ? kind : "?");
	if (get_operation(ev, b, &v) == 0)
		add_word(out, v.str, v.len);
	if (get_resource(ev, b, &v) < 0)
		return;
	buf_add_char(out, ' ');
	if (form == NAME_GROUP)
		call_group_add(out, v.str, v.len, b->kind == CALL_KIND_FASTCGI ? "/" : "/.:");
	else
		buf_add(out, v.str, v.len);
}

static void add_name(const struct event *ev, const struct call_event_body *b, enum name_form form, struct buf *out)
{
	struct value v;

	if (is_http(b))
		add_http_name(ev, b, form, out);
	else if (b->kind != CALL_KIND_GRPC)
		add_other_name(ev, b, form, out);
	else if (get_method(ev, b, &v) == 0)
		buf_add(out, v.str, v.len);
}

/* Name that calls are counted by. */
static int get_name(const struct event *ev, const struct call_event_body *b, enum name_form form, struct value *ret)
{
	struct buf text = { 0 };
	const char *copy;

	add_name(ev, b, form, &text);
	copy = ev->scratch && text.len ? arena_copy(ev->scratch, text.data, text.len) : NULL;
	*ret = (struct value){ .kind = VAL_STR, .str = copy, .len = text.len };
	buf_fini(&text);
	return copy ? 0 : -ENOENT;
}

static void add_peer(const struct event *ev, const struct call_event_body *b, struct buf *out)
{
	bool server = b->side == CALL_EVENT_SIDE_SERVER;
	const struct conn *c = &ev->keys.conn;
	const struct ipaddr *ip = server ? &c->saddr : &c->daddr;

	if (b->unix_socket) {
		buf_add_str(out, "unix");
		return;
	}
	if (!ip->family)
		return;
	ipaddr_port_text(ip, server ? c->sport : c->dport, out);
}

static int get_peer(const struct event *ev, const struct call_event_body *b, struct value *ret)
{
	struct buf text = { 0 };
	const char *copy;

	add_peer(ev, b, &text);
	copy = ev->scratch && text.len ? arena_copy(ev->scratch, text.data, text.len) : NULL;
	*ret = (struct value){ .kind = VAL_STR, .str = copy, .len = text.len };
	buf_fini(&text);
	return copy ? 0 : -ENOENT;
}

static int get_id(const struct event *ev, const struct call_event_body *b, struct value *ret)
{
	char *text = ev->scratch ? arena_alloc(ev->scratch, CALL_ID_DIGITS + 1) : NULL;

	if (!text)
		return -ENOENT;
	snprintf(text, CALL_ID_DIGITS + 1, "%0*" PRIx64, CALL_ID_DIGITS, event_call_id(ev, b->opened_ns));
	return give_text(ret, text, CALL_ID_DIGITS);
}

static int get_status(const struct event *ev, const struct call_event_body *b, struct value *ret)
{
	size_t len;
	const char *text = text_of(ev, CALL_EVENT_TEXT_STATUS, &len);

	if (len)
		return give_text(ret, text, len);
	return b->status == CALL_EVENT_STATUS_UNKNOWN ? -ENOENT : give_name(ret, &status_xlat, b->status);
}

static int call_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct call_event_body *b = body_of(ev);
	const char *text;
	size_t len;

	if (!b)
		return -ENOENT;
	switch (f->off) {
	case GET_METHOD:
		return get_method(ev, b, ret);
	case GET_NAME: return get_name(ev, b, NAME_GROUP, ret);
	case GET_RAW_NAME: return get_name(ev, b, NAME_RAW, ret);
	case GET_PEER:
		return get_peer(ev, b, ret);
	case GET_ID:
		return get_id(ev, b, ret);
	case GET_PAYLOAD:
		text = text_of(ev, CALL_EVENT_TEXT_PAYLOAD, &len);
		*ret = (struct value){ .kind = VAL_BYTES, .str = text, .len = len };
		return len ? 0 : -ENOENT;
	case GET_STATUS: return get_status(ev, b, ret);
	case GET_OPERATION: return get_operation(ev, b, ret);
	case GET_RESOURCE: return get_resource(ev, b, ret);
	case GET_ROWS:
		*ret = (struct value){ .kind = VAL_UINT, .u = b->rows_1 - 1 };
		return b->rows_1 ? 0 : -ENOENT;
	case GET_RESET: return b->end == CALL_EVENT_END_RESET ? give_name(ret, &reset_xlat, b->reset_code) : -ENOENT;
	default: text = text_of(ev, f->off, &len); return give_text(ret, text, len);
	}
}

#define TEXT(word, what, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(FIELD_STR), .doc = (doc_), \
	  ##__VA_ARGS__ }
#define ROW(member, word, kind, doc, ...) FIELD_ROW(struct call_event_body, member, word, kind, doc, ##__VA_ARGS__)

static const struct field call_fields[] = {
	TEXT("rpc.id", GET_ID, "id of the call, for sonde trace", .flags = FIELD_OPEN),
	TEXT("rpc.method", GET_METHOD, "gRPC: package.Service/Method; else the method of HTTP"),
	TEXT("rpc.path", CALL_EVENT_TEXT_PATH, "path of the request"),
	TEXT("rpc.query", CALL_EVENT_TEXT_QUERY, "query string of HTTP: keys, with --show query also values"),
	TEXT("rpc.operation", GET_OPERATION, "databases, brokers, DNS...: the verb, command or type"),
	TEXT("rpc.resource", GET_RESOURCE, "its table, key (hashed), question, queue, topic or script"),
	TEXT("rpc.statement", CALL_EVENT_TEXT_STATEMENT,
	     "SQL, CQL or a document of MongoDB, without literals (--show literals)"),
	ROW(statement_id, "rpc.statement_id", FIELD_HEX, "hash of that", .flags = FIELD_OPTIONAL),
	TEXT("rpc.database", CALL_EVENT_TEXT_DATABASE, "database, keyspace or virtual host"),
	TEXT("rpc.name", GET_NAME,
	     "name that calls are counted by: the method, for HTTP with the path, ids in it as _; else kind, "
	     "operation and resource",
	     .flags = FIELD_SILENT),
	TEXT("rpc.raw_name", GET_RAW_NAME, "the same with the ids", .flags = FIELD_SILENT),
	ROW(kind, "rpc.kind", FIELD_ENUM, "protocol: grpc, http, postgresql...", .xlat = &kind_xlat),
	ROW(source, "rpc.source", FIELD_ENUM, "where its bytes were seen: Go's functions, sockets, TLS libraries",
	    .xlat = &source_xlat),
	ROW(tls_by, "rpc.tls_by", FIELD_ENUM, "how the socket of a TLS session was found", .xlat = &tls_xlat,
	    .flags = FIELD_OPTIONAL),
	ROW(side, "rpc.side", FIELD_ENUM, "side of the process: client or server", .xlat = &side_xlat),
	TEXT("rpc.status", GET_STATUS, "status of gRPC; SQLSTATE, rcode of DNS, name or code of other errors",
	     .flags = FIELD_OPEN),
	ROW(http_status, "rpc.http_status", FIELD_UINT, "status of HTTP, also behind FastCGI",
	    .flags = FIELD_OPTIONAL),
	TEXT("rpc.message", CALL_EVENT_TEXT_MESSAGE, "message of the status"),
	ROW(error, "rpc.error", FIELD_BOOL, "failed: a status other than OK, or no regular end"),
	ROW(latency_ns, "rpc.latency", FIELD_NS, "from the request's headers to the end", .flags = FIELD_OPTIONAL),
	ROW(first_ns, "rpc.first", FIELD_NS, "from the request's headers to those of the response",
	    .flags = FIELD_OPTIONAL),
	ROW(request_ns, "rpc.request_time", FIELD_NS, "from the first byte of the request to its last",
	    .flags = FIELD_OPTIONAL),
	ROW(server_ns, "rpc.server_time", FIELD_NS, "from there to the first byte of the response",
	    .flags = FIELD_OPTIONAL),
	ROW(response_ns, "rpc.response_time", FIELD_NS, "from there to its last byte", .flags = FIELD_OPTIONAL),
	ROW(queue_ns, "rpc.queue", FIELD_NS,
	    "from the arrival of the message that this side received to its first read (--show queue)",
	    .flags = FIELD_OPTIONAL),
	ROW(rtt_ns, "rpc.rtt", FIELD_NS, "round-trip time of the connection, smoothed", .flags = FIELD_OPTIONAL),
	ROW(timeout_ns, "rpc.timeout", FIELD_NS, "timeout that the client sent", .flags = FIELD_OPTIONAL),
	ROW(end, "rpc.end", FIELD_ENUM, "how it ended", .xlat = &end_xlat),
	TEXT("rpc.reset", GET_RESET, "reason of the reset that ended it", .flags = FIELD_OPEN),
	ROW(derived, "rpc.derived", FIELD_BOOL,
	    "the status is derived from how the RPC ended; the peer sent no status", .flags = FIELD_OPTIONAL),
	TEXT("rpc.peer", GET_PEER, "address of the other side", .flags = FIELD_OPEN),
	TEXT("rpc.authority", CALL_EVENT_TEXT_AUTHORITY, "requested host"),
	ROW(sent_bytes, "rpc.sent", FIELD_UINT, "bytes sent by this side; Go: of DATA (--probes data)",
	    .flags = FIELD_OPTIONAL),
	ROW(received_bytes, "rpc.received", FIELD_UINT, "bytes received", .flags = FIELD_OPTIONAL),
	ROW(sent_frames, "rpc.sent_frames", FIELD_UINT, "DATA frames sent", .flags = FIELD_OPTIONAL),
	ROW(received_frames, "rpc.received_frames", FIELD_UINT, "DATA frames received", .flags = FIELD_OPTIONAL),
	TEXT("rpc.content_type", CALL_EVENT_TEXT_CONTENT_TYPE, "content-type of the response, or of the request"),
	TEXT("rpc.user_agent", CALL_EVENT_TEXT_AGENT, "user-agent of the client"),
	TEXT("rpc.headers", CALL_EVENT_TEXT_HEADERS, "headers selected by --header, one per line"),
	ROW(trace, "rpc.trace", FIELD_STR, "trace id of W3C traceparent", .flags = FIELD_OPTIONAL),
	ROW(span, "rpc.span", FIELD_STR, "span id of the caller, of W3C traceparent", .flags = FIELD_OPTIONAL),
	{ .name = "rpc.rows",
	  .kind = FIELD_GET,
	  .off = GET_ROWS,
	  .like = FIELD_LIKE(FIELD_UINT),
	  .doc = "rows of a database's answer" },
	ROW(index, "rpc.index", FIELD_UINT, "calls outstanding on its connection before it", .flags = FIELD_OPTIONAL),
	ROW(ordinal, "rpc.ordinal", FIELD_UINT,
	    "number of the call on its connection, the same at both ends; of HTTP/2 the stream",
	    .flags = FIELD_OPTIONAL),
	ROW(link, "rpc.link", FIELD_ENUM, "how the call that caused it was found", .xlat = &link_xlat,
	    .flags = FIELD_OPTIONAL),
	ROW(parent, "rpc.parent", FIELD_UINT, "number of the call that it is part of (Go: --probes parents)",
	    .flags = FIELD_OPTIONAL),
	ROW(peer_call, "rpc.peer_call", FIELD_UINT, "number of the same call at its other end, on this host",
	    .flags = FIELD_OPTIONAL),
	ROW(incomplete, "rpc.incomplete", FIELD_FLAGS, "what is unknown about it", .xlat = &incomplete_xlat,
	    .flags = FIELD_OPTIONAL),
	ROW(parent_goid, "rpc.parent_goid", FIELD_UINT, "parent of the goroutine that ran", .flags = FIELD_OPTIONAL),
	TEXT("rpc.parent_path", CALL_EVENT_TEXT_PARENT, "and its path"),
	ROW(parent_opened_ns, "rpc.parent_opened", FIELD_NS, "and the time of its request since boot",
	    .flags = FIELD_OPTIONAL | FIELD_SILENT),
	ROW(parent_trace, "rpc.parent_trace", FIELD_STR, "and its trace id", .flags = FIELD_OPTIONAL | FIELD_SILENT),
	TEXT("rpc.payload", CALL_EVENT_TEXT_PAYLOAD, "first bytes of a DATA frame (--payload)",
	     .flags = FIELD_SILENT),
	{ .name = "rpc.payload_hex",
	  .kind = FIELD_GET,
	  .off = GET_PAYLOAD,
	  .doc = "first bytes of a DATA frame in hex digits" },
	ROW(frame_bytes, "rpc.frame_bytes", FIELD_UINT, "bytes of that frame", .flags = FIELD_OPTIONAL),
	ROW(frame_sent, "rpc.frame_sent", FIELD_BOOL, "this side sent it", .flags = FIELD_OPTIONAL),
	TEXT("rpc.logs", CALL_EVENT_TEXT_LOGS,
	     "lines that its goroutines wrote to logs while it was served (--logs)"),
	TEXT("rpc.log", CALL_EVENT_TEXT_LOG, "what one of them wrote at once"),
	ROW(log_bytes, "rpc.log_bytes", FIELD_UINT, "bytes written to logs, shown or not", .flags = FIELD_OPTIONAL),
	ROW(opened_ns, "rpc.opened", FIELD_NS, "time of the request since boot", .flags = FIELD_OPTIONAL),
};

/* ---- lines ---- */

static void add_escaped(struct buf *out, const char *before, const char *text, size_t len)
{
	buf_add_str(out, before);
	str_escape_buf(out, text, len);
}

/* Four digits at most: 12.3us, 4.56ms, 1.2s */
void call_event_add_time(struct buf *out, uint64_t ns)
{
	if (ns < 1000000)
		buf_printf(out, " %.1fus", (double)ns / 1e3);
	else if (ns < 1000000000)
		buf_printf(out, " %.2fms", (double)ns / 1e6);
	else
		buf_printf(out, " %.2fs", (double)ns / 1e9);
}

static void add_status(const struct event *ev, const struct call_event_body *b, struct buf *out)
{
	const char *name = b->status == CALL_EVENT_STATUS_UNKNOWN ? NULL : xlat_name(&status_xlat, b->status);
	const char *message, *reset;
	size_t len;
	const char *text = text_of(ev, CALL_EVENT_TEXT_STATUS, &len);

	if (len)
		add_escaped(out, " ", text, len);
	else if (name)
		buf_printf(out, " %s", name);
	else if (b->status != CALL_EVENT_STATUS_UNKNOWN)
		buf_printf(out, " status %u", b->status);
	else if (b->http_status && b->kind != CALL_KIND_GRPC)
		buf_printf(out, " %u", b->http_status);
	else if (b->http_status && b->http_status != 200)	/* 200 is implied by a gRPC call */
		buf_printf(out, " HTTP %u", b->http_status);
	else if (b->kind > CALL_KIND_GRPC)
		buf_add_str(out, b->error ? " failed" : " OK");
	else
		buf_add_str(out, " ?");
	message = text_of(ev, CALL_EVENT_TEXT_MESSAGE, &len);
	if (len) {
		add_escaped(out, " \"", message, len);
		buf_add_char(out, '"');
	}
	if (b->end == CALL_EVENT_END_RESET) {
		reset = xlat_name(&reset_xlat, b->reset_code);
		buf_printf(out, " (%s %s)", b->reset_sent ? "sent" : "got", reset ? reset : "reset");
	} else if (b->end > CALL_EVENT_END_DONE && b->end < CALL_EVENT_END__MAX) {
		buf_printf(out, " (%s)", xlat_name(&end_xlat, b->end));
	}
}

static void add_call(const struct event *ev, const struct call_event_body *b, struct buf *out)
{
	_cleanup_(buf_fini) struct buf name = { 0 };
	size_t before;

	event_who(ev, ev->tgid, out);
	buf_add_str(out, b->side == CALL_EVENT_SIDE_SERVER ? " <- " : " -> ");
	before = out->len;
	add_peer(ev, b, out);
	if (out->len > before)
		buf_add_char(out, ' ');
	add_name(ev, b, NAME_LINE, &name);
	if (name.len)
		str_escape_buf(out, name.data, name.len);
	else
		buf_add_char(out, '?');
}

/* Each line of a string of several, behind @before. */
static void add_lines(const struct event *ev, enum call_event_text which, const char *before, struct buf *out)
{
	size_t len;
	const char *text = text_of(ev, which, &len);

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		add_escaped(out, before, text, n);
		buf_add_char(out, '\n');
		n += end != NULL;
		text += n;
		len -= n;
	}
}

static int call_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct call_event_body *b = body_of(ev);
	const char *text;
	size_t len;

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	add_status(ev, b, out);
	if (b->latency_ns)
		call_event_add_time(out, b->latency_ns);
	if (b->sent_bytes || b->received_bytes)
		buf_printf(out, " sent %" PRIu64 " received %" PRIu64, b->sent_bytes, b->received_bytes);
	text = text_of(ev, CALL_EVENT_TEXT_PARENT, &len);
	if (len)
		add_escaped(out, " in ", text, len);
	if (o->verbose)
		buf_printf(out, " id %0*" PRIx64 " stream %u goroutine %" PRIu64, CALL_ID_DIGITS,
			   event_call_id(ev, b->opened_ns), ev->keys.rpc_stream, ev->keys.goid);
	if (o->verbose && b->trace[0])
		add_escaped(out, " trace ", b->trace, strnlen(b->trace, sizeof(b->trace)));
	buf_add_char(out, '\n');
	add_lines(ev, CALL_EVENT_TEXT_HEADERS, "        ", out);
	add_lines(ev, CALL_EVENT_TEXT_LOGS, "        | ", out);
	text_of(ev, CALL_EVENT_TEXT_LOGS, &len);
	if (b->log_bytes > len)
		buf_printf(out, "        | ... %" PRIu64 " bytes in all\n", b->log_bytes);
	return buf_error(out);
}

static int log_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct call_event_body *b = body_of(ev);
	const char *text;
	size_t len;

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	text = text_of(ev, CALL_EVENT_TEXT_LOG, &len);
	buf_printf(out, " writes %" PRIu64 " bytes", b->log_bytes);
	add_escaped(out, " \"", text, len);
	return buf_add_str(out, len < b->log_bytes ? "\"...\n" : "\"\n");
}

static int data_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct call_event_body *b = body_of(ev);
	const char *payload;
	size_t len;

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	payload = text_of(ev, CALL_EVENT_TEXT_PAYLOAD, &len);
	buf_printf(out, " %s %" PRIu32 " bytes", b->frame_sent ? "sends" : "gets", b->frame_bytes);
	add_escaped(out, " \"", payload, len);
	return buf_add_str(out, len < b->frame_bytes ? "\"...\n" : "\"\n");
}

static int open_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct call_event_body *b = body_of(ev);

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	buf_add_str(out, " ...");
	if (ev->ts_ns > b->opened_ns)
		call_event_add_time(out, ev->ts_ns - b->opened_ns);
	return buf_add_char(out, '\n');
}

/* ---- types ---- */

static void call_names(const struct event *ev, struct value *ret_method, struct value *ret_path)
{
	const struct call_event_body *b = body_of(ev);
	const char *path;
	size_t len;

	if (!b)
		return;
	get_method(ev, b, ret_method);
	path = text_of(ev, CALL_EVENT_TEXT_PATH, &len);
	give_text(ret_path, path, len);
}

#define CALL_DESC(type_, name_, doc_, class_, line_) \
	{ \
		.type = (type_), .name = (name_), .doc = (doc_), .class = (class_), .fields = call_fields, \
		.n_fields = ARRAY_SIZE(call_fields), .body_size = sizeof(struct call_event_body), \
		.sections = 1u << SEC_PROC, .call_names = call_names, .get = call_get, .line = (line_), \
	}

const struct event_desc call_event_end =
	CALL_DESC(CALL_EVENT_TYPE_END, "rpc.call", "a call ended: HTTP, gRPC, SQL, messages", EVENT_DATA, call_line);
const struct event_desc call_event_open =
	CALL_DESC(CALL_EVENT_TYPE_OPEN, "rpc.open", "a call began", EVENT_STATE, open_line);
const struct event_desc call_event_progress =
	CALL_DESC(CALL_EVENT_TYPE_PROGRESS, "rpc.progress", "a call is still open", EVENT_STATE, open_line);
const struct event_desc call_event_data =
	CALL_DESC(CALL_EVENT_TYPE_DATA, "rpc.data", "a DATA frame of a call, with --payload", EVENT_DATA, data_line);

const struct event_desc call_event_log =
	CALL_DESC(CALL_EVENT_TYPE_LOG, "rpc.log", "a goroutine that serves a call wrote to a log", EVENT_STATE,
		  log_line);
