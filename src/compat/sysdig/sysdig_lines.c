// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/sysdig/sysdig_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/format.h"
#include "event/json.h"
#include "event/value.h"
#include "sinks/sink.h"
#include "sinks/time_text.h"

#define NAME_MAX_LEN 64

struct name { char text[NAME_MAX_LEN]; };

struct sysdig_lines {
	const struct sysdig_lines_opts *o;
	VEC(struct name) names;	/* members of objects, sorted */
	uint64_t first_ns;	/* 0 = no event yet */
	struct time_text time;
	struct buf line, stamp, tabs;
};

static bool has_name(const struct sysdig_lines *l, const struct name *n)
{
	return vec_find(it, &l->names, !strcmp(it->text, n->text));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* The fields of "%evt.num %20proc.name". */
static int read_names(struct sysdig_lines *l, const char *form)
{
	while ((form = strchr(form, '%'))) {
		struct name n = { "" };
		size_t len;

		form += 1 + strspn(form + 1, "0123456789");
		len = strspn(form, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._[]");
		snprintf(n.text, sizeof(n.text), "%.*s", (int)len, form);
		if (!len || has_name(l, &n))
			continue;
		if (vec_push(&l->names, n) < 0)
			return -ENOMEM;
	}
	vec_sort(&l->names, by_text);
	return 0;
}

struct sysdig_lines *sysdig_lines_new(const struct sysdig_lines_opts *o)
{
	struct sysdig_lines *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->o = o;
	if (!o->json || read_names(l, o->form) == 0)
		return l;
	sysdig_lines_free(l);
	return NULL;
}

void sysdig_lines_free(struct sysdig_lines *l)
{
	if (!l)
		return;
	vec_fini(&l->names);
	buf_fini(&l->line);
	buf_fini(&l->stamp);
	buf_fini(&l->tabs);
	free(l);
}

/* ---- fields ---- */

static bool get_of(const struct event *ev, const struct field *fields, size_t n, const char *name, unsigned flags,
		   struct value *ret)
{
	char text[NAME_MAX_LEN];
	const char *arg;
	size_t len;
	const struct field *f = event_field_find(fields, n, name, &arg, &len);
	struct field copy;

	if (!f || fields == event_common_fields || f->kind != FIELD_GET)
		return f && event_get(ev, f, ret) == 0;
	snprintf(text, sizeof(text), "%.*s", (int)len, arg ? arg : "");
	copy = *f;
	copy.flags |= flags | FIELD_SHOWN;
	copy.arg = arg ? text : NULL;
	return event_get(ev, &copy, ret) == 0;
}

/* As lines find it: of the event's type, of all types, or of what is known besides. */
static bool get(const struct event *ev, const char *name, struct value *ret)
{
	const struct event_desc *d = ev->desc;

	return get_of(ev, d->fields, d->n_fields, name, 0, ret) ||
	       get_of(ev, event_common_fields, event_n_common_fields, name, 0, ret) ||
	       (d->also && get_of(ev, d->also->fields, d->also->n_fields, name, FIELD_ALSO, ret));
}

static uint64_t number(const struct event *ev, const char *name, uint64_t otherwise)
{
	struct value v = { .kind = VAL_NONE };

	return get(ev, name, &v) && v.kind == VAL_UINT ? v.u : otherwise;
}

/* ---- lines ---- */

static void put_stamp(struct sysdig_lines *l, enum time_mode mode, const struct event *ev)
{
	const uint64_t second = NS_PER_S;
	uint64_t ns;

	buf_reset(&l->stamp);
	if (!l->o->time) {
		time_text_full(&l->time, mode, ev, &l->stamp);
		return;
	}
	if (l->o->time == 'a') {	/* sysdig writes the fraction as a number, without zeros before it */
		buf_printf(&l->stamp, "%" PRIu64 ".%" PRIu64, event_wall_ns(ev) / second, event_wall_ns(ev) % second);
		return;
	}
	ns = l->o->time == 'd' ? number(ev, "evt.latency", 0) : number(ev, "evt.reltime", ev->ts_ns - l->first_ns);
	buf_printf(&l->stamp, "%" PRIu64 ".%09" PRIu64, ns / second, ns % second);
}

/* As a line, an object needs all of its fields unless the format begins with a star. */
static bool has_all(const struct sysdig_lines *l, const struct event *ev)
{
	struct value v;

	for (size_t i = 0; *l->o->form != '*' && i < l->names.len; i++)
		if (strcmp(l->names.items[i].text, "evt.outputtime") != 0 &&
		    (!get(ev, l->names.items[i].text, &v) || v.kind == VAL_NONE))
			return false;
	return true;
}

static void put_object(struct sysdig_lines *l, const struct event *ev)
{
	struct json j = { .out = &l->line };

	json_open(&j, '{');
	for (size_t i = 0; i < l->names.len; i++) {
		const char *name = l->names.items[i].text;
		struct value v = { .kind = VAL_NONE };

		json_key(&j, name);
		if (!strcmp(name, "evt.outputtime")) {
			json_u64(&j, event_wall_ns(ev));
			continue;
		}
		if (!get(ev, name, &v))
			v.kind = VAL_NONE;
		value_json(&v, &l->line);
		j.comma = true;
	}
	json_close(&j, '}');
	buf_add_char(&l->line, '\n');
}

/* Rows of bytes begin with blanks in sonde's lines, which have no tabs. */
static const struct buf *with_tabs(struct sysdig_lines *l)
{
	static const char blanks[] = "\n        0x";
	const size_t len = sizeof(blanks) - 1;
	struct buf *line = &l->line;

	buf_reset(&l->tabs);
	for (size_t i = 0; i < line->len;) {
		if (line->len - i >= len && !memcmp(line->data + i, blanks, len)) {
			buf_add_str(&l->tabs, "\n\t0x");
			i += len;
		} else {
			buf_add_char(&l->tabs, line->data[i++]);
		}
	}
	return &l->tabs;
}

static int sink_event_of(struct sink *s, const struct event *ev)
{
	struct sysdig_lines *l = s->opts->ctx;
	const struct buf *line = &l->line;

	if (l->o->quiet || !s->opts->line.print || ev->desc->class != EVENT_DATA)
		return 0;
	l->first_ns = l->first_ns ? l->first_ns : ev->ts_ns;
	buf_reset(&l->line);
	if (l->o->json && has_all(l, ev)) {
		put_object(l, ev);
	} else if (!l->o->json) {
		put_stamp(l, s->opts->time, ev);
		format_event(s->opts->line.print, ev, buf_str(&l->stamp), &l->line);
		line = l->o->hex ? with_tabs(l) : line;
	}
	if (buf_error(&l->line) < 0 || buf_error(line) < 0)
		return -ENOMEM;
	return fwrite(line->data, 1, line->len, stdout) == line->len ? 0 : -errno;
}

const struct sink_ops sysdig_lines_sink = {
	.name = "sysdig-lines",
	.summary = "sysdig's times and objects",
	.shows = "system calls",
	.flags = SINK_NO_FILE,
	.event = sink_event_of,
	.flush = sink_flush_stdout,
};
