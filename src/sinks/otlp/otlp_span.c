// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RPCs as spans. Message: opentelemetry/proto/trace/v1/trace.proto. Attributes: OpenTelemetry's semantic conventions
 * for RPC and gRPC spans (1.45), HTTP and database spans (stable), messaging and DNS spans (development).
 * RPC spans also carry the attributes of older conventions (rpc.system, rpc.service, rpc.grpc.status_code,
 * rpc.response.status_code) where they do not conflict.
 */
#include "sinks/otlp/otlp_span.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/protobuf/protobuf.h"
#include "sonde/ident_wire.h"

/* Field numbers by message. */
enum { S_TRACE_ID = 1, S_SPAN_ID, S_TRACE_STATE, S_PARENT, S_NAME, S_KIND, S_START, S_END, S_ATTRIBUTES,
       S_STATUS = 15 };
enum { STATUS_MESSAGE = 2, STATUS_CODE };
enum { KIND_SERVER = 2, KIND_CLIENT, KIND_PRODUCER, KIND_CONSUMER };
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
	[OTLP_PARENT] = "rpc.parent", [OTLP_PARENT_OPENED] = "rpc.parent_opened",
	[OTLP_PARENT_TRACE] = "rpc.parent_trace", [OTLP_SOURCE] = "rpc.source", [OTLP_OPERATION] = "rpc.operation",
	[OTLP_RESOURCE] = "rpc.resource", [OTLP_STATEMENT] = "rpc.statement", [OTLP_DATABASE] = "rpc.database",
	[OTLP_ROWS] = "rpc.rows", [OTLP_QUERY] = "rpc.query",
};
_Static_assert(ARRAY_SIZE(words) == OTLP_WORD__MAX, "a name per word");

enum family { FAMILY_WEB, FAMILY_FASTCGI, FAMILY_KEYS, FAMILY_DATABASE, FAMILY_MESSAGING, FAMILY_DNS,
	      FAMILY__MAX };

/* Kinds of calls beside HTTP and gRPC, and the conventions' names of their systems. */
static const struct system {
	const char *kind, *name;
	enum family family;
} systems[] = {
	{ "postgresql", "postgresql", FAMILY_DATABASE },
	{ "mysql", "mysql", FAMILY_DATABASE },
	{ "cql", "cassandra", FAMILY_DATABASE },
	{ "mongodb", "mongodb", FAMILY_DATABASE },
	{ "redis", "redis", FAMILY_KEYS },
	{ "memcached", "memcached", FAMILY_KEYS },
	{ "kafka", "kafka", FAMILY_MESSAGING },
	{ "amqp", "rabbitmq", FAMILY_MESSAGING },
	{ "nats", "nats", FAMILY_MESSAGING },
	{ "fastcgi", "fastcgi", FAMILY_FASTCGI },
	{ "dns", "dns", FAMILY_DNS },
};

/* State while a span is encoded. */
struct call {
	struct otlp_spans *o;
	const struct event *ev;
	const struct system *system; /* NULL: HTTP or gRPC */
	bool server, grpc;
	uint64_t status;	/* gRPC status; UINT64_MAX = none */
	uint64_t http_status;	/* 0 = none */
};

void otlp_span_fini(struct otlp_spans *o)
{
	buf_fini(&o->span);
	buf_fini(&o->part);
	otlp_kv_fini(&o->kv);
}

static void find_rows(struct otlp_spans *o, const struct event_desc *desc)
{
	if (o->desc == desc)
		return;
	o->desc = desc;
	for (unsigned i = 0; i < OTLP_WORD__MAX; i++)
		o->rows[i] = event_field_named(desc->fields, desc->n_fields, words[i]);
}

bool otlp_span_is_call(struct otlp_spans *o, const struct event_desc *desc)
{
	find_rows(o, desc);
	return desc->class == EVENT_DATA && o->rows[OTLP_SIDE] && o->rows[OTLP_OPENED];
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

static void add_text(const struct call *c, const char *key, const char *text, size_t len)
{
	if (len)
		otlp_kv_text(&c->o->kv, &c->o->span, S_ATTRIBUTES, key, text, len);
}

static void add_str(const struct call *c, const char *key, const char *text)
{
	add_text(c, key, text, strlen(text));
}

static void add_number(const struct call *c, const char *key, uint64_t v)
{
	otlp_kv_number(&c->o->kv, &c->o->span, S_ATTRIBUTES, key, v);
}

static void add_true(const struct call *c, const char *key)
{
	otlp_kv_bool(&c->o->kv, &c->o->span, S_ATTRIBUTES, key, true);
}

static void add_word(const struct call *c, const char *key, enum otlp_word word)
{
	struct value v = get_text(c, word);

	add_text(c, key, v.str, v.len);
}

/* ---- parent and ids ---- */

static size_t unhex(const struct value *v, uint8_t *ret, size_t want)
{
	return v->kind == VAL_STR ? otlp_kv_unhex(v->str, v->len, ret, want) : 0;
}

enum { SALT_TRACE = 1, SALT_TRACE_END, SALT_SPAN };

static void put_hash(const uint64_t *key, size_t bytes, uint8_t *ret)
{
	uint64_t h = map_hash(key, bytes);

	h = h ? h : 1;	/* an id of zero is invalid */
	memcpy(ret, &h, sizeof(h));
}

/*
 * An id derived from an RPC of the event's process: identical in each replay, known to the RPCs that are part of it.
 * The times since boot make it differ between runs and machines.
 */
static void make_id_of(const struct call *c, uint64_t salt, uint64_t number, uint64_t opened_ns, uint8_t *ret)
{
	const uint64_t key[] = { salt, c->ev->start_ns, c->ev->tgid, number, opened_ns };

	put_hash(key, sizeof(key), ret);
}

/* Recordings of older versions have no numbers. */
static void make_id(const struct call *c, uint64_t salt, uint8_t *ret)
{
	const struct event *ev = c->ev;
	uint64_t opened_ns = get_number(c, OTLP_OPENED, ev->ts_ns);	/* falls back to its end: never 0 */
	const uint64_t key[] = {
		salt, ev->start_ns, ev->tgid, ev->keys.rpc_conn, ev->keys.rpc_stream, c->server, opened_ns,
		(uint64_t)ev->clock_offset_ns,
	};

	if (ev->keys.call)
		make_id_of(c, salt, ev->keys.call, opened_ns, ret);
	else
		put_hash(key, sizeof(key), ret);
}

/* Trace and parent span of an RPC without traceparent: those of the RPC that it is part of, if there is one. */
static bool derive_parent(const struct call *c, uint8_t *ret_trace, uint8_t *ret_span)
{
	uint64_t number = get_number(c, OTLP_PARENT, 0), opened_ns = get_number(c, OTLP_PARENT_OPENED, 0);
	struct value trace = get_text(c, OTLP_PARENT_TRACE);

	if (!number || !opened_ns)
		return false;
	if (!unhex(&trace, ret_trace, TRACE_BYTES)) {
		make_id_of(c, SALT_TRACE, number, opened_ns, ret_trace);
		make_id_of(c, SALT_TRACE_END, number, opened_ns, ret_trace + sizeof(uint64_t));
	}
	make_id_of(c, SALT_SPAN, number, opened_ns, ret_span);
	return true;
}

/* Trace, own span and parent of a call. False: it has no parent. */
static bool make_ids(const struct call *c, uint8_t ret_trace[TRACE_BYTES], uint8_t ret_span[SPAN_BYTES],
		     uint8_t ret_parent[SPAN_BYTES])
{
	struct value trace = get_text(c, OTLP_TRACE), span = get_text(c, OTLP_SPAN);
	bool has_parent = (unhex(&trace, ret_trace, TRACE_BYTES) && unhex(&span, ret_parent, SPAN_BYTES)) ||
			  derive_parent(c, ret_trace, ret_parent);

	if (!has_parent) {
		make_id(c, SALT_TRACE, ret_trace);
		make_id(c, SALT_TRACE_END, ret_trace + sizeof(uint64_t));
	}
	make_id(c, SALT_SPAN, ret_span);
	return has_parent;
}

static void add_ids(const struct call *c)
{
	uint8_t id[TRACE_BYTES], parent[SPAN_BYTES], own[SPAN_BYTES];
	bool has_parent = make_ids(c, id, own, parent);

	protobuf_bytes(&c->o->span, S_TRACE_ID, id, sizeof(id));
	protobuf_bytes(&c->o->span, S_SPAN_ID, own, sizeof(own));
	if (has_parent)
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
	if (value_is(&peer, "unix"))
		add_str(c, "network.transport", "unix");
	if (!ip->family)
		return;
	add_str(c, "network.transport", pair->proto == IPPROTO_UDP ? "udp" : "tcp");
	add_str(c, "network.type", ip->family == SONDE_IPV6 ? "ipv6" : "ipv4");
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
	if (c->status != UINT64_MAX || (c->system && get_text(c, OTLP_STATUS).len))
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
	add_status_word(c, "rpc.status_code");
	add_status_word(c, "rpc.response.status_code");
	if (c->status != UINT64_MAX)
		add_number(c, "rpc.grpc.status_code", c->status);
}

static bool is_http2(const struct call *c)
{
	struct value kind = get_text(c, OTLP_KIND), source = get_text(c, OTLP_SOURCE);

	return !value_is(&kind, "http") || !source.len || value_is(&source, "go");
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
	else
		add_word(c, "url.query", OTLP_QUERY);
	if (c->http_status)
		add_number(c, "http.response.status_code", c->http_status);
	add_str(c, "network.protocol.name", "http");
	if (is_http2(c))
		add_str(c, "network.protocol.version", "2");
}

/* ---- databases, brokers and others ---- */

static const struct system *system_of(const struct value *kind)
{
	return ARRAY_FIND(it, systems, value_is(kind, it->kind));
}

/* "SELECT orders": the operation and its object, both of low cardinality. */
static size_t summarize(const struct call *c, char *to, size_t size)
{
	struct value operation = get_text(c, OTLP_OPERATION), resource = get_text(c, OTLP_RESOURCE);
	bool named = resource.len && c->system->family != FAMILY_KEYS && c->system->family != FAMILY_DNS;
	int n = snprintf(to, size, "%.*s%s%.*s", (int)MIN(operation.len, size), operation.len ? operation.str : "",
			 operation.len && named ? " " : "", named ? (int)MIN(resource.len, size) : 0,
			 named ? resource.str : "");

	return n < 0 ? 0 : MIN((size_t)n, size - 1);
}

static void add_database(const struct call *c)
{
	char summary[256];
	struct value rows;

	add_str(c, "db.system.name", c->system->name);
	add_word(c, "db.namespace", OTLP_DATABASE);
	add_word(c, "db.operation.name", OTLP_OPERATION);
	if (c->system->family == FAMILY_DATABASE) {
		add_word(c, "db.collection.name", OTLP_RESOURCE);
		add_word(c, "db.query.text", OTLP_STATEMENT);
		add_text(c, "db.query.summary", summary, summarize(c, summary, sizeof(summary)));
	}
	add_word(c, "db.response.status_code", OTLP_STATUS);
	if (get(c, OTLP_ROWS, &rows))
		add_number(c, "db.response.returned_rows", rows.u);
}

/* Operations that send, receive or hand over a message; others are of the broker itself. */
static const char *type_of(const struct call *c)
{
	static const char *const types[][2] = {
		{ "Produce", "send" }, { "basic.publish", "send" }, { "publish", "send" }, { "request", "send" },
		{ "Fetch", "receive" }, { "basic.get", "receive" }, { "basic.deliver", "process" },
		{ "deliver", "process" },
	};
	struct value operation = get_text(c, OTLP_OPERATION);

	for (size_t i = 0; c->system && c->system->family == FAMILY_MESSAGING && i < ARRAY_SIZE(types); i++)
		if (value_is(&operation, types[i][0]))
			return types[i][1];
	return NULL;
}

/* Kafka's requests of groups name these. */
static bool names_group(const struct call *c)
{
	static const char *const operations[] = { "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
						  "Heartbeat", "LeaveGroup", "SyncGroup", "DescribeGroups",
						  "DeleteGroups", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe" };
	struct value operation = get_text(c, OTLP_OPERATION);

	return ARRAY_FIND(it, operations, value_is(&operation, *it));
}

static void add_messaging(const struct call *c)
{
	const char *type = type_of(c);

	add_str(c, "messaging.system", c->system->name);
	add_word(c, "messaging.operation.name", OTLP_OPERATION);
	if (type)
		add_str(c, "messaging.operation.type", type);
	add_word(c, names_group(c) ? "messaging.consumer.group.name" : "messaging.destination.name", OTLP_RESOURCE);
}

static void add_fastcgi(const struct call *c)
{
	add_word(c, "http.request.method", OTLP_OPERATION);
	add_word(c, "url.path", OTLP_RESOURCE);
	if (c->http_status)
		add_number(c, "http.response.status_code", c->http_status);
	add_str(c, "network.protocol.name", "fastcgi");
}

static void add_system(const struct call *c)
{
	switch (c->system->family) {
	case FAMILY_DATABASE:
	case FAMILY_KEYS: add_database(c); break;
	case FAMILY_MESSAGING: add_messaging(c); break;
	case FAMILY_FASTCGI: add_fastcgi(c); break;
	case FAMILY_DNS: add_word(c, "dns.question.name", OTLP_RESOURCE); break;
	case FAMILY_WEB:
	case FAMILY__MAX: break;
	}
}

static unsigned kind_of(const struct call *c)
{
	const char *type = type_of(c);

	if (type && !c->server && !strcmp(type, "send"))
		return KIND_PRODUCER;
	if (type && c->server && !strcmp(type, "process"))
		return KIND_CONSUMER;
	return c->server ? KIND_SERVER : KIND_CLIENT;
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
	if (c->ev->keys.cookie & SONDE_ID_SOCK_INODE)
		add_number(c, "sonde.socket_inode", c->ev->keys.cookie & ~SONDE_ID_SOCK_INODE);
	else if (c->ev->keys.cookie)
		add_number(c, "sonde.socket_cookie", c->ev->keys.cookie);
	if (get(c, OTLP_FIRST, &first))
		add_number(c, "sonde.first_response_ns", first.u);
	if (get(c, OTLP_SENT, &first))
		add_number(c, "sonde.sent_bytes", first.u);
	if (get(c, OTLP_RECEIVED, &first))
		add_number(c, "sonde.received_bytes", first.u);
}

static void add_header(const struct call *c, const char *name, size_t name_len, const char *value, size_t len)
{
	char key[96] = "rpc.request.metadata.";
	size_t n;

	if (!c->grpc)
		memcpy(key, "http.request.header.", sizeof("http.request.header."));
	n = strlen(key);
	if (name_len >= sizeof(key) - n)
		return;
	for (size_t i = 0; i < name_len; i++)	/* keys must be UTF-8 */
		key[n + i] = (char)(name[i] > ' ' && name[i] < 0x7f ? name[i] : '_');
	key[n + name_len] = '\0';
	otlp_kv_list(&c->o->kv, &c->o->span, S_ATTRIBUTES, key, value, len);
}

/* "name: value" lines. The probe has removed secrets. */
static void add_headers(const struct call *c)
{
	struct value all = get_text(c, OTLP_HEADERS);
	const char *at = all.str, *stop = all.len ? all.str + all.len : at;

	while (at < stop) {
		const char *end = memchr(at, '\n', (size_t)(stop - at));
		const char *colon = memchr(at, ':', (size_t)((end ? end : stop) - at));

		end = end ? end : stop;
		if (colon && colon > at && colon + 2 <= end)
			add_header(c, at, (size_t)(colon - at), colon + 2, (size_t)(end - colon - 2));
		at = end + 1;
	}
}

/*
 * gRPC: the full method. HTTP: the request method alone, since paths have unbounded cardinality. Others: operation
 * and object.
 */
static void add_name(const struct call *c)
{
	struct value method = get_text(c, OTLP_METHOD);
	char summary[256];
	size_t len = c->system ? summarize(c, summary, sizeof(summary)) : 0;

	if (len)
		protobuf_text(&c->o->span, S_NAME, summary, len);
	else if (c->system)
		protobuf_text(&c->o->span, S_NAME, c->system->name, strlen(c->system->name));
	else if (!method.len)
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
	buf_reset(&c->o->part);
	if (message.len)
		protobuf_text(&c->o->part, STATUS_MESSAGE, message.str, message.len);
	protobuf_uint(&c->o->part, STATUS_CODE, STATUS_ERROR);
	if (buf_error(&c->o->part))
		c->o->span.error = -ENOMEM;
	protobuf_bytes(&c->o->span, S_STATUS, c->o->part.data, c->o->part.len);
}

static void begin(struct call *c, struct otlp_spans *o, const struct event *ev)
{
	struct value side, kind;

	*c = (struct call){ .o = o, .ev = ev };
	get(c, OTLP_SIDE, &side);
	get(c, OTLP_KIND, &kind);
	c->server = value_is(&side, "server");
	c->grpc = value_is(&kind, "grpc");
	c->system = system_of(&kind);
	c->status = c->grpc ? get_number(c, OTLP_STATUS, UINT64_MAX) : UINT64_MAX;
	c->http_status = get_number(c, OTLP_HTTP_STATUS, 0);
}

bool otlp_span_ids(struct otlp_spans *o, const struct event *ev, struct otlp_span_ids *ret)
{
	uint8_t parent[SPAN_BYTES];
	struct call c;

	find_rows(o, ev->desc);
	if (!o->rows[OTLP_SIDE] || !o->rows[OTLP_OPENED])
		return false;
	begin(&c, o, ev);
	make_ids(&c, ret->trace, ret->span, parent);
	return true;
}

bool otlp_span_is_served_by_database(struct otlp_spans *o, const struct event *ev)
{
	struct call c;

	find_rows(o, ev->desc);
	begin(&c, o, ev);
	return c.server && c.system && (c.system->family == FAMILY_DATABASE || c.system->family == FAMILY_KEYS);
}

int otlp_span(struct otlp_spans *o, const struct event *ev)
{
	struct call c;

	if (!otlp_span_is_call(o, ev->desc))
		return -EINVAL;
	begin(&c, o, ev);
	buf_reset(&o->span);
	add_ids(&c);
	add_name(&c);
	protobuf_uint(&o->span, S_KIND, kind_of(&c));
	add_times(&c);
	if (c.system)
		add_system(&c);
	else if (c.grpc)
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
