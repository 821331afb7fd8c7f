// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/filter/filter_error.h"
#include "event/filter/filter_tree.h"

#define WIDTH_MAX 4096u
#define FIELD_NAME_MAX 128u

enum special { SPECIAL_NONE, SPECIAL_OUTPUTTIME, SPECIAL_TIME, SPECIAL_DATETIME, SPECIAL_ISO, SPECIAL__MAX };

struct piece {
	const char *text;		/* literal text; NULL for a field */
	size_t len;
	unsigned width;			/* minimum columns, 0 = none */
	enum special special;
	const struct field *common;
	struct binding *bindings;
	size_t n_bindings;
};

struct format {
	struct arena arena;
	VEC(struct piece) pieces;
	struct map rows;		/* const struct event_desc * -> const struct field **, one per piece */
	bool lenient;			/* print <NA> for missing values */
	bool also;			/* uses a field of a desc->also */
};

void format_free(struct format *f)
{
	if (!f)
		return;
	vec_fini(&f->pieces);
	map_fini(&f->rows);
	arena_fini(&f->arena);
	free(f);
}
DEFINE_CLEANUP(struct format *, format_free)

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
	       c == '-';
}

/* Length of the field's name at @s: letters, dots and [ARG]. A trailing dot is literal text. */
static size_t field_length(const char *s)
{
	size_t n = 0, close;

	while (is_name_char(s[n]))
		n++;
	while (n && s[n - 1] == '.')
		n--;
	if (s[n] != '[')
		return n;
	close = strcspn(s + n, "]");
	return s[n + close] ? n + close + 1 : n;
}

static const struct field *find(struct format *f, const struct field *fields, size_t n, const char *name)
{
	const char *arg;
	size_t len;
	const struct field *found = event_field_find(fields, n, name, &arg, &len);
	struct field *copy;

	if (!found || found->kind != FIELD_GET || fields == event_common_fields)
		return found;
	copy = arena_copy(&f->arena, found, sizeof(*found));
	if (!copy)
		return NULL;
	copy->flags |= FIELD_SHOWN;
	copy->arg = arg ? arena_copy(&f->arena, arg, len) : NULL;
	return copy;
}

/* The field @name in events of type @d. */
static const struct field *find_for(struct format *f, const struct event_desc *d, const char *name)
{
	const struct field *found = find(f, d->fields, d->n_fields, name);
	struct field *copy;
	const char *arg;
	size_t len;

	if (found || !event_field_also(d, name, &arg, &len))
		return found;
	found = find(f, d->also->fields, d->also->n_fields, name);
	copy = found ? arena_copy(&f->arena, found, sizeof(*found)) : NULL;
	if (!copy)
		return NULL;
	copy->flags |= FIELD_ALSO;
	f->also = true;
	return copy;
}

static int bind(struct format *f, const struct registry *reg, const char *name, struct piece *p)
{
	const struct event_desc *d;
	size_t pos = 0, n = 0;

	while (registry_next(reg, &pos))
		n++;
	p->bindings = arena_alloc(&f->arena, n * sizeof(*p->bindings));
	if (!p->bindings)
		return -ENOMEM;
	p->common = find(f, event_common_fields, event_n_common_fields, name);
	for (pos = 0; (d = registry_next(reg, &pos));) {
		const struct field *field = find_for(f, d, name);

		if (field)
			p->bindings[p->n_bindings++] = (struct binding){ d, field };
	}
	return p->common || p->n_bindings ? 0 : -ENOENT;
}

static enum special special_of(const char *name)
{
	static const char *const names[] = {
		[SPECIAL_OUTPUTTIME] = "evt.outputtime", [SPECIAL_TIME] = "evt.time",
		[SPECIAL_DATETIME] = "evt.datetime", [SPECIAL_ISO] = "evt.time.iso8601",
	};

	_Static_assert(ARRAY_SIZE(names) == SPECIAL__MAX, "a name per special field");
	for (int i = SPECIAL_NONE + 1; i < SPECIAL__MAX; i++)
		if (!strcmp(name, names[i]))
			return (enum special)i;
	return SPECIAL_NONE;
}

static int fail_field(const struct registry *reg, const char *name, struct err *err)
{
	struct filter_suggestion s = filter_error_suggestion(name, strlen(name));
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct event_desc *d;
	size_t pos = 0;

	for (size_t i = 0; i < event_n_common_fields; i++)
		filter_error_suggest(&s, event_common_fields[i].name);
	while ((d = registry_next(reg, &pos)))
		for (unsigned i = 0; i < d->n_fields; i++)
			filter_error_suggest(&s, d->fields[i].name);
	filter_error_add_suggestion(&b, &s);
	return err_set(err, -EINVAL, "the line format uses %%%s: no event has this field%s", name, buf_str(&b));
}

static int add_field(struct format *f, const struct registry *reg, const char **at, struct err *err)
{
	char name[FIELD_NAME_MAX];
	struct piece p = { 0 };
	size_t len;
	int r;

	while (**at >= '0' && **at <= '9' && p.width < WIDTH_MAX)
		p.width = p.width * 10 + (unsigned)(*(*at)++ - '0');
	len = field_length(*at);
	if (!len || !str_copy(name, sizeof(name), *at, len))
		return err_set(err, -EINVAL, "the line format has a %% without a field (evt.num, proc.name...)");
	*at += len;
	p.special = special_of(name);
	r = p.special ? 0 : bind(f, reg, name, &p);
	if (r == -ENOENT)
		return fail_field(reg, name, err);
	if (r < 0 || vec_push(&f->pieces, p) < 0)
		return err_errno(err, -ENOMEM, "cannot parse the line format");
	return 0;
}

static const struct field *field_for(const struct piece *p, const struct event_desc *desc)
{
	for (size_t i = 0; i < p->n_bindings; i++)
		if (p->bindings[i].desc == desc)
			return p->bindings[i].field;
	return p->common;
}

/* The fields of all pieces, by event type. */
static int make_rows(struct format *f, const struct registry *reg)
{
	const struct event_desc *d;
	size_t pos = 0;

	map_init(&f->rows, sizeof(d), sizeof(const struct field **));
	while ((d = registry_next(reg, &pos))) {
		const struct field **fields = arena_alloc(&f->arena, f->pieces.len * sizeof(*fields));
		const struct field ***row = map_add(&f->rows, &d, NULL);

		if (!fields || !row)
			return -ENOMEM;
		for (size_t i = 0; i < f->pieces.len; i++)
			fields[i] = field_for(&f->pieces.items[i], d);
		*row = fields;
	}
	return 0;
}

int format_parse(const struct registry *reg, const char *text, struct format **ret, struct err *err)
{
	_cleanup_(format_freep) struct format *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_errno(err, -ENOMEM, "cannot parse the line format");
	f->lenient = text[0] == '*';
	text = arena_copy(&f->arena, text + f->lenient, strlen(text + f->lenient));
	if (!text)
		return err_errno(err, -ENOMEM, "cannot parse the line format");
	while (*text) {
		size_t len = strcspn(text, "%");

		if (len) {
			if (vec_push(&f->pieces, (struct piece){ .text = text, .len = len }) < 0)
				return err_errno(err, -ENOMEM, "cannot parse the line format");
			text += len;
			continue;
		}
		text++;
		r = add_field(f, reg, &text, err);
		if (r < 0)
			return r;
	}
	if (make_rows(f, reg) < 0)
		return err_errno(err, -ENOMEM, "cannot parse the line format");
	*ret = TAKE_PTR(f);
	return 0;
}

bool format_also(const struct format *f)
{
	return f && f->also;
}

/* Wall-clock time in fields of struct tm; *ret_ns: the fraction. */
static struct tm wall_time(const struct event *ev, bool utc, unsigned *ret_ns)
{
	uint64_t ns = event_wall_ns(ev);
	time_t second = (time_t)(ns / NS_PER_S);
	struct tm tm;

	*ret_ns = (unsigned)(ns % NS_PER_S);
	if (utc)
		gmtime_r(&second, &tm);
	else
		localtime_r(&second, &tm);
	return tm;
}

static void add_date(struct buf *out, const struct tm *tm, char between)
{
	buf_printf(out, "%04d-%02d-%02d%c", tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday, between);
}

static void add_clock(struct buf *out, const struct tm *tm, unsigned ns)
{
	buf_printf(out, "%02d:%02d:%02d.%09u", tm->tm_hour, tm->tm_min, tm->tm_sec, ns);
}

static void add_special(const struct piece *p, const struct event *ev, const char *outputtime, struct buf *out)
{
	unsigned ns;
	struct tm tm;

	if (p->special == SPECIAL_OUTPUTTIME) {
		buf_add_str(out, outputtime);
		return;
	}
	tm = wall_time(ev, p->special == SPECIAL_ISO, &ns);
	if (p->special != SPECIAL_TIME)
		add_date(out, &tm, p->special == SPECIAL_ISO ? 'T' : ' ');
	add_clock(out, &tm, ns);
	if (p->special == SPECIAL_ISO)
		buf_add_char(out, 'Z');
}

/* False if the event lacks the field. */
static bool add_value(const struct field *f, const struct event *ev, struct buf *out)
{
	struct value v;

	if (!f || event_get(ev, f, &v) < 0)
		return false;
	v.ns = false;	/* formats feed programs: plain numbers */
	value_text(&v, out);
	return true;
}

int format_event(const struct format *f, const struct event *ev, const char *outputtime, struct buf *out)
{
	const struct field **const *row = map_find(&f->rows, &ev->desc);
	size_t start = out->len;

	for (size_t i = 0; i < f->pieces.len; i++) {
		const struct piece *p = &f->pieces.items[i];
		size_t before = out->len;

		if (p->text) {
			buf_add(out, p->text, p->len);
		} else if (p->special) {
			add_special(p, ev, outputtime, out);
		} else if (!add_value(row ? (*row)[i] : p->common, ev, out)) {
			if (!f->lenient) {
				out->len = start;
				return buf_error(out);
			}
			buf_add_str(out, "<NA>");
		}
		if (p->width && out->len > before + p->width)
			out->len = before + p->width;
		while (p->width && out->len < before + p->width && !buf_error(out))
			buf_add_char(out, ' ');
	}
	return buf_add_char(out, '\n');
}
