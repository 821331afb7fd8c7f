// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and text lines of the gohttp2 events. Independent of records.
 */
#include "probes/gohttp2/gohttp2_event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"

static const struct xlat_val side_vals[] = { { GOHTTP2_SIDE_CLIENT, "client" }, { GOHTTP2_SIDE_SERVER, "server" } };
static const struct xlat side_xlat = { .name = "rpc_side", .vals = side_vals, .n = ARRAY_SIZE(side_vals) };

static const struct xlat_val kind_vals[] = { { GOHTTP2_KIND_HTTP, "http" }, { GOHTTP2_KIND_GRPC, "grpc" } };
static const struct xlat kind_xlat = { .name = "rpc_kind", .vals = kind_vals, .n = ARRAY_SIZE(kind_vals) };
_Static_assert(ARRAY_SIZE(kind_vals) == GOHTTP2_KIND__MAX, "a name per kind");

static const struct xlat_val end_vals[] = {
	{ GOHTTP2_END_OPEN, "open" },	    { GOHTTP2_END_DONE, "done" }, { GOHTTP2_END_RESET, "reset" },
	{ GOHTTP2_END_CONN, "connection" }, { GOHTTP2_END_EXIT, "exit" }, { GOHTTP2_END_REPLACED, "replaced" },
	{ GOHTTP2_END_EVICTED, "evicted" },
};
static const struct xlat end_xlat = { .name = "rpc_end", .vals = end_vals, .n = ARRAY_SIZE(end_vals) };
_Static_assert(ARRAY_SIZE(end_vals) == GOHTTP2_END__MAX, "a name per end");

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

enum { GET_METHOD = GOHTTP2_TEXT__MAX, GET_STATUS, GET_RESET, GET_NAME, GET_PEER, GET_PAYLOAD };

static const struct gohttp2_call_body *body_of(const struct event *ev)
{
	return ev->body_len >= sizeof(struct gohttp2_call_body) ? ev->body : NULL;
}

/* String @which of a call event; *ret_len is 0 if it has none. */
static const char *gohttp2_text(const struct event *ev, enum gohttp2_text which, size_t *ret_len)
{
	const struct gohttp2_call_body *b = body_of(ev);
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

/* gRPC: package.Service/Method; else the HTTP method. */
static int get_method(const struct event *ev, const struct gohttp2_call_body *b, struct value *ret)
{
	size_t len;
	bool grpc = b->kind == GOHTTP2_KIND_GRPC;
	const char *text = gohttp2_text(ev, grpc ? GOHTTP2_TEXT_PATH : GOHTTP2_TEXT_HTTP_METHOD, &len);

	if (grpc && len && *text == '/') {
		text++;
		len--;
	}
	if (!len && !grpc && b->opened_ns)
		return give_text(ret, "GET", 3);	/* Go's clients leave it empty for GET */
	return give_text(ret, text, len);
}

/* Name that calls are counted by: the method, for HTTP with the path. */
static int get_name(const struct event *ev, const struct gohttp2_call_body *b, struct value *ret)
{
	struct value method;
	size_t len, all;
	const char *path = gohttp2_text(ev, GOHTTP2_TEXT_PATH, &len);
	char *mem;

	if (get_method(ev, b, &method) < 0)
		return -ENOENT;
	if (b->kind == GOHTTP2_KIND_GRPC || !len || !ev->scratch) {
		*ret = method;
		return 0;
	}
	all = method.len + 1 + len;
	mem = arena_alloc(ev->scratch, all);
	if (!mem)
		return -ENOENT;
	memcpy(mem, method.str, method.len);
	mem[method.len] = ' ';
	memcpy(mem + method.len + 1, path, len);
	return give_text(ret, mem, all);
}

static void add_peer(const struct event *ev, const struct gohttp2_call_body *b, struct buf *out)
{
	bool server = b->side == GOHTTP2_SIDE_SERVER;
	const struct conn *c = &ev->keys.conn;
	const struct ipaddr *ip = server ? &c->saddr : &c->daddr;

	if (b->unix_socket) {
		buf_add_str(out, "unix");
		return;
	}
	if (!ip->family)
		return;
	buf_add_str(out, ip->family == 6 ? "[" : "");
	ipaddr_text(ip, out);
	buf_printf(out, "%s:%u", ip->family == 6 ? "]" : "", server ? c->sport : c->dport);
}

static int get_peer(const struct event *ev, const struct gohttp2_call_body *b, struct value *ret)
{
	struct buf text = { 0 };
	const char *copy;

	add_peer(ev, b, &text);
	copy = ev->scratch && text.len ? arena_copy(ev->scratch, text.data, text.len) : NULL;
	*ret = (struct value){ .kind = VAL_STR, .str = copy, .len = text.len };
	buf_fini(&text);
	return copy ? 0 : -ENOENT;
}

static int call_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct gohttp2_call_body *b = body_of(ev);
	const char *text;
	size_t len;

	if (!b)
		return -ENOENT;
	switch (f->off) {
	case GET_METHOD:
		return get_method(ev, b, ret);
	case GET_NAME:
		return get_name(ev, b, ret);
	case GET_PEER:
		return get_peer(ev, b, ret);
	case GET_PAYLOAD:
		text = gohttp2_text(ev, GOHTTP2_TEXT_PAYLOAD, &len);
		*ret = (struct value){ .kind = VAL_BYTES, .str = text, .len = len };
		return len ? 0 : -ENOENT;
	case GET_STATUS:
		return b->status == GOHTTP2_STATUS_UNKNOWN ? -ENOENT : give_name(ret, &status_xlat, b->status);
	case GET_RESET: return b->end == GOHTTP2_END_RESET ? give_name(ret, &reset_xlat, b->reset_code) : -ENOENT;
	default: text = gohttp2_text(ev, f->off, &len); return give_text(ret, text, len);
	}
}

#define TEXT(word, what, doc_, ...) \
	{ .name = (word), .kind = FIELD_GET, .off = (what), .like = FIELD_LIKE(FIELD_STR), .doc = (doc_), \
	  ##__VA_ARGS__ }
#define ROW(member, word, kind, doc, ...) FIELD_ROW(struct gohttp2_call_body, member, word, kind, doc, ##__VA_ARGS__)

static const struct field call_fields[] = {
	TEXT("rpc.method", GET_METHOD, "gRPC: package.Service/Method; else the method of HTTP"),
	TEXT("rpc.path", GOHTTP2_TEXT_PATH, "path of the request"),
	TEXT("rpc.name", GET_NAME, "name that calls are counted by: the method, for HTTP with the path",
	     .flags = FIELD_SILENT),
	ROW(kind, "rpc.kind", FIELD_ENUM, "grpc, or http", .xlat = &kind_xlat),
	ROW(side, "rpc.side", FIELD_ENUM, "side of the process: client or server", .xlat = &side_xlat),
	TEXT("rpc.status", GET_STATUS, "status of gRPC", .flags = FIELD_OPEN),
	ROW(http_status, "rpc.http_status", FIELD_UINT, "status of HTTP", .flags = FIELD_OPTIONAL),
	TEXT("rpc.message", GOHTTP2_TEXT_MESSAGE, "message of the status"),
	ROW(error, "rpc.error", FIELD_BOOL, "failed: a status other than OK, or no regular end"),
	ROW(latency_ns, "rpc.latency", FIELD_NS, "from the request's headers to the end", .flags = FIELD_OPTIONAL),
	ROW(first_ns, "rpc.first", FIELD_NS, "from the request's headers to those of the response",
	    .flags = FIELD_OPTIONAL),
	ROW(timeout_ns, "rpc.timeout", FIELD_NS, "timeout that the client sent", .flags = FIELD_OPTIONAL),
	ROW(end, "rpc.end", FIELD_ENUM, "how it ended", .xlat = &end_xlat),
	TEXT("rpc.reset", GET_RESET, "reason of the reset that ended it", .flags = FIELD_OPEN),
	ROW(derived, "rpc.derived", FIELD_BOOL,
	    "the status is derived from how the RPC ended; the peer sent no status", .flags = FIELD_OPTIONAL),
	TEXT("rpc.peer", GET_PEER, "address of the other side", .flags = FIELD_OPEN),
	TEXT("rpc.authority", GOHTTP2_TEXT_AUTHORITY, "requested host"),
	ROW(sent_bytes, "rpc.sent", FIELD_UINT, "bytes of DATA sent by this side (--probes data)",
	    .flags = FIELD_OPTIONAL),
	ROW(received_bytes, "rpc.received", FIELD_UINT, "bytes of DATA received (--probes data)",
	    .flags = FIELD_OPTIONAL),
	ROW(sent_frames, "rpc.sent_frames", FIELD_UINT, "DATA frames sent", .flags = FIELD_OPTIONAL),
	ROW(received_frames, "rpc.received_frames", FIELD_UINT, "DATA frames received", .flags = FIELD_OPTIONAL),
	TEXT("rpc.content_type", GOHTTP2_TEXT_CONTENT_TYPE, "content-type of the response, or of the request"),
	TEXT("rpc.user_agent", GOHTTP2_TEXT_AGENT, "user-agent of the client"),
	TEXT("rpc.headers", GOHTTP2_TEXT_HEADERS, "headers selected by --header, one per line"),
	ROW(trace, "rpc.trace", FIELD_STR, "trace id of W3C traceparent", .flags = FIELD_OPTIONAL),
	ROW(span, "rpc.span", FIELD_STR, "span id of the caller, of W3C traceparent", .flags = FIELD_OPTIONAL),
	ROW(parent_goid, "rpc.parent_goid", FIELD_UINT, "parent of the goroutine that ran", .flags = FIELD_OPTIONAL),
	TEXT("rpc.payload", GOHTTP2_TEXT_PAYLOAD, "first bytes of a DATA frame (--payload)", .flags = FIELD_SILENT),
	{ .name = "rpc.payload_hex",
	  .kind = FIELD_GET,
	  .off = GET_PAYLOAD,
	  .doc = "first bytes of a DATA frame in hex digits" },
	ROW(frame_bytes, "rpc.frame_bytes", FIELD_UINT, "bytes of that frame", .flags = FIELD_OPTIONAL),
	ROW(frame_sent, "rpc.frame_sent", FIELD_BOOL, "this side sent it", .flags = FIELD_OPTIONAL),
	ROW(opened_ns, "rpc.opened", FIELD_NS, "time of the request since boot", .flags = FIELD_OPTIONAL),
};

/* ---- lines ---- */

static void add_escaped(struct buf *out, const char *before, const char *text, size_t len)
{
	buf_add_str(out, before);
	str_escape_buf(out, text, len);
}

/* Four digits at most: 12.3us, 4.56ms, 1.2s */
static void add_time(struct buf *out, uint64_t ns)
{
	if (ns < 1000000)
		buf_printf(out, " %.1fus", (double)ns / 1e3);
	else if (ns < 1000000000)
		buf_printf(out, " %.2fms", (double)ns / 1e6);
	else
		buf_printf(out, " %.2fs", (double)ns / 1e9);
}

static void add_status(const struct event *ev, const struct gohttp2_call_body *b, struct buf *out)
{
	const char *name = b->status == GOHTTP2_STATUS_UNKNOWN ? NULL : xlat_name(&status_xlat, b->status);
	const char *message, *reset;
	size_t len;

	if (name)
		buf_printf(out, " %s", name);
	else if (b->status != GOHTTP2_STATUS_UNKNOWN)
		buf_printf(out, " status %u", b->status);
	else if (b->http_status && b->kind != GOHTTP2_KIND_GRPC)
		buf_printf(out, " %u", b->http_status);
	else if (b->http_status && b->http_status != 200)	/* 200 is implied by a gRPC call */
		buf_printf(out, " HTTP %u", b->http_status);
	else
		buf_add_str(out, " ?");
	message = gohttp2_text(ev, GOHTTP2_TEXT_MESSAGE, &len);
	if (len) {
		add_escaped(out, " \"", message, len);
		buf_add_char(out, '"');
	}
	if (b->end == GOHTTP2_END_RESET) {
		reset = xlat_name(&reset_xlat, b->reset_code);
		buf_printf(out, " (%s %s)", b->reset_sent ? "sent" : "got", reset ? reset : "reset");
	} else if (b->end > GOHTTP2_END_DONE && b->end < GOHTTP2_END__MAX) {
		buf_printf(out, " (%s)", xlat_name(&end_xlat, b->end));
	}
}

static void add_call(const struct event *ev, const struct gohttp2_call_body *b, struct buf *out)
{
	struct value name;
	size_t before;

	event_who(ev, ev->tgid, out);
	buf_add_str(out, b->side == GOHTTP2_SIDE_SERVER ? " <- " : " -> ");
	before = out->len;
	add_peer(ev, b, out);
	if (out->len > before)
		buf_add_char(out, ' ');
	if (get_name(ev, b, &name) == 0)
		str_escape_buf(out, name.str, name.len);
	else
		buf_add_char(out, '?');
}

static int call_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_call_body *b = body_of(ev);
	const char *headers;
	size_t len;

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	add_status(ev, b, out);
	if (b->latency_ns)
		add_time(out, b->latency_ns);
	if (b->sent_bytes || b->received_bytes)
		buf_printf(out, " sent %" PRIu64 " received %" PRIu64, b->sent_bytes, b->received_bytes);
	if (o->verbose)
		buf_printf(out, " stream %u goroutine %" PRIu64, ev->keys.rpc_stream, ev->keys.goid);
	if (o->verbose && b->trace[0])
		add_escaped(out, " trace ", b->trace, strnlen(b->trace, sizeof(b->trace)));
	buf_add_char(out, '\n');
	headers = gohttp2_text(ev, GOHTTP2_TEXT_HEADERS, &len);
	while (len) {
		const char *end = memchr(headers, '\n', len);
		size_t n = end ? (size_t)(end - headers) : len;

		add_escaped(out, "        ", headers, n);
		buf_add_char(out, '\n');
		n += end != NULL;
		headers += n;
		len -= n;
	}
	return buf_error(out);
}

static int data_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_call_body *b = body_of(ev);
	const char *payload;
	size_t len;

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	payload = gohttp2_text(ev, GOHTTP2_TEXT_PAYLOAD, &len);
	buf_printf(out, " %s %" PRIu32 " bytes", b->frame_sent ? "sends" : "gets", b->frame_bytes);
	add_escaped(out, " \"", payload, len);
	return buf_add_str(out, len < b->frame_bytes ? "\"...\n" : "\"\n");
}

static int open_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_call_body *b = body_of(ev);

	if (!b)
		return -EBADMSG;
	add_call(ev, b, out);
	buf_add_str(out, " ...");
	if (ev->ts_ns > b->opened_ns)
		add_time(out, ev->ts_ns - b->opened_ns);
	return buf_add_char(out, '\n');
}

static int miss_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_miss_body *b = ev->body;

	buf_printf(out, "%" PRIu64 " times: ", b->count);
	str_escape_buf(out, b->reason, strnlen(b->reason, sizeof(b->reason)));
	add_escaped(out, " (", b->file, strnlen(b->file, sizeof(b->file)));
	return buf_printf(out, ":%u)\n", b->line);
}

static int program_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct gohttp2_program_body *b = ev->body;

	event_who(ev, ev->tgid, out);
	if (b->n_sites)
		buf_printf(out, " is watched at %u places: ", b->n_sites);
	else
		buf_add_str(out, " cannot be watched: ");
	str_escape_buf(out, b->text, strnlen(b->text, sizeof(b->text)));
	return buf_add_char(out, '\n');
}

/* ---- types ---- */

#define CALL_DESC(type_, name_, doc_, class_, line_) \
	{ \
		.type = (type_), .name = (name_), .doc = (doc_), .class = (class_), .fields = call_fields, \
		.n_fields = ARRAY_SIZE(call_fields), .body_size = sizeof(struct gohttp2_call_body), \
		.sections = 1u << SEC_PROC, .get = call_get, .line = (line_), \
	}

const struct event_desc gohttp2_call_desc =
	CALL_DESC(GOHTTP2_REC_CALL, "rpc.call", "a gRPC or HTTP/2 call of a Go program ended", EVENT_DATA, call_line);
const struct event_desc gohttp2_open_desc =
	CALL_DESC(GOHTTP2_REC_OPEN, "rpc.open", "a call began", EVENT_STATE, open_line);
const struct event_desc gohttp2_progress_desc =
	CALL_DESC(GOHTTP2_REC_PROGRESS, "rpc.progress", "a call is still open", EVENT_STATE, open_line);
const struct event_desc gohttp2_data_desc =
	CALL_DESC(GOHTTP2_REC_DATA, "rpc.data", "a DATA frame of a call, with --payload", EVENT_DATA, data_line);

static const struct field miss_fields[] = {
	FIELD_ROW(struct gohttp2_miss_body, count, "miss.count", FIELD_UINT, "misses since the last report"),
	FIELD_ROW(struct gohttp2_miss_body, reason, "miss.reason", FIELD_STR, "why data is missing",
		  .flags = FIELD_OPEN),
	FIELD_ROW(struct gohttp2_miss_body, site, "miss.site", FIELD_UINT, "number of the cause"),
	FIELD_ROW(struct gohttp2_miss_body, file, "miss.file", FIELD_STR, "its file", .flags = FIELD_OPEN),
	FIELD_ROW(struct gohttp2_miss_body, line, "miss.line", FIELD_UINT, "its line"),
};
const struct event_desc gohttp2_miss_desc = {
	.type = GOHTTP2_REC_MISS,
	.name = "rpc.miss",
	.doc = "a part of a call could not be read",
	.class = EVENT_META,
	.fields = miss_fields,
	.n_fields = ARRAY_SIZE(miss_fields),
	.body_size = sizeof(struct gohttp2_miss_body),
	.line = miss_line,
};

static const struct field program_fields[] = {
	FIELD_ROW(struct gohttp2_program_body, n_sites, "program.places", FIELD_UINT,
		  "probe sites attached; 0 = the program cannot be watched"),
	FIELD_ROW(struct gohttp2_program_body, text, "program.text", FIELD_STR,
		  "Go release, or why it cannot be watched",
		  .flags = FIELD_OPEN),
};
const struct event_desc gohttp2_program_desc = {
	.type = GOHTTP2_REC_PROGRAM,
	.name = "rpc.program",
	.doc = "a Go program is watched from now on, or cannot be",
	.class = EVENT_STATE,
	.fields = program_fields,
	.n_fields = ARRAY_SIZE(program_fields),
	.body_size = sizeof(struct gohttp2_program_body),
	.sections = 1u << SEC_PROC,
	.line = program_line,
};

const struct event_desc *const gohttp2_descs[] = {
	&gohttp2_call_desc,
	&gohttp2_open_desc,
	&gohttp2_progress_desc,
	&gohttp2_data_desc,
	&gohttp2_miss_desc,
	&gohttp2_program_desc,
	NULL,
};
