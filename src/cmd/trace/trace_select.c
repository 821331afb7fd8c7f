// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words to a selection of calls. A call that either of its sides matches is chosen.
 */
#include "cmd/trace/trace_select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "trace/trace_fact.h"

#define END_MAX 64u /* characters of "[ADDRESS]:PORT" */

static bool is_id(const char *word)
{
	return strlen(word) == CALL_ID_DIGITS && strspn(word, "0123456789abcdef") == CALL_ID_DIGITS;
}

/* "shop.Cart/Add": no field or operator of an expression has a slash outside of quotes. */
static bool is_method(const char *word)
{
	return strchr(word, '/') && !strpbrk(word, "=<>!'\"() ");
}

/* "127.0.0.1:80", "[::1]:80". */
static int parse_end(const char *text, size_t len, struct ipaddr *ret_ip, uint16_t *ret_port)
{
	char copy[END_MAX], *port, *ip = copy;
	uint32_t number;

	if (!str_copy(copy, sizeof(copy), text, len))
		return -EINVAL;
	port = strrchr(copy, ':');
	if (!port)
		return -EINVAL;
	*port++ = '\0';
	if (*ip == '[' && port - ip > 2 && port[-2] == ']') {
		port[-2] = '\0';
		ip++;
	}
	if (ipaddr_parse(ip, ret_ip) < 0 || str_to_u32(port, 10, &number) < 0 || !number || number > UINT16_MAX)
		return -EINVAL;
	*ret_port = (uint16_t)number;
	return 0;
}

static int parse_conn(struct trace_select *s, const char *text, struct err *err)
{
	const char *middle = strchr(text, '-');

	if (!middle || parse_end(text, (size_t)(middle - text), &s->ends[0], &s->ports[0]) < 0 ||
	    parse_end(middle + 1, strlen(middle + 1), &s->ends[1], &s->ports[1]) < 0)
		return err_set(err, -EINVAL, "conn %s: expected ADDRESS:PORT-ADDRESS:PORT", text);
	return 0;
}

int trace_select_parse(struct trace_select *s, const struct opt_strv *words, struct err *err)
{
	*s = (struct trace_select){ 0 };
	if (!words->len)
		return 0;
	if (words->len == 1 && is_id(words->items[0])) {
		s->id = strtoull(words->items[0], NULL, 16);
		return 0;
	}
	if (words->len == 1 && is_method(words->items[0])) {
		s->method = words->items[0];
		return 0;
	}
	if (words->len == 2 && !strcmp(words->items[0], "conn"))
		return parse_conn(s, words->items[1], err);
	if (words->len == 2 && !strcmp(words->items[0], "pid")) {
		if (str_to_u32(words->items[1], 10, &s->pid) < 0 || !s->pid)
			return err_set(err, -EINVAL, "pid %s: expected a process id", words->items[1]);
		return 0;
	}
	s->expr = run_join_words(words);
	return s->expr ? 0 : err_errno(err, -ENOMEM, "cannot take the words");
}

int trace_select_compile(struct trace_select *s, const struct registry *reg, struct err *err)
{
	int r = s->expr ? filter_parse(reg, s->expr, &s->filter, err) : 0;

	return r < 0 ? err_prefix(err, "not the id of a call; as a filter") : 0;
}

void trace_select_fini(struct trace_select *s)
{
	free(s->expr);
	filter_free(s->filter);
	*s = (struct trace_select){ 0 };
}

static bool is_conn(const struct trace_select *s, const struct conn *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->sport == s->ports[i] && c->dport == s->ports[!i] && ipaddr_equal(&c->saddr, &s->ends[i]) &&
		    ipaddr_equal(&c->daddr, &s->ends[!i]))
			return true;
	return false;
}

static bool is_field(const struct event *ev, const char *name, const char *text)
{
	const struct field *f = event_field_named(ev->desc->fields, ev->desc->n_fields, name);
	struct value v;

	return f && event_get(ev, f, &v) == 0 && v.kind == VAL_STR && v.len == strlen(text) &&
	       !memcmp(v.str, text, v.len);
}

bool trace_select_match(const struct trace_select *s, const struct event *ev, const struct trace_fact *call)
{
	if (s->id)
		return call->of_call.id == s->id;
	if (s->pid)
		return call->tgid == s->pid;
	if (s->method)
		return is_field(ev, "rpc.name", s->method);
	if (s->ports[0])
		return is_conn(s, &call->conn);
	return filter_match(s->filter, ev);
}
