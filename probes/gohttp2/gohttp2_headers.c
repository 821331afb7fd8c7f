// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Header values come from programs that may be hostile: each is parsed strictly and ignored if malformed.
 */
#include "probes/gohttp2/gohttp2_headers.h"

#include <string.h>

#include "base/macros.h"
#include "call/call_event.h"
#include "probes/gohttp2/gohttp2_calls.h"

#define MESSAGE_MAX 2048

struct field_view {
	struct gohttp2_field head;
	const char *name, *value;
};

static bool next(struct cursor *c, struct field_view *ret)
{
	if (!cur_left(c) || !cur_copy(c, &ret->head, sizeof(ret->head)))
		return false;
	ret->name = cur_bytes(c, ret->head.name_len);
	ret->value = cur_bytes(c, ret->head.value_len);
	return cur_ok(c);
}

bool gohttp2_headers_check(struct cursor fields)
{
	struct field_view v;

	while (next(&fields, &v))
		;
	return cur_ok(&fields);
}

bool gohttp2_headers_has(struct cursor fields, enum gohttp2_header which)
{
	struct field_view v;

	while (next(&fields, &v))
		if (v.head.header == which)
			return true;
	return false;
}

/* Decimal digits only; -1 for anything else. */
static int64_t number(const char *s, size_t len, size_t max_len)
{
	int64_t n = 0;

	if (!len || len > max_len)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		n = n * 10 + (s[i] - '0');
	}
	return n;
}

/* grpc-timeout ("200m") in ns; 0 if malformed. */
static uint64_t gohttp2_timeout_ns(const char *text, size_t len)
{
	static const struct { char unit; uint64_t ns; } units[] = {
		{ 'H', 3600000000000ull }, { 'M', 60000000000ull }, { 'S', 1000000000ull }, { 'm', 1000000ull },
		{ 'u', 1000ull }, { 'n', 1ull },
	};
	int64_t n = len > 1 ? number(text, len - 1, 8) : -1;

	for (size_t i = 0; n >= 0 && i < ARRAY_SIZE(units); i++)
		if (text[len - 1] == units[i].unit)
			return (uint64_t)n * units[i].ns;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Percent-decodes in place; malformed codes stay. Returns the new length. */
static size_t gohttp2_percent_decode(char *text, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		int high = i + 2 < len && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
		int low = high < 0 ? -1 : hex_digit(text[i + 2]);

		if (low >= 0) {
			text[out++] = (char)(high << 4 | low);
			i += 2;
		} else {
			text[out++] = text[i];
		}
	}
	return out;
}

static bool take_hex(const char *s, size_t len, char *ret)
{
	bool zero = true;

	for (size_t i = 0; i < len; i++) {
		if (hex_digit(s[i]) < 0 || (s[i] >= 'A' && s[i] <= 'F'))
			return false;
		zero = zero && s[i] == '0';
	}
	if (zero)
		return false;
	memcpy(ret, s, len);
	ret[len] = 0;
	return true;
}

/* 00-<32>-<16>-<2>: https://www.w3.org/TR/trace-context/ */
static bool gohttp2_traceparent(const char *text, size_t len, char *trace, char *span)
{
	if (len < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || !memcmp(text, "ff", 2))
		return false;
	if (!take_hex(text + 3, 32, trace))
		return false;
	if (take_hex(text + 36, 16, span))
		return true;
	trace[0] = 0;
	return false;
}

static int apply_message(struct gohttp2_call *c, const struct field_view *v)
{
	char text[MESSAGE_MAX];
	size_t len = MIN((size_t)v->head.value_len, sizeof(text));

	memcpy(text, v->value, len);
	return gohttp2_calls_set(c, CALL_EVENT_TEXT_MESSAGE, text, gohttp2_percent_decode(text, len));
}

/* Appends "name: value\n"; of a secret the length only. */
static int apply_other(struct gohttp2_call *c, const struct field_view *v)
{
	static const char hidden[] = "(hidden)";
	bool secret = v->head.flags & GOHTTP2_FIELD_SECRET;
	int r = gohttp2_calls_append(c, CALL_EVENT_TEXT_HEADERS, v->name, v->head.name_len);

	if (r >= 0)
		r = gohttp2_calls_append(c, CALL_EVENT_TEXT_HEADERS, ": ", 2);
	if (r >= 0 && secret)
		r = gohttp2_calls_append(c, CALL_EVENT_TEXT_HEADERS, hidden, sizeof(hidden) - 1);
	else if (r >= 0)
		r = gohttp2_calls_append(c, CALL_EVENT_TEXT_HEADERS, v->value, v->head.value_len);
	return r < 0 ? r : gohttp2_calls_append(c, CALL_EVENT_TEXT_HEADERS, "\n", 1);
}

static int apply_text(struct gohttp2_call *c, const struct field_view *v, enum call_event_text which)
{
	return gohttp2_calls_set(c, which, v->value, v->head.value_len);
}

static int apply(struct gohttp2_call *c, const struct field_view *v)
{
	static const char grpc_type[] = "application/grpc";
	size_t len = v->head.value_len;
	int64_t n;

	switch (v->head.header) {
	case GOHTTP2_H_PATH: return apply_text(c, v, CALL_EVENT_TEXT_PATH);
	case GOHTTP2_H_METHOD: return apply_text(c, v, CALL_EVENT_TEXT_HTTP_METHOD);
	case GOHTTP2_H_AUTHORITY: return apply_text(c, v, CALL_EVENT_TEXT_AUTHORITY);
	case GOHTTP2_H_CONTENT_TYPE:
		if (len >= sizeof(grpc_type) - 1 && !memcmp(v->value, grpc_type, sizeof(grpc_type) - 1))
			c->body.kind = CALL_KIND_GRPC;
		return apply_text(c, v, CALL_EVENT_TEXT_CONTENT_TYPE);
	case GOHTTP2_H_USER_AGENT: return apply_text(c, v, CALL_EVENT_TEXT_AGENT);
	case GOHTTP2_H_STATUS:
		n = number(v->value, len, 3);
		c->body.http_status = (uint16_t)MAX(n, (int64_t)0);
		return 0;
	case GOHTTP2_H_GRPC_STATUS:
		n = number(v->value, len, 4);
		c->body.status = n < 0 ? CALL_EVENT_STATUS_UNKNOWN : (uint16_t)n;
		return 0;
	case GOHTTP2_H_GRPC_MESSAGE: return apply_message(c, v);
	case GOHTTP2_H_GRPC_TIMEOUT: c->body.timeout_ns = gohttp2_timeout_ns(v->value, len); return 0;
	case GOHTTP2_H_TRACEPARENT: gohttp2_traceparent(v->value, len, c->body.trace, c->body.span); return 0;
	case GOHTTP2_H_OTHER: return apply_other(c, v);
	case GOHTTP2_H_PAYLOAD: return gohttp2_calls_append(c, CALL_EVENT_TEXT_PAYLOAD, v->value, len);
	default:	/* of a newer version */
		return 0;
	}
}

int gohttp2_headers_apply(struct gohttp2_call *c, struct cursor fields)
{
	struct field_view v;
	int r = 0;

	while (r >= 0 && next(&fields, &v))
		r = apply(c, &v);
	return r;
}
