// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gob encoder: payloads of the monitor's stream, and the two records that agents send about themselves, each a type
 * byte and a whole stream. The types have fewer members than Cilium's: gob matches members by name.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "cilium/gob.h"
#include "cilium/gob_types.h"
#include "cilium/notify.h"
#include "cilium/print.h"

#define FIRST_ID 64	/* first id that a new encoder assigns */
#define ID_BINARY 5	/* member of wireType for types with their own binary encoding */

struct member { const char *name; int64_t id; };

static void put_uint(struct buf *out, uint64_t v)
{
	unsigned n = v < 128 ? 0 : 8 - (unsigned)__builtin_clzll(v) / 8;

	if (!n) {
		buf_add_char(out, (char)v);
		return;
	}
	buf_add_char(out, (char)-(int)n);
	while (n--)
		buf_add_char(out, (char)(v >> 8 * n));
}

static void put_int(struct buf *out, int64_t v)
{
	put_uint(out, v < 0 ? ~(uint64_t)v << 1 | 1 : (uint64_t)v << 1);
}

static void put_text(struct buf *out, const char *text, size_t len)
{
	put_uint(out, len);
	buf_add(out, text, len);
}

/* Writes the message with its length prefix. */
static void put_message(struct buf *out, const struct buf *b)
{
	put_uint(out, b->len);
	buf_add(out, b->data, b->len);
}

/* CommonType: name and id. */
static void put_common(struct buf *b, const char *name, int64_t id)
{
	put_uint(b, 1);
	put_uint(b, 1);
	put_text(b, name, strlen(name));
	put_uint(b, 1);
	put_int(b, id);
	put_uint(b, 0);
}

static void put_struct_type(struct buf *out, int64_t id, const char *name, const struct member *members, size_t n)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	put_int(&b, -id);
	put_uint(&b, SHAPE_STRUCT + 1);
	put_common(&b, name, id);
	put_uint(&b, 1);	/* members */
	put_uint(&b, n);
	for (size_t i = 0; i < n; i++) {
		put_uint(&b, 1);
		put_text(&b, members[i].name, strlen(members[i].name));
		put_uint(&b, 1);
		put_int(&b, members[i].id);
		put_uint(&b, 0);
	}
	put_uint(&b, 0);
	put_uint(&b, 0);
	put_message(out, &b);
}

/* A type with its own binary encoding. */
static void put_binary_type(struct buf *out, int64_t id, const char *name)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	put_int(&b, -id);
	put_uint(&b, ID_BINARY + 1);
	put_common(&b, name, id);
	put_uint(&b, 0);
	put_uint(&b, 0);
	put_message(out, &b);
}

void gob_put_payload_type(struct buf *out)
{
	static const struct member members[] = {
		{ "Data", ID_BYTES }, { "CPU", ID_INT }, { "Lost", ID_UINT }, { "Type", ID_INT },
	};

	put_struct_type(out, FIRST_ID, "Payload", members, ARRAY_SIZE(members));
}

/* Writes the delta from *@last to field @f. */
static void put_field(struct buf *out, int *last, int f)
{
	put_uint(out, (uint64_t)(f - *last));
	*last = f;
}

void gob_put_payload(struct buf *out, const struct cilium_payload *p, bool explicit_cpu)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int last = -1;

	put_int(&b, FIRST_ID);
	if (p->len) {
		put_field(&b, &last, 0);
		put_uint(&b, p->len);
		buf_add(&b, p->data, p->len);
	}
	if (p->cpu || explicit_cpu) {
		put_field(&b, &last, 1);
		put_int(&b, p->cpu);
	}
	if (p->lost) {
		put_field(&b, &last, 2);
		put_uint(&b, p->lost);
	}
	if (p->type) {
		put_field(&b, &last, 3);
		put_int(&b, p->type);
	}
	put_uint(&b, 0);
	put_message(out, &b);
}

/* ---- agent records ---- */

static void put_string_field(struct buf *b, int *last, int f, const char *text, size_t len)
{
	if (!len)
		return;
	put_field(b, last, f);
	put_text(b, text, len);
}

static void put_uint_field(struct buf *b, int *last, int f, uint64_t v)
{
	if (!v)
		return;
	put_field(b, last, f);
	put_uint(b, v);
}

void cilium_gob_put_agent(struct buf *out, uint32_t type, const char *json)
{
	static const struct member members[] = { { "Type", ID_UINT }, { "Text", ID_STRING } };
	_cleanup_(buf_fini) struct buf b = { 0 };
	int last = -1;

	buf_add_char(out, (char)CILIUM_AGENT);
	put_struct_type(out, FIRST_ID, "AgentNotify", members, ARRAY_SIZE(members));
	put_int(&b, FIRST_ID);
	put_uint_field(&b, &last, 0, type);
	put_string_field(&b, &last, 1, json, strlen(json));
	put_uint(&b, 0);
	put_message(out, &b);
}

enum { RECORD_ID = FIRST_ID, END_ID, HTTP_ID, URL_ID };

static void put_record_types(struct buf *out)
{
	static const struct member record[] = {
		{ "Type", ID_STRING }, { "Timestamp", ID_STRING }, { "ObservationPoint", ID_STRING },
		{ "SourceEndpoint", END_ID }, { "DestinationEndpoint", END_ID }, { "IPVersion", ID_UINT },
		{ "Verdict", ID_STRING }, { "TransportProtocol", ID_UINT }, { "HTTP", HTTP_ID },
	};
	static const struct member end[] = {
		{ "ID", ID_UINT }, { "IPv4", ID_STRING }, { "IPv6", ID_STRING }, { "Port", ID_UINT },
		{ "Identity", ID_UINT },
	};
	static const struct member http[] = {
		{ "Code", ID_INT }, { "Method", ID_STRING }, { "URL", URL_ID }, { "Protocol", ID_STRING },
	};

	put_struct_type(out, RECORD_ID, "LogRecord", record, ARRAY_SIZE(record));
	put_struct_type(out, END_ID, "EndpointInfo", end, ARRAY_SIZE(end));
	put_struct_type(out, HTTP_ID, "LogRecordHTTP", http, ARRAY_SIZE(http));
	put_binary_type(out, URL_ID, "URL");
}

static void put_end_field(struct buf *b, int *last, int f, const struct cilium_call_end *e)
{
	int in = -1;

	put_field(b, last, f);
	put_string_field(b, &in, e->ipv6 ? 2 : 1, e->addr, strlen(e->addr));
	put_uint_field(b, &in, 3, e->port);
	put_uint_field(b, &in, 4, e->identity);
	put_uint(b, 0);
}

static void put_http_field(struct buf *b, int *last, int f, const struct cilium_call *c)
{
	int in = -1;

	put_field(b, last, f);
	if (c->code) {
		put_field(b, &in, 0);
		put_int(b, c->code);
	}
	put_string_field(b, &in, 1, c->method, c->method_len);
	put_string_field(b, &in, 2, c->url, c->url_len);
	put_string_field(b, &in, 3, "HTTP/2", strlen("HTTP/2"));
	put_uint(b, 0);
}

void cilium_gob_put_call(struct buf *out, const struct cilium_call *c)
{
	const char *point = c->server ? "Ingress" : "Egress";
	_cleanup_(buf_fini) struct buf b = { 0 };
	int last = -1;

	buf_add_char(out, (char)CILIUM_L7);
	put_record_types(out);
	put_int(&b, RECORD_ID);
	put_string_field(&b, &last, 0, "Response", strlen("Response"));
	put_string_field(&b, &last, 1, c->timestamp, strlen(c->timestamp));
	put_string_field(&b, &last, 2, point, strlen(point));
	put_end_field(&b, &last, 3, &c->answers);
	put_end_field(&b, &last, 4, &c->asks);
	put_uint_field(&b, &last, 5, c->answers.ipv6);	/* accesslog.VersionIPv6 is 1 */
	put_string_field(&b, &last, 6, "Forwarded", strlen("Forwarded"));
	put_uint_field(&b, &last, 7, 6);	/* TCP */
	put_http_field(&b, &last, 8, c);
	put_uint(&b, 0);
	put_message(out, &b);
}
