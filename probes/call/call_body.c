// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/call/call_body.h"

#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "call/call_entry.h"
#include "probes/call/call_wire.h"

/* Texts of a call: where they go in an event. */
static const struct {
	enum call_text from;
	enum call_event_text to;
} texts[] = {
	{ CALL_TEXT_QUERY, CALL_EVENT_TEXT_QUERY },
	{ CALL_TEXT_AUTHORITY, CALL_EVENT_TEXT_AUTHORITY },
	{ CALL_TEXT_STATEMENT, CALL_EVENT_TEXT_STATEMENT },
	{ CALL_TEXT_DATABASE, CALL_EVENT_TEXT_DATABASE },
	{ CALL_TEXT_CONTENT_TYPE, CALL_EVENT_TEXT_CONTENT_TYPE },
	{ CALL_TEXT_HEADERS, CALL_EVENT_TEXT_HEADERS },
};

static bool is_web(const struct call *c)
{
	return c->kind == CALL_KIND_HTTP || c->kind == CALL_KIND_HTTP2 || c->kind == CALL_KIND_GRPC;
}

/* The verb and its object have words of their own in HTTP. */
static enum call_event_text place_of(const struct call *c, enum call_text from)
{
	if (from == CALL_TEXT_OPERATION)
		return is_web(c) ? CALL_EVENT_TEXT_HTTP_METHOD : CALL_EVENT_TEXT_OPERATION;
	return is_web(c) ? CALL_EVENT_TEXT_PATH : CALL_EVENT_TEXT_RESOURCE;
}

/* ---- strings ---- */

struct strings {
	struct call_event_body *body;
	char *at;
	uint32_t len;
};

static void put(struct strings *s, const struct call *c, enum call_text from, enum call_event_text to)
{
	size_t len;
	const char *text = call_entry_text(c, from, &len);

	if (!len)
		return;
	memcpy(s->at + s->len, text, len);
	s->body->text[to] = (struct sec_str){ .off = s->len, .len = (uint32_t)len };
	s->len += (uint32_t)len;
}

static void put_texts(struct strings *s, const struct call *c)
{
	put(s, c, CALL_TEXT_OPERATION, place_of(c, CALL_TEXT_OPERATION));
	put(s, c, CALL_TEXT_RESOURCE, place_of(c, CALL_TEXT_RESOURCE));
	if (c->kind != CALL_KIND_GRPC)
		put(s, c, CALL_TEXT_STATUS, CALL_EVENT_TEXT_STATUS);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		put(s, c, texts[i].from, texts[i].to);
}

const char *call_body_header(const struct call *c, const char *name, size_t *ret_len)
{
	size_t left, n = strlen(name);
	const char *line = call_entry_text(c, CALL_TEXT_HEADERS, &left);

	while (left) {
		const char *end = memchr(line, '\n', left);
		size_t len = end ? (size_t)(end - line) : left;

		if (len > n + 2 && !memcmp(line, name, n) && line[n] == ':' && line[n + 1] == ' ') {
			*ret_len = len - n - 2;
			return line + n + 2;
		}
		len += end != NULL;
		line += len;
		left -= len;
	}
	*ret_len = 0;
	return NULL;
}

/* https://www.w3.org/TR/trace-context/: version "-" trace id "-" span id "-" flags */
static void put_trace(struct call_event_body *b, const struct call *c)
{
	size_t len;
	const char *v = call_body_header(c, "traceparent", &len);

	if (!v || len < 52 || v[2] != '-' || v[35] != '-')
		return;
	memcpy(b->trace, v + 3, 32);
	memcpy(b->span, v + 36, 16);
}

/* ---- times and results ---- */

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && to_ns > from_ns ? to_ns - from_ns : 0;
}

static void put_times(struct call_event_body *b, const struct call *c, bool server)
{
	const struct call_span *q = &c->request, *a = &c->response;

	b->sent_bytes = server ? a->bytes : q->bytes;
	b->received_bytes = server ? q->bytes : a->bytes;
	if (!q->begun)
		return;
	b->opened_ns = q->first_ns;
	b->request_ns = between(q->first_ns, q->last_ns);
	if (!a->begun)
		return;
	b->first_ns = between(q->first_ns, a->first_ns);
	b->server_ns = between(q->last_ns, a->first_ns);
	b->response_ns = between(a->first_ns, a->last_ns);
	b->latency_ns = between(q->first_ns, MAX(q->last_ns, a->last_ns));
}

static uint8_t end_of(const struct call *c)
{
	switch ((enum call_end)c->end) {
	case CALL_END_DONE: return CALL_EVENT_END_DONE;
	case CALL_END_ONEWAY: return CALL_EVENT_END_ONEWAY;
	case CALL_END_CLOSED: return CALL_EVENT_END_CONN;
	case CALL_END_RESET: return CALL_EVENT_END_RESET;
	case CALL_END_LOST: return CALL_EVENT_END_LOST;
	case CALL_END_EVICTED: return CALL_EVENT_END_EVICTED;
	case CALL_END__MAX: break;
	}
	return CALL_EVENT_END_LOST;
}

static void put_result(struct call_event_body *b, const struct call *c, bool server)
{
	b->status = CALL_EVENT_STATUS_UNKNOWN;
	if (c->status != CALL_STATUS_NONE && c->kind == CALL_KIND_GRPC)
		b->status = (uint16_t)c->status;
	else if (c->status != CALL_STATUS_NONE && (is_web(c) || c->kind == CALL_KIND_FASTCGI))
		b->http_status = (uint16_t)c->status;
	b->end = end_of(c);
	b->error = c->error == CALL_ERROR_FAILED || (c->error == CALL_ERROR_CLIENT && !server) ||
		   (c->end != CALL_END_DONE && c->end != CALL_END_ONEWAY);
	b->rows_1 = c->rows == CALL_ROWS_NONE ? 0 : c->rows + 1;
	b->incomplete = c->incomplete;
}

/* ---- numbers of records ---- */

uint8_t call_body_source(uint8_t source)
{
	static const uint8_t sources[] = {
		[CALL_SOURCE_SOCKET] = CALL_EVENT_SOURCE_SOCKET, [CALL_SOURCE_OPENSSL] = CALL_EVENT_SOURCE_OPENSSL,
		[CALL_SOURCE_GNUTLS] = CALL_EVENT_SOURCE_GNUTLS, [CALL_SOURCE_GOTLS] = CALL_EVENT_SOURCE_GOTLS,
	};

	_Static_assert(ARRAY_SIZE(sources) == CALL_SOURCE__MAX, "an event's source per source");
	return source < CALL_SOURCE__MAX ? sources[source] : CALL_EVENT_SOURCE__MAX;
}

uint8_t call_body_tls_by(uint8_t by)
{
	static const uint8_t ways[] = {
		[0] = CALL_EVENT_TLS_NONE,
		[CALL_TLS_BY_NESTED] = CALL_EVENT_TLS_NESTED, [CALL_TLS_BY_RANDOM] = CALL_EVENT_TLS_RANDOM,
		[CALL_TLS_BY_KEPT] = CALL_EVENT_TLS_KEPT, [CALL_TLS_BY_DESCRIPTOR] = CALL_EVENT_TLS_DESCRIPTOR,
	};

	_Static_assert(ARRAY_SIZE(ways) == CALL_EVENT_TLS__MAX, "a record's number per way");
	return by < ARRAY_SIZE(ways) ? ways[by] : CALL_EVENT_TLS_NONE;
}

struct call_event_body *call_body_make(const struct call *c, bool server, struct arena *mem, uint32_t *ret_len)
{
	struct strings s = { .body = arena_alloc(mem, sizeof(*s.body) + c->bytes.len) };
	struct call_event_body *b = s.body;

	if (!b)
		return NULL;
	s.at = (char *)(b + 1);
	put_texts(&s, c);
	put_trace(b, c);
	put_times(b, c, server);
	put_result(b, c, server);
	b->statement_id = c->statement_id;
	b->index = c->index;
	b->ordinal = c->numbered ? c->id : 0;
	b->kind = c->kind;
	b->side = server ? CALL_EVENT_SIDE_SERVER : CALL_EVENT_SIDE_CLIENT;
	b->fd = -1;
	*ret_len = (uint32_t)sizeof(*b) + s.len;
	return b;
}
