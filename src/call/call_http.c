// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_http.h"

#include <string.h>

#include "base/macros.h"

void call_http_set_authority(struct call *c, struct call_line value)
{
	const char *at = value.len ? memrchr(value.at, '@', value.len) : NULL;

	if (at) {
		value.len -= (size_t)(at + 1 - value.at);
		value.at = at + 1;
	}
	call_entry_set(c, CALL_TEXT_AUTHORITY, value.at, value.len);
}

size_t call_http_query_keys(struct call_line query, char *to, size_t size)
{
	size_t len = 0;

	while (query.len && len < size) {
		struct call_line pair = call_line_word(&query, '&');
		const char *sign = pair.len ? memchr(pair.at, '=', pair.len) : NULL;
		size_t n = MIN(sign ? (size_t)(sign + 1 - pair.at) : pair.len, size - len);

		memmove(to + len, pair.at, n);
		len += n;
		if (query.len && len < size)
			to[len++] = '&';
	}
	return len;
}

void call_http_set_query(struct call *c, const struct call_pool_conf *conf, struct call_line query)
{
	char keys[CALL_TEXT_BYTES];

	if (conf->query_values)
		call_entry_set(c, CALL_TEXT_QUERY, query.at, query.len);
	else
		call_entry_set(c, CALL_TEXT_QUERY, keys, call_http_query_keys(query, keys, sizeof(keys)));
}

void call_http_set_target(struct call *c, const struct call_pool_conf *conf, struct call_line target)
{
	struct call_line rest = call_line_word(&target, '#');
	struct call_line path = call_line_word(&rest, '?');
	const char *scheme = path.len ? memmem(path.at, path.len, "://", 3) : NULL;

	if (scheme && path.at[0] != '/') {
		const char *host = scheme + 3, *end = path.at + path.len;
		const char *slash = host < end ? memchr(host, '/', (size_t)(end - host)) : NULL;

		slash = slash ? slash : end;
		call_http_set_authority(c, (struct call_line){ host, (size_t)(slash - host) });
		path = (struct call_line){ slash, (size_t)(end - slash) };
		if (!path.len)
			path = (struct call_line){ "/", 1 };
	} else if (path.len && path.at[0] != '/' && path.at[0] != '*') {
		call_http_set_authority(c, path);
		path.len = 0;
	}
	call_entry_set(c, CALL_TEXT_RESOURCE, path.at, path.len);
	if (rest.len)
		call_http_set_query(c, conf, rest);
}

bool call_http_is_asked_for(const struct call_pool_conf *conf, const struct call_line *name)
{
	static const char *const usual[] = { "traceparent", "b3", "x-request-id", NULL };

	for (const char *const *h = conf->headers ? conf->headers : usual; *h; h++)
		if (call_line_is(name, *h))
			return true;
	return false;
}

void call_http_add_header(struct call *c, const struct call_pool_conf *conf, const struct call_line *name,
			  const struct call_line *value)
{
	char lines[CALL_TEXT_BYTES];
	const char *old;
	size_t len, i = 0;

	if (!call_http_is_asked_for(conf, name))
		return;
	old = call_entry_text(c, CALL_TEXT_HEADERS, &len);
	if (len + name->len + value->len + 3 > sizeof(lines)) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
		return;
	}
	if (len)
		memcpy(lines, old, len);
	for (; i < name->len; i++)
		lines[len++] = (char)(name->at[i] >= 'A' && name->at[i] <= 'Z' ? name->at[i] | 0x20 : name->at[i]);
	lines[len++] = ':';
	lines[len++] = ' ';
	memcpy(lines + len, value->at, value->len);
	len += value->len;
	lines[len++] = '\n';
	call_entry_set(c, CALL_TEXT_HEADERS, lines, len);
}

void call_http_set_status(struct call *c, unsigned status)
{
	c->status = status;
	c->error = status >= 500 ? CALL_ERROR_FAILED : status >= 400 ? CALL_ERROR_CLIENT : CALL_ERROR_NONE;
}
