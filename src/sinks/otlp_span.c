// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RPCs as spans. Message: opentelemetry/proto/trace/v1/trace.proto. Attributes: OpenTelemetry's semantic conventions
 * for RPC and gRPC spans (release candidate, after 1.37) and HTTP spans (stable). RPC spans also carry the attributes
 * of older conventions (rpc.system, rpc.service, rpc.grpc.status_code) where they do not conflict.
 */
#include "sinks/otlp_span.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "sinks/stack/protobuf.h"

/* Field numbers by message. */
enum { S_TRACE_ID = 1, S_SPAN_ID, S_TRACE_STATE, S_PARENT, S_NAME, S_KIND, S_START, S_END, S_ATTRIBUTES,
       S_STATUS = 15 };
enum { STATUS_MESSAGE = 2, STATUS_CODE };
enum { KV_KEY = 1, KV_VALUE };
enum { ANY_STRING = 1, ANY_BOOL, ANY_INT };
enum { KIND_SERVER = 2, KIND_CLIENT };
#define STATUS_ERROR 2

#define TRACE_BYTES 16
#define SPAN_BYTES 8

static const char *const words[] = {
	[OTLP_SIDE] = "rpc.side", [OTLP_KIND] = "rpc.kind", [OTLP_METHOD] = "rpc.method", [OTLP_PATH] = "rpc.path",
	[OTLP_STATUS] = "rpc.status", [OTLP_HTTP_STATUS] = "rpc.http_status", [OTLP_MESSAGE] = "rpc.message",
	[OTLP_ERROR] = "rpc.error", [OTLP_LATENCY] = "rpc.latency", [OTLP_FIRST] = "rpc.first",
	[OTLP_END] = "rpc.end", [OTLP_RESET] = "rpc.reset", [OTLP_DERIVED] = "rpc.derived",
	[OTLP_AUTHORITY] = "rpc.authority", [OTLP_PEER] = "rpc.peer", [OTLP_SENT] = "rpc.sent",
	[OTLP_RECEIVED] = "rpc.received", [OTLP_AGENT] = "rpc.user_agent", [OTLP_HEADERS] = "rpc.headers",
	[OTLP_TRACE] = "rpc.trace", [OTLP_SPAN] = "rpc.span", [OTLP_OPENED] = "rpc.opened",
};
_Static_assert(ARRAY_SIZE(words) == OTLP_WORD__MAX, "a name per word");

/* State while a span is encoded. */
struct call {
	struct otlp_spans *o;
	const struct event *ev;
	bool server, grpc;
	uint64_t status;	/* gRPC status; UINT64_MAX = none */
	uint64_t http_status;	/* 0 = none */
};

void otlp_span_fini(struct otlp_spans *o)
{
	buf_fini(&o->span);
	buf_fini(&o->kv);
	buf_fini(&o->any);
}

bool otlp_span_is_call(struct otlp_spans *o, const struct event_desc *desc)
{
	const char *arg;
	size_t arg_len;

	if (o->desc == desc)
		return o->is_call;
	o->desc = desc;
	for (unsigned i = 0; i < OTLP_WORD__MAX; i++)
		o->rows[i] = event_field_find(desc->fields, desc->n_fields, words[i], &arg, &arg_len);
	o->is_call = desc->class == EVENT_DATA && o->rows[OTLP_SIDE] && o->rows[OTLP_OPENED];
	return o->is_call;
}

/* ---- values ---- */

static bool get(const struct call *c, enum otlp_word word, struct value *ret)
{
	const struct field *f = c->o->rows[word];

	*ret = (struct value){ 0 };
	return f && event_get(c->ev, f, ret) == 0;
}

static uint64_t get_number(const struct call *c, enum otlp_word word, uint64_t otherwise)
{
	const struct field *f = c->o->rows[word];
	uint64_t n;

	return f && event_get_number(c->ev, f, &n) == 0 ? n : otherwise;
}

/* Empty if the event lacks the field. */
static struct value get_text(const struct call *c, enum otlp_word word)
{
	struct value v;

	if (!get(c, word, &v) || v.kind != VAL_STR)
		v.len = 0;
	return v;
}

static bool is_text(const struct value *v, const char *s)
{
	return v->kind == VAL_STR && v->len == strlen(s) && !memcmp(v->str, s, v->len);
}

static void add_kv(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key)
{
	buf_reset(&o->kv);
	protobuf_bytes(&o->kv, KV_KEY, key, strlen(key));
	protobuf_bytes(&o->kv, KV_VALUE, o->any.data, o->any.len);
	if (buf_error(&o->any) || buf_error(&o->kv))
		out->error = -ENOMEM;
	protobuf_bytes(out, field, o->kv.data, o->kv.len);
}

void otlp_span_text(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key, const char *text,
		    size_t len)
{
	buf_reset(&o->any);
	protobuf_text(&o->any, ANY_STRING, text, len);
	add_kv(o, out, field, key);
}

/* Encodes 0 as well: in a oneof it selects the member. */
void otlp_span_number(struct otlp_spans *o, struct buf *out, uint32_t field, const char *key, uint64_t v)
{
	buf_reset(&o->any);
	buf_add_char(&o->any, ANY_INT << 3);
	protobuf_varint(&o->any, v);
	add_kv(o, out, field, key);
}

static void add_text(const struct call *c, const char *key, const char *text, size_t len)
{
	if (len)
		otlp_span_text(c->o, &c->o->span, S_ATTRIBUTES, key, text, len);
}

static void add_str(const struct call *c, const char *key, const char *text)
{
	add_text(c, key, text, strlen(text));
}

static void add_number(const struct call *c, const char *key, uint64_t v)
{
	otlp_span_number(c->o, &c->o->span, S_ATTRIBUTES, key, v);
}

static void add_true(const struct call *c, const char *key)
{
	buf_reset(&c->o->any);
	protobuf_uint(&c->o->any, ANY_BOOL, 1);
	add_kv(c->o, &c->o->span, S_ATTRIBUTES, key);
}

static void add_word(const struct call *c, const char *key, enum otlp_word word)
{
	struct value v = get_text(c, word);

	add_text(c, key, v.str, v.len);
}

/* ---- parent and ids ---- */

static size_t unhex(const struct value *v, uint8_t *ret, size_t want)
{
	if (v->kind != VAL_STR || v->len != 2 * want)
		return 0;
	for (size_t i = 0; i < v->len; i++) {
		char ch = v->str[i];
		int d = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;

		if (d < 0)
			return 0;
		ret[i / 2] = (uint8_t)(i % 2 ? ret[i / 2] | d : d << 4);
	}
	return want;
}

/*
 * An id derived from the RPC: identical in each replay. It includes the wall-clock start, so ids differ between RPCs
 * and machines.
 */
static void make_id(const struct call *c, uint64_t salt, uint8_t *ret)
{
	const struct event *ev = c->ev;
	uint64_t opened_ns = get_number(c, OTLP_OPENED, ev->ts_ns);	/* falls back to its end: never 0 */
	const uint64_t key[] = {
		salt, ev->start_ns, ev->tgid, ev->keys.rpc_conn, ev->keys.rpc_stream, c->server, opened_ns,
		(uint64_t)ev->clock_offset_ns,
	};
	uint64_t h = map_hash(key, sizeof(key));

	h = h ? h : 1;	/* an id of zero is invalid */
	memcpy(ret, &h, sizeof(h));
}

static void add_ids(const struct call *c)
{
	struct value trace = get_text(c, OTLP_TRACE), span = get_text(c, OTLP_SPAN);
	uint8_t id[TRACE_BYTES], parent[SPAN_BYTES], own[SPAN_BYTES];
	bool told = unhex(&trace, id, sizeof(id)) && unhex(&span, parent, sizeof(parent));

	if (!told) {
		make_id(c, 1, id);
		make_id(c, 2, id + sizeof(uint64_t));
	}
	make_id(c, 3, own);
	protobuf_bytes(&c->o->span, S_TRACE_ID, id, sizeof(id));
	protobuf_bytes(&c->o->span, S_SPAN_ID, own, sizeof(own));
	if (told)
		protobuf_bytes(&c->o->span, S_PARENT, parent, sizeof(parent));
}

static void add_ip(const struct call *c, const char *key, const struct ipaddr *ip)
{
	struct buf text = { 0 };

	ipaddr_text(ip, &text);
	add_text(c, key, text.data, text.len);
	buf_fini(&text);
}

/* Parses HOST, HOST:PORT or [HOST]:PORT. Returns the host's length; *ret_port 0 = none. */
static size_t split_host(const struct value *v, size_t *ret_from, uint64_t *ret_port)
{
	size_t end = v->len, from = 0;
	uint64_t port = 0, unit = 1;

	while (end && v->str[end - 1] >= '0' && v->str[end - 1] <= '9' && unit < 1000000) {
		port += (uint64_t)(v->str[--end] - '0') * unit;
		unit *= 10;
	}
	*ret_port = 0;
	if (end && end < v->len && v->str[end - 1] == ':' && port && port < 65536) {
		*ret_port = port;
		end--;
	} else {
		end = v->len;
	}
	if (end > 2 && v->str[0] == '[' && v->str[end - 1] == ']') {
		from = 1;
		end--;
	}
	*ret_from = from;
	return end - from;
}

/* The server's name as the client sent it, else its address. */
static void add_server(const struct call *c)
{
	struct value host = get_text(c, OTLP_AUTHORITY);
	const struct conn *pair = &c->ev->keys.conn;
	uint64_t port = 0;
	size_t from, len;

	if (host.len) {
		len = split_host(&host, &from, &port);
		add_text(c, "server.address", host.str + from, len);
	} else if (pair->daddr.family) {
		add_ip(c, "server.address", &pair->daddr);
	}
	port = port ? port : pair->dport;
	if (port)
		add_number(c, "server.port", port);
}

static void add_network(const struct call *c)
{
	const struct conn *pair = &c->ev->keys.conn;
	const struct ipaddr *ip = c->server ? &pair->saddr : &pair->daddr;
	struct value peer = get_text(c, OTLP_PEER);

	add_server(c);
	if (is_text(&peer, "unix"))
		add_str(c, "network.transport", "unix");
	if (!ip->family)
		return;
	add_str(c, "network.transport", "tcp");
	add_str(c, "network.type", ip->family == 6 ? "ipv6" : "ipv4");
	add_ip(c, "network.peer.address", ip);
	add_number(c, "network.peer.port", c->server ? pair->sport : pair->dport);
	if (c->server) {
		add_ip(c, "client.address", ip);
		add_number(c, "client.port", pair->sport);
	}
}

/* ---- method and result ---- */

/* gRPC statuses that the gRPC conventions count as server errors. */
static bool is_server_error(uint64_t status)
{
	static const uint32_t bits = 1u << 2 | 1u << 4 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15;

	return status < 32 && bits & 1u << status;
}

static bool is_error(const struct call *c)
{
	if (c->grpc && c->server && c->status != UINT64_MAX)
		return is_server_error(c->status);
	return get_number(c, OTLP_ERROR, 0);
}

static void add_digits(const struct call *c, const char *key, uint64_t n)
{
	char text[24];

	add_text(c, key, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, n));
}

/* gRPC's name of the status, or its number if it has none. */
static void add_status_word(const struct call *c, const char *key)
{
	struct value status = get_text(c, OTLP_STATUS);

	if (status.len)
		add_text(c, key, status.str, status.len);
	else if (c->status != UINT64_MAX)
		add_digits(c, key, c->status);
}

/* The status if there is one, else the reason for the end: "reset", "connection", "exit"... */
static void add_error_type(const struct call *c)
{
	if (c->status != UINT64_MAX)
		add_status_word(c, "error.type");
	else if (!c->grpc && c->http_status >= 400)
		add_digits(c, "error.type", c->http_status);
	else
		add_word(c, "error.type", OTLP_END);
}

/* "package.Service/Method" is rpc.method; the part before the slash is the older rpc.service. */
static void add_grpc(const struct call *c)
{
	struct value method = get_text(c, OTLP_METHOD);
	const char *slash = method.len ? memrchr(method.str, '/', method.len) : NULL;

	add_str(c, "rpc.system.name", "grpc");
	add_str(c, "rpc.system", "grpc");
	if (method.len)
		add_text(c, "rpc.method", method.str, method.len);
	if (slash)
		add_text(c, "rpc.service", method.str, (size_t)(slash - method.str));
	add_status_word(c, "rpc.response.status_code");
	if (c->status != UINT64_MAX)
		add_number(c, "rpc.grpc.status_code", c->status);
}

static void add_http(const struct call *c)
{
	struct value path = get_text(c, OTLP_PATH);
	const char *query = path.len ? memchr(path.str, '?', path.len) : NULL;
	size_t len = query ? (size_t)(query - path.str) : path.len;

	add_word(c, "http.request.method", OTLP_METHOD);
	add_text(c, "url.path", path.str, len);
	if (query)
		add_text(c, "url.query", query + 1, path.len - len - 1);
	if (c->http_status)
		add_number(c, "http.response.status_code", c->http_status);
	add_str(c, "network.protocol.name", "http");
	add_str(c, "network.protocol.version", "2");
}

/* Attributes without a convention. */
static void add_own(const struct call *c)
{
	struct value first = { 0 };

	if (!get_number(c, OTLP_OPENED, 0))
		add_true(c, "sonde.start_unknown");
	if (get_number(c, OTLP_DERIVED, 0))
		add_true(c, "sonde.status_derived");
	add_word(c, "sonde.end", OTLP_END);
	add_word(c, "sonde.reset", OTLP_RESET);
	add_number(c, "sonde.stream", c->ev->keys.rpc_stream);
	if (c->ev->keys.goid)
		add_number(c, "sonde.goroutine", c->ev->keys.goid);
	if (c->ev->keys.cookie)
		add_number(c, "sonde.socket_cookie", c->ev->keys.cookie);
	if (get(c, OTLP_FIRST, &first))
		add_number(c, "sonde.first_response_ns", first.u);
	if (get(c, OTLP_SENT, &first))
		add_number(c, "sonde.sent_bytes", first.u);
	if (get(c, OTLP_RECEIVED, &first))
		add_number(c, "sonde.received_bytes", first.u);
}

/* "name: value" lines. The probe has removed secrets. */
static void add_headers(const struct call *c)
{
	struct value all = get_text(c, OTLP_HEADERS);
	const char *at = all.str, *stop = all.len ? all.str + all.len : at;

	while (at < stop) {
		const char *end = memchr(at, '\n', (size_t)(stop - at));
		const char *colon = memchr(at, ':', (size_t)((end ? end : stop) - at));
		char key[96] = "sonde.header.";
		size_t n = strlen(key), name = colon ? (size_t)(colon - at) : 0;

		end = end ? end : stop;
		if (name && name < sizeof(key) - n && colon + 2 <= end) {
			for (size_t i = 0; i < name; i++)	/* keys must be UTF-8 */
				key[n + i] = (char)(at[i] > ' ' && at[i] < 0x7f ? at[i] : '_');
			key[n + name] = 0;
			otlp_span_text(c->o, &c->o->span, S_ATTRIBUTES, key, colon + 2, (size_t)(end - colon - 2));
		}
		at = end + 1;
	}
}

/* gRPC: the full method. HTTP: the request method alone, since paths have unbounded cardinality. */
static void add_name(const struct call *c)
{
	struct value method = get_text(c, OTLP_METHOD);

	if (!method.len)
		protobuf_text(&c->o->span, S_NAME, c->grpc ? "grpc" : "HTTP", 4);
	else
		protobuf_text(&c->o->span, S_NAME, method.str, method.len);
}

static void add_times(const struct call *c)
{
	uint64_t end_ns = c->ev->ts_ns, start_ns = get_number(c, OTLP_OPENED, end_ns);
	uint64_t offset_ns = (uint64_t)c->ev->clock_offset_ns;

	protobuf_fixed64(&c->o->span, S_START, start_ns + offset_ns);
	protobuf_fixed64(&c->o->span, S_END, end_ns + offset_ns);
}

static void add_status(const struct call *c)
{
	struct value message = get_text(c, OTLP_MESSAGE);

	if (!is_error(c))
		return;
	add_error_type(c);
	buf_reset(&c->o->any);
	if (message.len)
		protobuf_text(&c->o->any, STATUS_MESSAGE, message.str, message.len);
	protobuf_uint(&c->o->any, STATUS_CODE, STATUS_ERROR);
	if (buf_error(&c->o->any))
		c->o->span.error = -ENOMEM;
	protobuf_bytes(&c->o->span, S_STATUS, c->o->any.data, c->o->any.len);
}

int otlp_span(struct otlp_spans *o, const struct event *ev)
{
	struct call c = { .o = o, .ev = ev };
	struct value side, kind;

	if (!otlp_span_is_call(o, ev->desc))
		return -EINVAL;
	get(&c, OTLP_SIDE, &side);
	get(&c, OTLP_KIND, &kind);
	c.server = is_text(&side, "server");
	c.grpc = is_text(&kind, "grpc");
	c.status = c.grpc ? get_number(&c, OTLP_STATUS, UINT64_MAX) : UINT64_MAX;
	c.http_status = get_number(&c, OTLP_HTTP_STATUS, 0);
	buf_reset(&o->span);
	add_ids(&c);
	add_name(&c);
	protobuf_uint(&o->span, S_KIND, c.server ? KIND_SERVER : KIND_CLIENT);
	add_times(&c);
	if (c.grpc)
		add_grpc(&c);
	else
		add_http(&c);
	add_network(&c);
	add_word(&c, "user_agent.original", OTLP_AGENT);
	if (ev->tid)
		add_number(&c, "thread.id", ev->tid);
	add_own(&c);
	add_headers(&c);
	add_status(&c);
	return buf_error(&o->span);
}
