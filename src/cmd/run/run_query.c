// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/run/run_query.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/run/run_conf.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "probe/probe.h"

/* ---- times ---- */

/* Each is tried on the whole text; `today`: the date is that of now. */
static const struct { const char *format; bool today, utc; } forms[] = {
	{ "%H:%M:%S", true, false }, { "%H:%M", true, false }, { "%Y-%m-%d %H:%M:%S", false, false },
	{ "%Y-%m-%dT%H:%M:%S", false, false }, { "%Y-%m-%d %H:%M", false, false }, { "%Y-%m-%dT%H:%M", false, false },
	{ "%Y-%m-%d", false, false }, { "%Y-%m-%dT%H:%M:%SZ", false, true },
};

static bool by_form(const char *text, size_t i, int64_t now_ns, int64_t *ret)
{
	const time_t now = (time_t)(now_ns / (int64_t)NS_PER_S);
	struct tm tm = { .tm_mday = 1, .tm_isdst = -1 };
	const char *end;
	time_t t;
	int day;

	if (forms[i].today) {
		localtime_r(&now, &tm);
		tm.tm_sec = 0;
	}
	end = strptime(text, forms[i].format, &tm);
	if (!end || *end)
		return false;
	tm.tm_isdst = -1;
	day = tm.tm_mday;
	t = forms[i].utc ? timegm(&tm) : mktime(&tm);
	*ret = (int64_t)t * (int64_t)NS_PER_S;
	return tm.tm_mday == day; /* February 30 is in March else */
}

static int parse_time(const char *text, int64_t now_ns, int64_t *ret)
{
	uint64_t n;

	if (!strcmp(text, "now")) {
		*ret = now_ns;
		return 0;
	}
	if (*text == '@') {
		if (str_to_duration_ns(text + 1, &n) < 0 || n > INT64_MAX)
			return -EINVAL;
		*ret = (int64_t)n;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (by_form(text, i, now_ns, ret))
			return 0;
	if (str_to_duration_ns(text, &n) < 0 || n > (uint64_t)now_ns)
		return -EINVAL;
	*ret = now_ns - (int64_t)n;
	return 0;
}

int run_query_take_time(const char *name, const char *text, int64_t *ret, struct err *err)
{
	const int64_t now_ns = clock_boot_offset_ns() + (int64_t)clock_boot_ns();

	if (parse_time(text, now_ns, ret) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "--%s %s: expected a span that ends now (10m), a time (14:30:05, "
		       "\"2026-11-24 14:30:05\"), @seconds or now",
		       name, text);
}

bool run_query_in_time(const struct run_conf *c, const struct event *ev)
{
	const int64_t at = (int64_t)ev->ts_ns + ev->clock_offset_ns;

	return (!c->since_ns || at >= c->since_ns) && (!c->until_ns || at <= c->until_ns);
}

/* ---- keys ---- */

/*
 * Records of some probes get a key from their decoder, or have it elsewhere than in the identity block: of these the
 * index knows nothing.
 */
static const struct { const char *field; unsigned by; const char *unknown[3]; } fields[] = {
	{ "proc.pid", SONDE_STORE_BY_PROCESS, { NULL } },
	{ "file.id", SONDE_STORE_BY_FILE, { NULL } },
	{ "call", SONDE_STORE_BY_CALL, { "gohttp2" } },
	{ "sock.cookie", SONDE_STORE_BY_SOCKET, { "gohttp2", "net" } },
};

static int add_key(struct run_query *q, unsigned by, uint64_t key)
{
	return vec_push(&q->by[by].keys, key);
}

static int add_values(struct run_query *q, unsigned by, const struct filter_conjunct *c)
{
	int r = 0;

	for (size_t i = 0; i < c->n_values; i++)
		if (!c->values[i].has_number || c->values[i].negative || !c->values[i].number)
			return 0;
	for (size_t i = 0; r >= 0 && i < c->n_values; i++)
		r = add_key(q, by, c->values[i].number);
	return r;
}

static int on_conjunct(void *ctx, const struct filter_conjunct *c)
{
	struct run_query *q = ctx;

	if (!c->field || c->negated || (c->op != FILTER_EQ && c->op != FILTER_IN))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strcmp(c->field, fields[i].field) && !q->by[fields[i].by].keys.len)
			return add_values(q, fields[i].by, c);
	return 0;
}

static void add_unknown(struct run_query *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(fields[i].unknown) && fields[i].unknown[k]; k++)
			q->query.keys[fields[i].by].unknown |=
				1ull << probe_find(fields[i].unknown[k])->decoder->probe;
}

/* ---- event types ---- */

struct types { uint64_t probes; bool other; };

static int on_type(void *ctx, _unused_ const char *name, const struct event_desc *const *descs, size_t n)
{
	struct types *t = ctx;

	t->other |= !n;
	for (size_t i = 0; i < n; i++) {
		const unsigned probe = descs[i]->type >> 8;

		t->other |= !probe || probe >= 64;
		for (size_t k = 0; all_probes[k]; k++)
			if (decode_makes(all_probes[k]->decoder, descs[i]))
				t->probes |= 1ull << all_probes[k]->decoder->probe;
	}
	return 0;
}

static bool is_state(void *ctx, uint16_t type)
{
	const struct event_desc *d = registry_find(ctx, type);

	return d && d->class == EVENT_STATE && type != SONDE_EV_TICK;
}

void run_query_fini(struct run_query *q)
{
	for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++)
		vec_fini(&q->by[by].keys);
}

int run_query_make(const struct run_conf *c, const struct filter *f, const struct registry *reg,
		   struct run_query *ret)
{
	struct types types = { 0 };
	int r = 0, n;

	ret->query = (struct store_query){
		.since_ns = c->since_ns, .until_ns = c->until_ns, .follow = c->follow,
		.segment = c->store.segment,
		.is_state = is_state, .ctx = (void *)reg,
	};
	for (size_t i = 0; r >= 0 && i < c->pids.len; i++)
		r = add_key(ret, SONDE_STORE_BY_PROCESS, c->pids.items[i]);
	if (r >= 0)
		r = filter_conjuncts(f, on_conjunct, ret);
	n = r < 0 ? r : filter_eval_types(f, reg, on_type, &types);
	if (n < 0)
		return n;
	if (n > 0 && !types.other)
		ret->query.probes = types.probes;
	for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++) {
		ret->query.keys[by].items = ret->by[by].keys.items;
		ret->query.keys[by].len = ret->by[by].keys.len;
	}
	add_unknown(ret);
	return 0;
}
