// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the agent: notifications and access-log records. Each is a type byte and a gob stream.
 */
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "cilium/gob.h"
#include "cilium/goip.h"
#include "cilium/gojson.h"
#include "cilium/names.h"
#include "cilium/print.h"

#define MEMORY_MAX (4u << 20)	/* per decoded record */

DEFINE_CLEANUP(struct gob *, gob_free)

/* Decodes the stream after the type byte into @mem. */
static const struct gob_value *decode(const uint8_t *data, size_t len, struct arena *mem)
{
	_cleanup_(gob_freep) struct gob *g = gob_new();
	struct gob_value *v = NULL;

	if (!g || len < 2 || gob_stream(g, data + 1, len - 1, mem, &v, NULL) < 0)
		return NULL;
	return v && v->kind == GOB_STRUCT ? v : NULL;
}

static void put_str(struct buf *out, const struct gob_value *v)
{
	if (v && v->kind == GOB_STRING)
		str_escape_buf(out, (const char *)v->data, v->len);
}

static void put_json_str(struct buf *out, const struct gob_value *v)
{
	bool there = v && (v->kind == GOB_STRING || v->kind == GOB_BYTES);

	gojson_string(out, there ? (const char *)v->data : "", there ? v->len : 0);
}

/* ---- agent ---- */

bool cilium_l7_put_agent(struct buf *out, const uint8_t *data, size_t len, bool json)
{
	_cleanup_(arena_fini) struct arena mem = { .limit_bytes = MEMORY_MAX };
	const struct gob_value *v = decode(data, len, &mem), *text = gob_member(v, "Text");
	const char *name = cilium_names_agent_event((uint32_t)gob_int(gob_member(v, "Type"))) ?: "unspecified";

	if (!v)
		return false;
	buf_printf(out, json ? "{\"type\":\"agent\",\"subtype\":\"%s\",\"message\":" : ">> %s: ", name);
	put_str(out, text);	/* already JSON */
	buf_add_str(out, json ? "}\n" : "\n");
	return true;
}

/* ---- access log ---- */

struct record {
	const struct gob_value *v, *src, *dst;
	bool response;
};

/* key=value, as Cilium writes labels. */
static void put_label(struct buf *out, const struct gob_value *label)
{
	const struct gob_value *value = gob_member(label, "Value");

	put_str(out, gob_member(label, "Source"));
	buf_add_char(out, ':');
	put_str(out, gob_member(label, "Key"));
	if (value) {
		buf_add_char(out, '=');
		put_str(out, value);
	}
}

static void put_labels(struct buf *out, const struct gob_value *end, bool json)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const struct gob_value *labels = gob_member(end, "Labels");

	buf_add_char(out, '[');
	for (size_t i = 0; labels && labels->kind == GOB_LIST && i < labels->len; i++) {
		buf_add_str(out, !i ? "" : json ? "," : " ");
		buf_reset(&text);
		put_label(&text, &labels->at[i]);
		if (json)
			gojson_string(out, text.data, text.len);
		else
			buf_add(out, text.data, text.len);
	}
	buf_add_char(out, ']');
}

static void put_end(struct buf *out, const char *word, const struct gob_value *end)
{
	buf_printf(out, " %s %llu (", word, (unsigned long long)gob_int(gob_member(end, "ID")));
	put_labels(out, end, false);
	buf_add_char(out, ')');
}

static void put_dns_types(struct buf *out, const struct gob_value *types)
{
	static const struct { uint16_t type; const char *name; } names[] = {
		{ 1, "A" }, { 2, "NS" }, { 5, "CNAME" }, { 6, "SOA" }, { 12, "PTR" }, { 15, "MX" }, { 16, "TXT" },
		{ 28, "AAAA" }, { 33, "SRV" }, { 35, "NAPTR" }, { 64, "SVCB" }, { 65, "HTTPS" }, { 255, "ANY" },
	};

	for (size_t i = 0; types && types->kind == GOB_LIST && i < types->len; i++) {
		uint64_t type = (uint64_t)gob_int(&types->at[i]);
		const char *name = NULL;

		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			if (names[j].type == type)
				name = names[j].name;
		buf_add_str(out, i ? "," : "");
		if (name)
			buf_add_str(out, name);
		else
			buf_printf(out, "TYPE%llu", (unsigned long long)type);
	}
}

static void put_ip(struct buf *out, const struct gob_value *v)
{
	if (v->kind == GOB_BYTES && (v->len == 4 || v->len == 16))
		goip_put(out, v->len == 4 ? AF_INET : AF_INET6, v->data);
}

static void put_strings(struct buf *out, const struct gob_value *list)
{
	for (size_t i = 0; list && list->kind == GOB_LIST && i < list->len; i++) {
		buf_add_str(out, i ? "," : "");
		put_str(out, &list->at[i]);
	}
}

static void put_dns(struct buf *out, const struct record *r, const struct gob_value *dns)
{
	const struct gob_value *ips = gob_member(dns, "IPs"), *cnames = gob_member(dns, "CNAMEs");

	buf_add_str(out, " DNS ");
	put_str(out, gob_member(dns, "ObservationSource"));
	buf_add_str(out, ": ");
	put_str(out, gob_member(dns, "Query"));
	buf_add_char(out, ' ');
	put_dns_types(out, gob_member(dns, "QTypes"));
	if (!r->response)
		return;
	buf_printf(out, " TTL: %llu Answer: '", (unsigned long long)gob_int(gob_member(dns, "TTL")));
	for (size_t i = 0; ips && ips->kind == GOB_LIST && i < ips->len; i++) {
		buf_add_str(out, i ? "," : "");
		put_ip(out, &ips->at[i]);
	}
	buf_add_char(out, '\'');
	if (cnames && cnames->len) {
		buf_add_str(out, " CNAMEs: ");
		put_strings(out, cnames);
	}
}

static void put_text(struct buf *out, const struct record *r, const char *proto)
{
	const struct gob_value *http = gob_member(r->v, "HTTP"), *dns = gob_member(r->v, "DNS");
	const struct gob_value *url = gob_member(http, "URL"), *point = gob_member(r->v, "ObservationPoint");
	char first = point && point->kind == GOB_STRING && point->len ? (char)point->data[0] : 0;

	buf_add_str(out, first == 'I' ? "<- " : first == 'E' ? "-> " : "?? ");
	put_str(out, gob_member(r->v, "Type"));
	buf_printf(out, " %s", proto);
	put_end(out, r->response ? "to" : "from", r->response ? r->dst : r->src);
	put_end(out, r->response ? "from" : "to", r->response ? r->src : r->dst);
	buf_printf(out, ", identity %llu->%llu, verdict ",
		   (unsigned long long)gob_int(gob_member(r->src, "Identity")),
		   (unsigned long long)gob_int(gob_member(r->dst, "Identity")));
	put_str(out, gob_member(r->v, "Verdict"));
	if (http) {
		buf_add_char(out, ' ');
		put_str(out, gob_member(http, "Method"));
		buf_add_char(out, ' ');
		if (url && url->kind == GOB_BYTES)
			str_escape_buf(out, (const char *)url->data, url->len);
		buf_printf(out, " => %lld", (long long)gob_int(gob_member(http, "Code")));
	} else if (dns) {
		put_dns(out, r, dns);
	}
	buf_add_char(out, '\n');
}

/* ---- access log as JSON ---- */

/* "key":"part of the URL", or an empty string. */
static void put_part(struct buf *out, const char *key, const char *from, const char *to)
{
	buf_printf(out, "\"%s\":", key);
	gojson_string(out, from, from ? (size_t)(to - from) : 0);
	buf_add_char(out, ',');
}

/* Splits scheme://host/path?query#fragment, the encoding of a URL in gob. */
static void put_url(struct buf *out, const struct gob_value *v)
{
	const char *at = (const char *)v->data, *end = at + v->len, *host, *path, *query, *fragment, *scheme;
	const char *colon = memmem(at, v->len, "://", 3);

	scheme = colon ? at : NULL;
	host = colon ? colon + 3 : NULL;
	path = host ?: at;
	while (host && path < end && !strchr("/?#", *path))
		path++;
	fragment = memchr(path, '#', (size_t)(end - path)) ?: end;
	query = memchr(path, '?', (size_t)(fragment - path)) ?: fragment;
	buf_add_char(out, '{');
	put_part(out, "Scheme", scheme, colon);
	buf_add_str(out, "\"Opaque\":\"\",\"User\":null,");
	put_part(out, "Host", host, path);
	put_part(out, "Path", path, query);
	put_part(out, "Fragment", fragment < end ? fragment + 1 : NULL, end);
	put_part(out, "RawQuery", query < fragment ? query + 1 : NULL, fragment);
	buf_add_str(out, "\"RawPath\":\"\",\"RawFragment\":\"\",\"ForceQuery\":false,\"OmitHost\":false}");
}

static void put_json_list(struct buf *out, const struct gob_value *list)
{
	buf_add_char(out, '[');
	for (size_t i = 0; i < list->len; i++) {
		_cleanup_(buf_fini) struct buf text = { 0 };
		const struct gob_value *v = &list->at[i];

		buf_add_str(out, i ? "," : "");
		if (v->kind == GOB_BYTES) {
			put_ip(&text, v);
			gojson_string(out, text.data, text.len);
		} else if (v->kind == GOB_STRING) {
			put_json_str(out, v);
		} else {
			buf_printf(out, "%lld", (long long)gob_int(v));
		}
	}
	buf_add_char(out, ']');
}

/* Headers: a map of lists, or null. */
static void put_headers(struct buf *out, const char *key, const struct gob_value *map)
{
	buf_printf(out, ",\"%s\":", key);
	if (!map || map->kind != GOB_MAP) {
		buf_add_str(out, "null");
		return;
	}
	buf_add_char(out, '{');
	for (size_t i = 0; i < map->len; i++) {
		buf_add_str(out, i ? "," : "");
		put_json_str(out, &map->at[2 * i]);
		buf_add_char(out, ':');
		if (map->at[2 * i + 1].kind == GOB_LIST)
			put_json_list(out, &map->at[2 * i + 1]);
		else
			buf_add_str(out, "null");
	}
	buf_add_char(out, '}');
}

static void put_json_http(struct buf *out, const struct gob_value *http)
{
	const struct gob_value *url = gob_member(http, "URL");

	buf_printf(out, ",\"http\":{\"Code\":%lld,\"Method\":", (long long)gob_int(gob_member(http, "Code")));
	put_json_str(out, gob_member(http, "Method"));
	buf_add_str(out, ",\"URL\":");
	if (url && url->kind == GOB_BYTES)
		put_url(out, url);
	else
		buf_add_str(out, "null");
	buf_add_str(out, ",\"Protocol\":");
	put_json_str(out, gob_member(http, "Protocol"));
	put_headers(out, "Headers", gob_member(http, "Headers"));
	put_headers(out, "MissingHeaders", gob_member(http, "MissingHeaders"));
	put_headers(out, "RejectedHeaders", gob_member(http, "RejectedHeaders"));
	buf_add_char(out, '}');
}

/* Omits members that are zero, like the wire format. */
static void put_json_dns(struct buf *out, const struct gob_value *dns)
{
	buf_add_str(out, ",\"dns\":{");
	for (size_t i = 0; i < dns->len; i++) {
		const struct gob_value *v = &dns->at[i];

		buf_printf(out, "%s\"%s\":", i ? "," : "", v->name);
		if (v->kind == GOB_LIST)
			put_json_list(out, v);
		else if (v->kind == GOB_STRING)
			put_json_str(out, v);
		else
			buf_printf(out, "%lld", (long long)gob_int(v));
	}
	buf_add_char(out, '}');
}

static void put_json_end(struct buf *out, const char *word, const struct gob_value *end)
{
	buf_printf(out, ",\"%sEpID\":%llu,\"%sEpLabels\":", word, (unsigned long long)gob_int(gob_member(end, "ID")),
		   word);
	put_labels(out, end, true);
	buf_printf(out, ",\"%sIdentity\":%llu", word, (unsigned long long)gob_int(gob_member(end, "Identity")));
}

static void put_json(struct buf *out, const struct record *r, const char *proto)
{
	const struct gob_value *http = gob_member(r->v, "HTTP"), *dns = gob_member(r->v, "DNS");

	buf_add_str(out, "{\"type\":\"logRecord\",\"observationPoint\":");
	put_json_str(out, gob_member(r->v, "ObservationPoint"));
	buf_add_str(out, ",\"flowType\":");
	put_json_str(out, gob_member(r->v, "Type"));
	buf_printf(out, ",\"l7Proto\":\"%s\"", proto);
	put_json_end(out, "src", r->src);
	put_json_end(out, "dst", r->dst);
	buf_add_str(out, ",\"verdict\":");
	put_json_str(out, gob_member(r->v, "Verdict"));
	if (http)
		put_json_http(out, http);
	else if (dns)
		put_json_dns(out, dns);
	buf_add_str(out, "}\n");
}

bool cilium_l7_put(struct buf *out, const uint8_t *data, size_t len, bool json)
{
	_cleanup_(arena_fini) struct arena mem = { .limit_bytes = MEMORY_MAX };
	struct record r = { .v = decode(data, len, &mem) };
	const struct gob_value *type = gob_member(r.v, "Type");
	const char *proto;

	if (!r.v)
		return false;
	r.src = gob_member(r.v, "SourceEndpoint");
	r.dst = gob_member(r.v, "DestinationEndpoint");
	r.response = type && type->kind == GOB_STRING && type->len == 8 && !memcmp(type->data, "Response", 8);
	proto = gob_member(r.v, "HTTP") ? "http" : gob_member(r.v, "DNS") ? "dns" :
		gob_member(r.v, "Kafka") ? "kafka" : gob_member(r.v, "L7") ? "l7" : "unknown-l7";
	if (json)
		put_json(out, &r, proto);
	else
		put_text(out, &r, proto);
	return true;
}

bool cilium_l7_ends(const uint8_t *data, size_t len, uint16_t *ret_src, uint16_t *ret_dst)
{
	_cleanup_(arena_fini) struct arena mem = { .limit_bytes = MEMORY_MAX };
	const struct gob_value *v = decode(data, len, &mem);

	*ret_src = (uint16_t)gob_int(gob_member(gob_member(v, "SourceEndpoint"), "ID"));
	*ret_dst = (uint16_t)gob_int(gob_member(gob_member(v, "DestinationEndpoint"), "ID"));
	return v != NULL;
}
