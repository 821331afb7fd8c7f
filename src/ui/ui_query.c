// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_query.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

#define BIT(path) (1u << (path))
#define RANGE (BIT(UI_VIEW) | BIT(UI_HEAT) | BIT(UI_FLAME) | BIT(UI_TRACKS) | BIT(UI_EVENTS) | BIT(UI_EXPLAIN))
#define UNIT (1ull << 32) /* above every u32 */

/* ---- paths ---- */

enum tail { TAIL_NONE, TAIL_NAME, TAIL_SEQ, TAIL__MAX };

static const struct { const char *name; enum ui_path path; enum tail tail; } paths[] = {
	{ "meta", UI_META, TAIL_NONE }, { "fields", UI_FIELDS, TAIL_NONE }, { "check", UI_CHECK, TAIL_NONE },
	{ "views", UI_VIEWS, TAIL_NONE }, { "view", UI_VIEW, TAIL_NAME }, { "heat", UI_HEAT, TAIL_NAME },
	{ "flame", UI_FLAME, TAIL_NONE }, { "tracks", UI_TRACKS, TAIL_NONE }, { "events", UI_EVENTS, TAIL_NONE },
	{ "event", UI_EVENT, TAIL_SEQ }, { "trace", UI_TRACE, TAIL_NONE },
	{ "sides", UI_SIDES, TAIL_NONE }, { "explain", UI_EXPLAIN, TAIL_NONE },
	{ "recordings", UI_RECORDINGS, TAIL_NONE }, { "live", UI_LIVE, TAIL_NONE },
};
_Static_assert(ARRAY_SIZE(paths) == UI_PATH__MAX, "a row per path");

static bool is_name(const char *s)
{
	size_t len = strlen(s);

	return len && len < UI_QUERY_NAME && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == len;
}

static int take_tail(enum tail tail, const char *text, struct ui_query *q)
{
	if (tail == TAIL_NONE)
		return text ? -ENOENT : 0;
	if (!text)
		return -ENOENT;
	if (tail == TAIL_SEQ)
		return str_to_u64(text, 10, &q->seq) < 0 ? -ENOENT : 0;
	if (!is_name(text))
		return -ENOENT;
	memcpy(q->name, text, strlen(text) + 1);
	return 0;
}

/* @path: writable, without the question mark. */
static int take_path(char *path, struct ui_query *q)
{
	char *tail;

	if (*path++ != '/')
		return -ENOENT;
	tail = strchr(path, '/');
	if (tail)
		*tail++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!strcmp(paths[i].name, path)) {
			q->path = paths[i].path;
			return take_tail(paths[i].tail, tail, q);
		}
	return -ENOENT;
}

/* ---- values ---- */

enum kind { KIND_TEXT, KIND_TIME, KIND_U32, KIND_U64, KIND_BOOL, KIND_WORD, KIND_AGAINST, KIND_SUB, KIND__MAX };

static const char *const modes[] = { [UI_MODE_ON] = "on", [UI_MODE_OFF] = "off", [UI_MODE_BOTH] = "both", NULL };
_Static_assert(ARRAY_SIZE(modes) == UI_MODE__MAX + 1, "a name per mode");
static const char *const bys[] = {
	[UI_BY_NONE] = "none", [UI_BY_PROCESS] = "process", [UI_BY_CONTAINER] = "container",
	[UI_BY_OPERATION] = "operation", [UI_BY_HOST] = "host", NULL,
};
_Static_assert(ARRAY_SIZE(bys) == UI_BY__MAX + 1, "a name per group");

#define AT(member) offsetof(struct ui_query, member)

/* A parameter: where it is allowed and required, its place, its limits. */
static const struct param {
	const char *name;
	enum kind kind;
	size_t off;
	uint32_t in, must;
	uint64_t least, most;
	const char *const *words;
} params[] = {
	{ "q", KIND_TEXT, AT(q), RANGE | BIT(UI_CHECK), BIT(UI_CHECK), 0, 0, NULL },
	{ "from", KIND_TIME, AT(from), RANGE, 0, 0, 0, NULL },
	{ "to", KIND_TIME, AT(to), RANGE, 0, 0, 0, NULL },
	{ "sort", KIND_TEXT, AT(sort), BIT(UI_VIEW), 0, 0, 0, NULL },
	{ "reverse", KIND_BOOL, AT(reverse), BIT(UI_VIEW), 0, 0, 0, NULL },
	{ "top", KIND_U32, AT(top), BIT(UI_VIEW), 0, 1, 1000, NULL },
	{ "series", KIND_TEXT, AT(series), BIT(UI_VIEW), 0, 0, 0, NULL },
	{ "step", KIND_U32, AT(step), BIT(UI_VIEW), 0, 1, 86400, NULL },
	{ "field", KIND_TEXT, AT(field), BIT(UI_HEAT), 0, 0, 0, NULL },
	{ "width", KIND_U32, AT(width), BIT(UI_HEAT), 0, 1, 400, NULL },
	{ "height", KIND_U32, AT(height), BIT(UI_HEAT), 0, 1, 64, NULL },
	{ "mode", KIND_WORD, AT(mode), BIT(UI_FLAME), 0, 0, 0, modes },
	{ "by", KIND_WORD, AT(by), BIT(UI_FLAME), 0, 0, 0, bys },
	{ "invert", KIND_BOOL, AT(invert), BIT(UI_FLAME), 0, 0, 0, NULL },
	{ "focus", KIND_TEXT, AT(focus), BIT(UI_FLAME), 0, 0, 0, NULL },
	{ "px", KIND_U32, AT(px), BIT(UI_FLAME) | BIT(UI_TRACKS), 0, 100, 10000, NULL },
	{ "against", KIND_AGAINST, AT(against), BIT(UI_FLAME), 0, 0, 0, NULL },
	{ "pid", KIND_U32, AT(pid), BIT(UI_TRACKS), BIT(UI_TRACKS), 1, UNIT - 1, NULL },
	{ "after", KIND_U64, AT(after), BIT(UI_EVENTS), 0, 0, UINT64_MAX - 1, NULL },
	{ "before", KIND_U64, AT(before), BIT(UI_EVENTS), 0, 0, UINT64_MAX - 1, NULL },
	{ "limit", KIND_U32, AT(limit), BIT(UI_EVENTS), 0, 1, 10000, NULL },
	{ "view", KIND_TEXT, AT(view), BIT(UI_EVENTS), 0, 0, 0, NULL },
	{ "call", KIND_TEXT, AT(call), BIT(UI_TRACE) | BIT(UI_SIDES), BIT(UI_TRACE) | BIT(UI_SIDES), 0, 0, NULL },
	{ "failed", KIND_BOOL, AT(failed), BIT(UI_EXPLAIN), 0, 0, 0, NULL },
	{ "sub", KIND_SUB, AT(subs), BIT(UI_LIVE), 0, 0, 0, NULL },
};
_Static_assert(ARRAY_SIZE(params) <= 32, "a bit per parameter");

/* "12", "now", "-60s". 0 or -EINVAL. */
static int parse_time(const char *text, struct ui_time *ret)
{
	struct ui_time t = { .kind = UI_TIME_AT };
	int r;

	if (!strcmp(text, "now")) {
		*ret = (struct ui_time){ .kind = UI_TIME_BACK };
		return 0;
	}
	if (*text == '-') {
		t.kind = UI_TIME_BACK;
		r = str_to_duration_ns(text + 1, &t.ns);
	} else {
		r = str_to_u64(text, 10, &t.ns);
	}
	if (r < 0 || t.ns > INT64_MAX)
		return -EINVAL;
	*ret = t;
	return 0;
}

static int bad_time(const char *name, struct err *err)
{
	return err_set(err, -EINVAL, "%s: expected ns since 1970, now, or a span before the end (-60s)", name);
}

/* "FROM..TO". */
static int take_against(char *value, struct ui_query *q, struct err *err)
{
	char *dots = strstr(value, "..");

	if (!dots)
		return err_set(err, -EINVAL, "against: expected FROM..TO");
	*dots = '\0';
	if (parse_time(value, &q->against.from) < 0 || parse_time(dots + 2, &q->against.to) < 0)
		return bad_time("against", err);
	q->against.on = true;
	return 0;
}

static int take_word(const struct param *p, const char *value, unsigned *to, struct err *err)
{
	for (unsigned i = 0; p->words[i]; i++)
		if (!strcmp(p->words[i], value)) {
			*to = i;
			return 0;
		}
	return err_set(err, -EINVAL, "%s: no such choice", p->name);
}

static int take_number(const struct param *p, const char *value, void *to, struct err *err)
{
	uint64_t v;

	if (str_to_u64(value, 10, &v) < 0 || v < p->least || v > p->most)
		return err_set(err, -EINVAL, "%s: expected a number from %llu to %llu", p->name,
			       (unsigned long long)p->least, (unsigned long long)p->most);
	if (p->kind == KIND_U32)
		*(uint32_t *)to = (uint32_t)v;
	else
		*(uint64_t *)to = v;
	return 0;
}

static int take_value(const struct param *p, char *value, struct ui_query *q, struct err *err)
{
	void *to = (char *)q + p->off;

	switch (p->kind) {
	case KIND_TEXT:
		*(const char **)to = value;
		return 0;
	case KIND_TIME:
		return parse_time(value, to) < 0 ? bad_time(p->name, err) : 0;
	case KIND_U32:
	case KIND_U64:
		return take_number(p, value, to, err);
	case KIND_BOOL:
		if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
			return err_set(err, -EINVAL, "%s: expected 0 or 1", p->name);
		*(bool *)to = *value == '1';
		return 0;
	case KIND_WORD:
		return take_word(p, value, to, err);
	case KIND_AGAINST:
		return take_against(value, q, err);
	case KIND_SUB:
		if (q->n_subs == UI_QUERY_SUBS)
			return err_set(err, -EINVAL, "sub: at most %u in a stream", UI_QUERY_SUBS);
		q->subs[q->n_subs++] = value;
		return 0;
	case KIND__MAX:
		break;
	}
	return -EINVAL;
}

/* ---- the list ---- */

/* Decodes in place. -EINVAL for a broken or a NUL byte. */
static int decode(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		int high, low;

		*to = *s == '+' ? ' ' : *s;
		if (*s != '%')
			continue;
		high = str_hex_digit(s[1]);
		low = high < 0 ? -1 : str_hex_digit(s[2]);
		if (low < 0 || high + low == 0)
			return -EINVAL;
		*to = (char)(high << 4 | low);
		s += 2;
	}
	*to = '\0';
	return 0;
}

static int take_pair(char *pair, struct ui_query *q, uint32_t *seen, struct err *err)
{
	char *value = strchr(pair, '=');

	if (!value)
		return err_set(err, -EINVAL, "parameters are NAME=VALUE, separated by &");
	*value++ = '\0';
	if (decode(pair) < 0 || decode(value) < 0)
		return err_set(err, -EINVAL, "a parameter is not percent-encoded as it should be");
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		const struct param *p = &params[i];

		if (strcmp(p->name, pair) != 0 || !(p->in & BIT(q->path)))
			continue;
		if (*seen & 1u << i && p->kind != KIND_SUB)
			return err_set(err, -EINVAL, "%s: given twice", p->name);
		*seen |= 1u << i;
		return take_value(p, value, q, err);
	}
	return err_set(err, -EINVAL, "this path does not have that parameter");
}

static int take_pairs(char *list, struct ui_query *q, struct err *err)
{
	uint32_t seen = 0;

	while (list && *list) {
		char *next = strchr(list, '&');
		int r;

		if (next)
			*next++ = '\0';
		r = take_pair(list, q, &seen, err);
		if (r < 0)
			return r;
		list = next;
	}
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (params[i].must & BIT(q->path) && !(seen & 1u << i))
			return err_set(err, -EINVAL, "%s is missing", params[i].name);
	if (q->after != UINT64_MAX && q->before != UINT64_MAX)
		return err_set(err, -EINVAL, "after and before exclude each other");
	return 0;
}

int ui_query_parse(const char *target, struct ui_query *ret, struct err *err)
{
	size_t len = strlen(target);
	char *list;

	*ret = (struct ui_query){
		.top = 100, .width = 120, .height = 32, .px = 1280, .limit = 200, .after = UINT64_MAX,
		.before = UINT64_MAX,
	};
	if (len > UI_QUERY_BYTES)
		return err_set(err, -E2BIG, "the address is longer than %u bytes", UI_QUERY_BYTES);
	if (buf_add(&ret->text, target, len + 1) < 0)
		return err_errno(err, -ENOMEM, "cannot take the address");
	list = strchr(ret->text.data, '?');
	if (list)
		*list++ = '\0';
	if (take_path(ret->text.data, ret) < 0)
		return err_set(err, -ENOENT, "no such path (doc/api.md)");
	return take_pairs(list, ret, err);
}

void ui_query_fini(struct ui_query *q)
{
	buf_fini(&q->text);
}
