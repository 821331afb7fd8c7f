// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_schema.h"
#include "event/event.h"
#include "event/names.h"
#include "event/value.h"

#define SECONDS_PER_DAY 86400

/* Bytes of a number; 0 = the type is none. */
static const uint8_t sizes[] = {
	[CLICKHOUSE_U8] = 1,	  [CLICKHOUSE_U16] = 2,	 [CLICKHOUSE_U32] = 4,	[CLICKHOUSE_U64] = 8,
	[CLICKHOUSE_I8] = 1,	  [CLICKHOUSE_I16] = 2,	 [CLICKHOUSE_I32] = 4,	[CLICKHOUSE_I64] = 8,
	[CLICKHOUSE_TIME_NS] = 8, [CLICKHOUSE_TIME] = 4, [CLICKHOUSE_DATE] = 2, [CLICKHOUSE__MAX] = 0,
};

static const uint8_t bytes_of_nothing[] = { [CLICKHOUSE_IP] = 16, [CLICKHOUSE_MAC] = 6, [CLICKHOUSE_UUID] = 16,
					    [CLICKHOUSE__MAX] = 0 };

static void put_number(struct buf *out, enum clickhouse_type type, uint64_t v)
{
	char *to = buf_reserve(out, sizeof(v));

	if (!to)
		return;
	memcpy(to, &v, sizeof(v)); /* little endian: see base/cursor.h */
	buf_commit(out, sizes[type]);
}

static void put_varint(struct buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_add_char(out, (char)(v | 0x80));
	buf_add_char(out, (char)v);
}

static void put_text(struct buf *out, const void *text, size_t len)
{
	put_varint(out, len);
	if (len)
		buf_add(out, text, len);
}

static void put_ip(struct buf *out, const struct ipaddr *ip)
{
	static const char v4[12] = "\0\0\0\0\0\0\0\0\0\0\xff\xff", zero[16];

	if (ip->family == SONDE_IPV4) {
		buf_add(out, v4, sizeof(v4));
		buf_add(out, ip->addr, 4);
	} else {
		buf_add(out, ip->family == SONDE_IPV6 ? (const char *)ip->addr : zero, 16);
	}
}

/* The names of the set bits, unnamed ones as one number. */
static void put_flags(struct buf *out, const struct xlat *x, uint64_t bits)
{
	const char *names[64];
	char rest[32];
	size_t n = 0;

	for (uint32_t i = 0; x && i < x->n && n < ARRAY_SIZE(names); i++) {
		if (!x->vals[i].val || (bits & x->vals[i].val) != x->vals[i].val)
			continue;
		bits &= ~x->vals[i].val;
		names[n++] = x->vals[i].name;
	}
	put_varint(out, n + !!bits);
	for (size_t i = 0; i < n; i++)
		put_text(out, names[i], strlen(names[i]));
	if (bits)
		put_text(out, rest, (size_t)snprintf(rest, sizeof(rest), "0x%llx", (unsigned long long)bits));
}

static void put_printed(struct buf *out, const struct value *v)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	value_text(v, &text);
	if (buf_error(&text))
		out->error = buf_error(&text);
	put_text(out, text.data, text.len);
}

static void put_as_text(struct buf *out, const struct value *v)
{
	if (v->kind == VAL_STR || v->kind == VAL_BYTES)
		put_text(out, v->str, v->len);
	else
		put_printed(out, v);
}

static uint64_t as_number(const struct value *v)
{
	switch (v->kind) {
	case VAL_INT: return (uint64_t)v->i;
	case VAL_UINT:
	case VAL_BOOL:
	case VAL_FLAGS: return v->u;
	case VAL_STR: return v->has_number ? v->u : 0;
	default: return 0;
	}
}

/* Of a field that the event lacks: zeros, which of a text and of flags are a length. */
static void put_nothing(struct buf *out, enum clickhouse_type type)
{
	static const char zero[16];
	char *to;

	if (sizes[type] || bytes_of_nothing[type]) {
		to = buf_reserve(out, sizeof(zero));
		if (to)
			memset(to, 0, sizeof(zero));
		buf_commit(out, to ? sizes[type] + bytes_of_nothing[type] : 0);
	} else {
		buf_add_char(out, '\0');
	}
}

/* A value of another kind than the column's is 0 or "". */
static void put_value(struct buf *out, enum clickhouse_type type, const struct value *v)
{
	switch (type) {
	case CLICKHOUSE_WORD:
	case CLICKHOUSE_TEXT: put_as_text(out, v); break;
	case CLICKHOUSE_FLAGS: put_flags(out, v->xlat, v->kind == VAL_FLAGS ? v->u : 0); break;
	case CLICKHOUSE_IP:
		if (v->kind == VAL_IP)
			put_ip(out, &v->ip);
		else
			put_nothing(out, type);
		break;
	case CLICKHOUSE_MAC:
		if (v->kind == VAL_MAC)
			buf_add(out, v->str, 6);
		else
			put_nothing(out, type);
		break;
	case CLICKHOUSE_UUID: put_nothing(out, type); break;
	default: put_number(out, type, as_number(v));
	}
}

static void put_field(const struct clickhouse_column *c, const struct event *ev, struct buf *out)
{
	struct value v;

	if (event_get(ev, c->field, &v) < 0)
		put_nothing(out, c->type);
	else
		put_value(out, c->type, &v);
}

/* ---- plans ---- */

#define KEPT_BITS 3
#define KEPT_BYTES 51

/* The last value that a number stood for. */
struct kept {
	uint64_t key;
	uint32_t names; /* plan->names_count when it was made; 0 = none */
	uint8_t len;
	char bytes[KEPT_BYTES]; /* as the row has them */
};

enum step_kind { STEP_HOST, STEP_NUMBER, STEP_BOOL, STEP_IP, STEP_CHARS, STEP_PROC, STEP_KEPT, STEP_GET, STEP__MAX };

/* One column of the server. */
struct step {
	const struct clickhouse_column *column;
	struct kept *kept; /* owned; 1 << KEPT_BITS, by a hash of the number */
	struct event_place place; /* EVENT_PART_NONE: of struct numbers */
	enum step_kind kind;
	uint8_t bytes; /* of the number in the row */
};

/* Those of a row that do not come from its event. */
struct numbers {
	uint64_t run, seq, ts_ns;
	uint32_t second;
	uint16_t day;
};

struct clickhouse_row_plan {
	const struct clickhouse_table *table;
	char *insert; /* owned; NULL = as yet unknown */
	size_t room;  /* the most bytes of all steps of a known size */
	const struct names *names;
	uint64_t names_generation;
	uint32_t names_count; /* changes of the names */
	size_t n, n_used;     /* the used ones come first: those that a row has needed */
	struct step steps[];
};

#define NUMBER(member) { .off = offsetof(struct numbers, member), .size = sizeof(((struct numbers *)0)->member) }

static const struct event_place of_row[] = {
	[CLICKHOUSE_RUN] = NUMBER(run),	      [CLICKHOUSE_SEQ] = NUMBER(seq), [CLICKHOUSE_TS] = NUMBER(ts_ns),
	[CLICKHOUSE_SECOND] = NUMBER(second), [CLICKHOUSE_DAY] = NUMBER(day), [CLICKHOUSE_FROM__MAX] = { 0 },
};

static bool is_number(const struct event_place *p)
{
	return p->size == 1 || p->size == 2 || p->size == 4 || p->size == 8;
}

static enum step_kind kind_of(const struct clickhouse_column *c, const struct event_place *p)
{
	const struct field *f = c->field;
	const bool yes = f->kind == FIELD_BOOL || f->like == FIELD_LIKE(FIELD_BOOL);

	if (p->part == EVENT_PART_NONE)
		return STEP_GET;
	if (p->part == EVENT_PART_PROC)
		return c->type == CLICKHOUSE_WORD || c->type == CLICKHOUSE_TEXT ? STEP_PROC : STEP_GET;
	if (sizes[c->type])
		return !is_number(p) ? STEP_GET : yes ? STEP_BOOL : STEP_NUMBER;
	switch (c->type) {
	case CLICKHOUSE_IP: return p->size == sizeof(struct ipaddr) ? STEP_IP : STEP_GET;
	case CLICKHOUSE_WORD:
	case CLICKHOUSE_TEXT:
		if (f->kind == FIELD_STR)
			return STEP_CHARS;
		return is_number(p) ? STEP_KEPT : STEP_GET;
	case CLICKHOUSE_FLAGS: return is_number(p) ? STEP_KEPT : STEP_GET;
	default: return STEP_GET;
	}
}

static int plan_step(struct clickhouse_row_plan *p, const struct clickhouse_column *c)
{
	struct step *s = &p->steps[p->n++];

	*s = (struct step){ .column = c, .kind = STEP_NUMBER, .bytes = sizes[c->type] };
	if (c->from == CLICKHOUSE_HOST)
		s->kind = STEP_HOST;
	else if (c->from != CLICKHOUSE_FIELD)
		s->place = of_row[c->from];
	else
		s->place = event_field_place(c->field);
	if (c->from == CLICKHOUSE_FIELD)
		s->kind = kind_of(c, &s->place);
	if (s->kind == STEP_KEPT)
		s->kept = calloc(1u << KEPT_BITS, sizeof(*s->kept));
	p->room += KEPT_BYTES;
	return s->kind == STEP_KEPT && !s->kept ? -ENOMEM : 0;
}

struct clickhouse_row_plan *clickhouse_row_plan_new(const struct clickhouse_table *t)
{
	struct clickhouse_row_plan *p = calloc(1, sizeof(*p) + t->columns.len * sizeof(p->steps[0]));

	if (!p)
		return NULL;
	p->table = t;
	for (size_t i = 0; i < t->columns.len; i++)
		if (!t->columns.items[i].absent && plan_step(p, &t->columns.items[i]) < 0) {
			clickhouse_row_plan_free(p);
			return NULL;
		}
	while (p->n_used < p->n && p->steps[p->n_used].column->from != CLICKHOUSE_FIELD)
		p->n_used++;
	return p;
}

void clickhouse_row_plan_free(struct clickhouse_row_plan *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		free(p->steps[i].kept);
	if (p)
		free(p->insert);
	free(p);
}

const char *clickhouse_row_plan_insert(struct clickhouse_row_plan *p)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (p->insert)
		return p->insert;
	buf_printf(&b, "INSERT INTO %s", p->table->name);
	for (size_t i = 0; i < p->n_used; i++)
		buf_printf(&b, "%s%s", i ? ", " : " (", p->steps[i].column->name);
	buf_add_str(&b, ") FORMAT RowBinary");
	p->insert = buf_error(&b) ? NULL : strdup(buf_str(&b));
	return p->insert;
}

static uint64_t load(const char *from, unsigned size)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	switch (size) {
	case 8: return memcpy(&v8, from, 8), v8;
	case 4: return memcpy(&v4, from, 4), v4;
	case 2: return memcpy(&v2, from, 2), v2;
	default: return *(const uint8_t *)from;
	}
}

/* A row that is being written: @at is in the room that @out has reserved. */
struct writer {
	struct clickhouse_row_plan *plan;
	const struct clickhouse_row *row;
	const struct event *ev;
	const struct section *proc; /* NULL = none */
	struct buf *out;
	char *at;
};

static void commit(struct writer *w)
{
	buf_commit(w->out, (size_t)(w->at - w->out->data) - w->out->len);
}

/* After other writes to @out. False without memory: @at is NULL. */
static bool reserve(struct writer *w)
{
	w->at = buf_reserve(w->out, w->plan->room);
	return w->at;
}

static bool write_number(struct writer *w, uint64_t v, unsigned bytes)
{
	memcpy(w->at, &v, sizeof(v)); /* little endian: see base/cursor.h */
	w->at += bytes;
	return true;
}

static bool write_text(struct writer *w, const char *text, size_t len)
{
	if (len < KEPT_BYTES) {
		*w->at = (char)len;
		buf_copy(w->at + 1, text, len);
		w->at += 1 + len;
		return true;
	}
	commit(w);
	put_text(w->out, text, len);
	return reserve(w);
}

static bool write_ip(struct writer *w, const char *from)
{
	struct ipaddr ip;

	memcpy(&ip, from, sizeof(ip));
	memset(w->at, 0, 16);
	if (ip.family == SONDE_IPV4) {
		memset(w->at + 10, 0xff, 2);
		memcpy(w->at + 12, ip.addr, 4);
	} else if (ip.family == SONDE_IPV6) {
		memcpy(w->at, ip.addr, 16);
	}
	w->at += 16;
	return true;
}

static bool write_field(struct writer *w, const struct step *s)
{
	commit(w);
	put_field(s->column, w->ev, w->out);
	return reserve(w);
}

static bool write_proc(struct writer *w, const struct step *s)
{
	const struct sec_proc *p = w->proc ? w->proc->data : NULL;
	struct sec_str str;
	const char *text;
	size_t len;

	if (!p)
		return write_text(w, "", 0);
	memcpy(&str, (const char *)p + s->place.off, sizeof(str));
	text = event_sec_proc_str(p, w->proc, str, &len);
	return write_text(w, text, len);
}

/* Names and flags of a number: mostly those of the last rows. NULL: too long to be kept, or no memory. */
static const struct kept *keep(struct writer *w, const struct step *s, uint64_t number)
{
	const bool iface = s->column->field->kind == FIELD_IFACE;
	const uint64_t key = iface ? names_iface_key(w->ev->keys.netns, (uint32_t)number) : number;
	struct kept *k = &s->kept[key * 0x9e3779b97f4a7c15ull >> (64 - KEPT_BITS)];
	size_t before, len;

	if (k->key == key && k->names == w->plan->names_count)
		return k;
	commit(w);
	before = w->out->len;
	put_field(s->column, w->ev, w->out);
	len = w->out->len - before;
	if (len && len <= sizeof(k->bytes)) {
		*k = (struct kept){ .key = key, .names = w->plan->names_count, .len = (uint8_t)len };
		memcpy(k->bytes, w->out->data + before, len);
	}
	w->out->len = before;
	return reserve(w) && len && len <= sizeof(k->bytes) ? k : NULL;
}

static bool write_kept(struct writer *w, const struct step *s, uint64_t number)
{
	const struct kept *k = keep(w, s, number);

	if (!k)
		return w->at && write_field(w, s);
	memcpy(w->at, k->bytes, sizeof(k->bytes));
	w->at += k->len;
	return true;
}

static bool write_step(struct writer *w, const struct step *s, enum step_kind kind, const char *from)
{
	switch (kind) {
	case STEP_HOST: return write_text(w, w->row->host, strlen(w->row->host));
	case STEP_NUMBER: return write_number(w, load(from, s->place.size), s->bytes);
	case STEP_BOOL: return write_number(w, !!load(from, s->place.size), s->bytes);
	case STEP_IP: return write_ip(w, from);
	case STEP_CHARS: return write_text(w, from, strnlen(from, s->place.size));
	case STEP_PROC: return write_proc(w, s);
	case STEP_KEPT: return write_kept(w, s, load(from, s->place.size));
	case STEP_GET:
	case STEP__MAX: break;
	}
	return write_field(w, s);
}

/* False if the value may be more than zeros. */
static bool is_nothing(struct writer *w, const struct step *s, enum step_kind kind, const char *from)
{
	const struct kept *k;
	struct sec_str str;
	struct value v;

	switch (kind) {
	case STEP_NUMBER:
	case STEP_BOOL: return !load(from, s->place.size);
	case STEP_IP: return !ipaddr_bytes(*(const uint8_t *)from);
	case STEP_CHARS: return !*from;
	case STEP_PROC:
		if (w->proc)
			memcpy(&str, (const char *)w->proc->data + s->place.off, sizeof(str));
		return !w->proc || !str.len;
	case STEP_KEPT:
		k = keep(w, s, load(from, s->place.size));
		return k && k->len == 1 && !k->bytes[0];
	case STEP_HOST:
	case STEP_GET:
	case STEP__MAX: break;
	}
	return event_get(w->ev, s->column->field, &v) < 0;
}

/* ---- columns that a later row needs ---- */

static uint64_t take_varint(struct cursor *c)
{
	uint64_t v = 0;
	uint8_t b = 0x80;

	for (unsigned shift = 0; b & 0x80 && shift < 64; shift += 7) {
		b = cur_u8(c);
		v |= (uint64_t)(b & 0x7f) << shift;
	}
	return v;
}

static void skip_text(struct cursor *c)
{
	cur_skip(c, take_varint(c));
}

static void skip_value(struct cursor *c, enum clickhouse_type type)
{
	uint64_t n;

	switch (type) {
	case CLICKHOUSE_WORD:
	case CLICKHOUSE_TEXT: skip_text(c); break;
	case CLICKHOUSE_FLAGS:
		for (n = take_varint(c); n && cur_ok(c); n--)
			skip_text(c);
		break;
	default: cur_skip(c, sizes[type] + bytes_of_nothing[type]);
	}
}

/* The rows of @out from @from on have the first @had steps: zeros of the other used ones are added to each. */
static int widen(const struct clickhouse_row_plan *p, size_t had, struct buf *out, size_t from)
{
	struct cursor c = cur_init(out->data + from, out->len - from);
	_cleanup_(buf_fini) struct buf wide = { 0 };
	struct buf narrow;

	buf_add(&wide, out->data, from);
	while (cur_left(&c)) {
		const uint8_t *row = c.pos;

		for (size_t i = 0; i < had; i++)
			skip_value(&c, p->steps[i].column->type);
		if (!cur_ok(&c))
			return -EBADMSG;
		buf_add(&wide, row, (size_t)(c.pos - row));
		for (size_t i = had; i < p->n_used; i++)
			put_nothing(&wide, p->steps[i].column->type);
	}
	if (buf_error(&wide))
		return buf_error(&wide);
	narrow = *out;
	*out = wide;
	wide = narrow;
	return 0;
}

static void follow_names(struct clickhouse_row_plan *p, const struct names *names)
{
	const uint64_t generation = event_names_generation(names);

	if (p->names_count && p->names == names && p->names_generation == generation)
		return;
	p->names = names;
	p->names_generation = generation;
	p->names_count++;
}

/* The steps that this row is the first to need join the used ones, which come first. */
static void use_steps(struct writer *w, const char *const *parts)
{
	struct clickhouse_row_plan *p = w->plan;

	for (size_t i = p->n_used; w->at && i < p->n; i++) {
		const struct step s = p->steps[i];

		if (is_nothing(w, &s, w->ev->hide ? STEP_GET : s.kind, parts[s.place.part] + s.place.off))
			continue;
		p->steps[i] = p->steps[p->n_used];
		p->steps[p->n_used++] = s;
	}
}

static void write_used(struct writer *w, const char *const *parts)
{
	for (size_t i = 0; w->at && i < w->plan->n_used; i++) {
		const struct step *s = &w->plan->steps[i];
		const bool hidden = w->ev->hide && s->column->from == CLICKHOUSE_FIELD;

		write_step(w, s, hidden ? STEP_GET : s->kind, parts[s->place.part] + s->place.off);
	}
}

int clickhouse_row_put(struct clickhouse_row_plan *p, const struct clickhouse_row *row, const struct event *ev,
		       struct buf *out, size_t from)
{
	const uint64_t second = row->ts_ns / NS_PER_S;
	const struct numbers numbers = { row->run, row->seq, row->ts_ns, (uint32_t)second,
					 (uint16_t)(second / SECONDS_PER_DAY) };
	const char *const parts[EVENT_PART__MAX] = {
		[EVENT_PART_NONE] = (const char *)&numbers,
		[EVENT_PART_HEAD] = (const char *)ev,
		[EVENT_PART_BODY] = ev->body,
	};
	struct writer w = { .plan = p, .row = row, .ev = ev, .out = out };
	const size_t had = p->n_used;
	size_t begin = out->len;
	int r = 0;

	follow_names(p, ev->names);
	w.proc = event_proc(ev) ? event_section(ev, SEC_PROC) : NULL;
	reserve(&w);
	use_steps(&w, parts);
	if (p->n_used > had) {
		free(TAKE_PTR(p->insert));
		r = widen(p, had, out, from);
		if (r < 0)
			p->n_used = had;
		begin = out->len;
	}
	if (r >= 0 && reserve(&w))
		write_used(&w, parts);
	if (r >= 0 && w.at) {
		commit(&w);
		return 0;
	}
	r = r < 0 ? r : buf_error(out);
	out->len = begin;
	out->error = 0;
	return r;
}

/* ---- tables without a type ---- */

/* The next column; NULL if the server lacks it. */
static const struct clickhouse_column *next(struct clickhouse_row_put *p)
{
	const struct clickhouse_column *c = &p->table->columns.items[p->column++];

	return c->absent ? NULL : c;
}

void clickhouse_row_number(struct clickhouse_row_put *p, uint64_t value)
{
	const struct clickhouse_column *c = next(p);

	if (c)
		put_number(p->out, c->type, value);
}

void clickhouse_row_text(struct clickhouse_row_put *p, const void *text, size_t len)
{
	if (next(p))
		put_text(p->out, text, len);
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Two numbers of 64 bits, the first digits in the first one. */
void clickhouse_row_uuid(struct clickhouse_row_put *p, const char *text)
{
	uint64_t halves[2] = { 0 };
	unsigned n = 0;

	for (; *text && n < 32; text++)
		if (digit(*text) >= 0) {
			halves[n / 16] = halves[n / 16] << 4 | (unsigned)digit(*text);
			n++;
		}
	if (n < 32)
		halves[0] = halves[1] = 0;
	if (next(p))
		buf_add(p->out, halves, sizeof(halves));
}

void clickhouse_row_head(struct clickhouse_row_put *p, const struct clickhouse_row *row)
{
	clickhouse_row_text(p, row->host, strlen(row->host));
	clickhouse_row_number(p, row->run);
	clickhouse_row_number(p, row->seq);
	clickhouse_row_number(p, row->ts_ns);
	clickhouse_row_number(p, row->ts_ns / NS_PER_S);
	clickhouse_row_number(p, row->ts_ns / NS_PER_S / SECONDS_PER_DAY);
}
