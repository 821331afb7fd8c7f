/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by HTTP/1 and HTTP/2: request targets, header fields, status codes (RFC 9110).
 */
#ifndef CALL_CALL_HTTP_H
#define CALL_CALL_HTTP_H

#include "call/call_line.h"
#include "call/call_pool.h"

/*
 * Sets path, query and authority from a request target ("/a?b=c", "http://user:word@host/a", "host:443"). Userinfo
 * and fragment are left out, and values of the query unless @conf shows them.
 */
void call_http_set_target(struct call *c, const struct call_pool_conf *conf, struct call_line target);

/*
 * "a=1&b=2" as "a=&b=" in @to, at most @size bytes; @to may be the query itself. A word without "=" is a key. Returns
 * the length.
 */
size_t call_http_query_keys(struct call_line query, char *to, size_t size);

/* The same, or the query as it is if @conf says so. */
void call_http_set_query(struct call *c, const struct call_pool_conf *conf, struct call_line query);

/* Sets the authority from a Host field; userinfo is left out. */
void call_http_set_authority(struct call *c, struct call_line value);

/* Does @conf ask for the field? */
bool call_http_is_asked_for(const struct call_pool_conf *conf, const struct call_line *name);

/* A field of the request: kept if @conf asks for its name. */
void call_http_add_header(struct call *c, const struct call_pool_conf *conf, const struct call_line *name,
			  const struct call_line *value);

void call_http_set_status(struct call *c, unsigned status);

#endif
