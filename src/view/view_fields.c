// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view_fields.h"

#include <string.h>

#include "base/macros.h"

static const struct { const char *name, *word; enum view_end end; } ends[] = {
	{ "client.ip", "fd.ip", VIEW_END_CLIENT_IP }, { "client.port", "fd.port", VIEW_END_CLIENT_PORT },
	{ "server.ip", "fd.ip", VIEW_END_SERVER_IP }, { "server.port", "fd.port", VIEW_END_SERVER_PORT },
};

const char *view_fields_word(const char *field)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(ends[i].name, field))
			return ends[i].word;
	return field;
}

static struct view_field find(const struct event_desc *d, const char *name)
{
	struct view_field f = { 0 };

	if (!name)
		return f;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(ends[i].name, name))
			f.end = ends[i].end;
	f.field = event_field_named(d->fields, d->n_fields, name);
	if (f.field || f.end)
		return f;
	f.field = event_field_named(event_common_fields, event_n_common_fields, name);
	f.common = true;
	return f;
}

/* System calls of captures are events of another type, with libscap's words. */
#define CAPTURE "sys.event"
#define CALLS "sys.exit"

static const struct { const char *name, *key, *number; } of_captures[] = {
	{ "syscall.name", "syscall.type", NULL }, { "syscall.error", "syscall.error", "evt.failed" },
	{ "syscall.latency", NULL, "evt.latency" }, { "file.path", "fd.name", NULL },
};

static const char *word_of(bool capture, bool key, const char *field)
{
	for (size_t i = 0; capture && field && i < ARRAY_SIZE(of_captures); i++)
		if (!strcmp(of_captures[i].name, field))
			return key ? of_captures[i].key : of_captures[i].number;
	return field;
}

/* System calls that the kernel has summed by process and call. */
#define SUMS "sys.sum"

static const char *const keys_of_sums[] = { "proc.pid", "proc.name", "syscall.name" };
static const struct {
	enum view_op op;
	const char *field, *number;
} of_sums[] = {
	{ VIEW_COUNT, "", "syscall.calls" },
	{ VIEW_TRUE, "syscall.error", "syscall.errors" },
	{ VIEW_SHARE, "syscall.latency", "syscall.total" },
	{ VIEW_P50, "syscall.latency", "syscall.steps" },
	{ VIEW_P99, "syscall.latency", "syscall.steps" },
	{ VIEW_MAX, "syscall.latency", "syscall.steps" },
	{ VIEW_SUM, "syscall.read", "syscall.read" },
	{ VIEW_SUM, "syscall.written", "syscall.written" },
};

static bool has_sums_keys(const struct view *v)
{
	for (size_t i = 0; i < view_n_keys(v); i++) {
		bool found = false;

		for (size_t k = 0; k < ARRAY_SIZE(keys_of_sums); k++)
			found = found || !strcmp(v->keys[i].field, keys_of_sums[k]);
		if (!found)
			return false;
	}
	return true;
}

/* The number of sums for a column of system calls; NULL = they do not have it. */
static const char *word_of_sums(const struct view_col *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_sums); i++)
		if (of_sums[i].op == c->op && (!c->field || !strcmp(of_sums[i].field, c->field)))
			return of_sums[i].number;
	return NULL;
}

bool view_fields_has_sums(const struct view *v, const struct view_col *c)
{
	return !strcmp(c->type, CALLS) && has_sums_keys(v) && word_of_sums(c);
}

static void init_col(struct view_fields *p, const struct view *v, size_t i)
{
	const bool capture = !strcmp(p->desc->name, CAPTURE), of_calls = !strcmp(v->cols[i].type, CALLS);

	p->cols[i] = find(p->desc, word_of(capture, false, v->cols[i].field));
	if (p->sums && view_fields_has_sums(v, &v->cols[i]))
		p->cols[i] = find(p->desc, word_of_sums(&v->cols[i]));
	else if (strcmp(v->cols[i].type, p->desc->name) != 0 && !(capture && of_calls))
		return;
	p->taken[p->n_taken++] = (unsigned)i;
}

void view_fields_init(struct view_fields *p, const struct view *v, const struct event_desc *d)
{
	const bool capture = !strcmp(d->name, CAPTURE);

	*p = (struct view_fields){ .desc = d, .sums = !strcmp(d->name, SUMS) };
	for (size_t i = 0; i < view_n_cols(v); i++)
		init_col(p, v, i);
	p->counts = p->n_taken > 0;
	for (size_t i = 0; i < view_n_keys(v); i++) {
		p->keys[i] = find(d, word_of(capture, true, v->keys[i].field));
		if (p->sums && !strcmp(v->keys[i].field, "proc.name"))	/* of a process that has ended */
			p->keys[i].other = find(d, "syscall.by_name").field;
	}
	for (size_t i = 0; i < view_n_notes(v); i++)
		p->notes[i] = find(d, v->notes[i].field);
	if (capture)
		p->only = find(d, "evt.count.exit");
	p->flow = find(d, "flow.id");
	p->is_reply = find(d, "flow.is_reply");
	p->flow_event = find(d, "flow.event");
	p->dir = find(d, "net.dir");
	p->owner_end = find(d, "owner.end");
	p->max = find(d, "syscall.max");
}

static void get(const struct view_field *f, const struct event *ev, struct value *ret)
{
	ret->kind = VAL_NONE;
	if (!f->field || (f->common ? event_get_common(ev, f->field, ret) : event_get(ev, f->field, ret)) < 0)
		ret->kind = VAL_NONE;
}

static void get_end(const struct view_fields *p, enum view_end end, const struct event *ev, struct value *ret)
{
	const struct conn *c = &ev->keys.conn;
	struct value reply;
	bool source = end == VIEW_END_CLIENT_IP || end == VIEW_END_CLIENT_PORT;
	uint16_t port;

	get(&p->is_reply, ev, &reply);
	if (reply.kind != VAL_NONE && reply.u)
		source = !source;
	port = source ? c->sport : c->dport;
	*ret = (struct value){ 0 };
	if (end == VIEW_END_CLIENT_IP || end == VIEW_END_SERVER_IP) {
		ret->ip = source ? c->saddr : c->daddr;
		ret->kind = ret->ip.family ? VAL_IP : VAL_NONE;
	} else if (port) {
		ret->u = port;
		ret->kind = VAL_UINT;
	}
}

void view_fields_get(const struct view_fields *p, const struct view_field *f, const struct event *ev,
		     struct value *ret)
{
	if (f->end)
		get_end(p, f->end, ev, ret);
	else
		get(f, ev, ret);
	if (ret->kind == VAL_NONE && f->other && event_get(ev, f->other, ret) < 0)
		ret->kind = VAL_NONE;
}

bool view_fields_has_col(const struct view_fields *p, unsigned col)
{
	return FIND_ITEM(it, p->taken, p->n_taken, *it == col);
}

bool view_fields_take(const struct view_fields *p, const struct event *ev)
{
	uint64_t one;

	return p->counts && (!p->only.field || (view_fields_number(&p->only, ev, &one) && one));
}

bool view_fields_number(const struct view_field *f, const struct event *ev, uint64_t *ret)
{
	struct value v;

	get(f, ev, &v);
	if (v.kind != VAL_STR || v.has_number)
		return value_number(&v, ret);
	*ret = v.len;
	return true;
}

const uint64_t *view_fields_steps(const struct view_field *f, const struct event *ev, size_t *ret_n)
{
	struct value v;

	get(f, ev, &v);
	if (v.kind != VAL_BYTES || (uintptr_t)v.str % sizeof(uint64_t))
		return NULL;
	*ret_n = v.len / sizeof(uint64_t);
	return (const uint64_t *)(const void *)v.str;
}
