// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_about.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "ui/ui_answer.h"
#include "ui/answers/ui_folder.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"
#include "ui/answers/ui_view_counts.h"
#include "view/view.h"
#include "view/view_history.h"
#include "view/view_kept.h"

/* ---- /meta ---- */

static void put_host(struct json *j, const struct ui_facts *f)
{
	struct ui_host h = { .name = "", .release = "" };

	if (f->n_hosts)
		f->host(f->ctx, 0, &h);
	ui_answer_put_text(j, "host", f->n_hosts > 1 ? "" : h.name);
	ui_answer_put_text(j, "kernel", f->n_hosts > 1 ? "" : h.release);
	json_put_u64(j, "cpus", f->n_hosts > 1 ? 0 : h.cpus);
	json_put_open(j, "hosts", '[');
	for (size_t i = 0; i < f->n_hosts; i++) {
		f->host(f->ctx, i, &h);
		json_open(j, '{');
		ui_answer_put_text(j, "name", h.name);
		ui_answer_put_text(j, "kernel", h.release);
		json_put_u64(j, "cpus", h.cpus);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_span(struct json *j, const struct ui_memory *m)
{
	uint64_t first_ns, last_ns;

	if (view_kept_span(m->kept, &first_ns, &last_ns)) {
		ui_answer_put_time(j, "begin", first_ns);
		ui_answer_put_time(j, "end", last_ns);
	} else {
		ui_answer_put_text(j, "begin", "");
		ui_answer_put_text(j, "end", "");
	}
	ui_answer_put_time(j, "now", ui_memory_now());
	json_put_u64(j, "events", view_kept_n(m->kept));
	json_put_u64(j, "gone", view_kept_gone(m->kept));
}

#define CAPTURE "a capture of sysdig: words with an argument, such as evt.arg.fd, select nothing here"

/* Events of the probe @name in a recording, by its ledger. False if it has none: its end is missing. */
static bool count_delivered(const struct ui_facts *f, const char *name, uint64_t *ret)
{
	bool any = false;

	*ret = 0;
	for (size_t i = 0; i < f->n_hosts * SONDE_INSTANCES; i++) {
		struct sonde_ledger l;
		const char *of = f->ledger(f->ctx, i / SONDE_INSTANCES, i % SONDE_INSTANCES, &l);

		any |= of != NULL;
		*ret += of && !strcmp(of, name) ? l.delivered : 0;
	}
	return any;
}

/* Calls of two probes are events of one type. Captures of sysdig have system calls as events of another one. */
static bool is_running(const struct ui_memory *m, const struct ui_probe *p)
{
	uint64_t n;

	if (m->facts.live)
		return p->runs;
	if (ui_memory_is_capture(m))
		return !strcmp(p->name, "sys");
	if (count_delivered(&m->facts, p->name, &n))
		return n > 0;
	return m->probes >> (p->number & 63) & 1;
}

static void put_probes(struct json *j, const struct ui_memory *m)
{
	const struct ui_facts *f = &m->facts;

	json_put_open(j, "probes", '[');
	each_item(p, f->probes, f->n_probes) {
		bool running = is_running(m, p);

		json_open(j, '{');
		ui_answer_put_text(j, "name", p->name);
		json_put_bool(j, "running", running);
		ui_answer_put_text(j, "hint", running ? "" : f->live ? p->hint : "the recording has no events of it");
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_ledger(struct json *j, const struct ui_facts *f)
{
	json_put_open(j, "ledger", '[');
	for (size_t i = 0; i < f->n_hosts * SONDE_INSTANCES; i++) {
		struct sonde_ledger l;
		struct ui_host h = { 0 };
		uint64_t lost = 0;
		const char *name = f->ledger(f->ctx, i / SONDE_INSTANCES, i % SONDE_INSTANCES, &l);

		if (!name)
			continue;
		f->host(f->ctx, i / SONDE_INSTANCES, &h);
		for (size_t k = 0; k < SONDE_LOST__MAX; k++)
			lost += l.lost[k];
		json_open(j, '{');
		ui_answer_put_text(j, "host", h.name);
		ui_answer_put_text(j, "probe", name);
		json_put_u64(j, "seen", l.seen);
		json_put_u64(j, "delivered", l.delivered);
		json_put_u64(j, "filtered", l.filtered);
		json_put_u64(j, "sampled", l.sampled);
		json_put_u64(j, "lost", lost);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Views that are known longer than their events. */
static void put_past(struct json *j, const struct ui_memory *m)
{
	json_put_open(j, "past", '[');
	for (size_t i = 0; i < m->n_pasts; i++) {
		uint64_t first_ns = view_history_first(m->pasts[i].history);

		if (first_ns == UINT64_MAX)
			continue;
		json_open(j, '{');
		ui_answer_put_text(j, "view", m->pasts[i].view->name);
		ui_answer_put_time(j, "begin", first_ns + (uint64_t)m->clock_offset_ns);
		json_put_u64(j, "bytes", view_history_bytes(m->pasts[i].history));
		json_close(j, '}');
	}
	json_close(j, ']');
}

void ui_about_put_causes(struct json *j, const char *key, const struct ui_memory *m)
{
	json_put_open(j, key, '[');
	for (uint32_t i = 0; i < SONDE_LOST__MAX; i++) {
		if (!m->lost_by[i])
			continue;
		json_open(j, '{');
		ui_answer_put_text(j, "cause", xlat_name(&lost_cause_xlat, i));
		json_put_u64(j, "count", m->lost_by[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int ui_about_meta(const void *ctx, _unused_ const struct ui_query *q, struct ui_answer *a, _unused_ struct err *err)
{
	const struct ui_memory *m = ctx;
	struct json j = { .out = &a->body };

	json_open(&j, '{');
	ui_answer_put_text(&j, "version", SONDE_VERSION);
	json_put_u64(&j, "api", 1);
	put_host(&j, &m->facts);
	ui_answer_put_text(&j, "input", m->facts.input);
	json_put_bool(&j, "live", m->facts.live);
	json_put_bool(&j, "reading", m->reading);
	json_put_bool(&j, "content", m->facts.content);
	ui_answer_put_text(&j, "note", ui_memory_is_capture(m) ? CAPTURE : "");
	put_span(&j, m);
	put_probes(&j, m);
	put_ledger(&j, &m->facts);
	put_past(&j, m);
	ui_about_put_causes(&j, "lost", m);
	json_close(&j, '}');
	return 0;
}

/* ---- /fields ---- */

static const char *type_of(const struct field *f)
{
	static const char *const names[] = {
		[FIELD_UINT] = "number", [FIELD_INT] = "number", [FIELD_HEX] = "hex", [FIELD_BOOL] = "bool",
		[FIELD_ENUM] = "name", [FIELD_FLAGS] = "flags", [FIELD_NAME] = "name", [FIELD_IP] = "address",
		[FIELD_MAC] = "mac", [FIELD_STR] = "text", [FIELD_NS] = "ns", [FIELD_IFACE] = "name",
		[FIELD_GET] = "text",
	};

	_Static_assert(ARRAY_SIZE(names) == FIELD__MAX, "a name per kind");
	return names[f->kind == FIELD_GET && f->like ? f->like - 1u : (unsigned)f->kind];
}

static void put_field(struct json *j, const struct field *f)
{
	json_open(j, '{');
	ui_answer_put_text(j, "name", f->name);
	ui_answer_put_text(j, "type", type_of(f));
	ui_answer_put_text(j, "help", f->doc ? f->doc : "");
	json_put_open(j, "events", '[');
}

static const struct field *find_in(const struct field *fields, size_t n, const char *name)
{
	return FIND_ITEM(it, fields, n, !strcmp(it->name, name));
}

static const struct field *find(const struct event_desc *d, const char *name)
{
	return find_in(d->fields, d->n_fields, name);
}

/* Once, with all types that have it. */
static void put_of_type(struct json *j, const struct registry *reg, const struct event_desc *d, const struct field *f)
{
	const struct event_desc *other;
	size_t pos = 0;

	if (find_in(event_common_fields, event_n_common_fields, f->name))
		return;
	while ((other = registry_next(reg, &pos)) && other != d)
		if (other->class == EVENT_DATA && find(other, f->name))
			return;
	put_field(j, f);
	for (pos = 0; (other = registry_next(reg, &pos));)
		if (other->class == EVENT_DATA && find(other, f->name))
			ui_answer_put_string(j, other->name, strlen(other->name));
	json_close(j, ']');
	json_close(j, '}');
}

int ui_about_fields(const void *ctx, _unused_ const struct ui_query *q, struct ui_answer *a,
		    _unused_ struct err *err)
{
	const struct ui_memory *m = ctx;
	struct json j = { .out = &a->body };
	const struct event_desc *d;
	size_t pos = 0;

	json_open(&j, '{');
	json_put_open(&j, "fields", '[');
	for (size_t i = 0; i < event_n_common_fields; i++) {
		if (event_common_fields[i].flags & FIELD_ALIAS)
			continue;
		put_field(&j, &event_common_fields[i]);
		json_close(&j, ']');
		json_close(&j, '}');
	}
	while ((d = registry_next(m->reg, &pos)))
		for (size_t i = 0; d->class == EVENT_DATA && i < d->n_fields; i++)
			if (!(d->fields[i].flags & FIELD_ALIAS))
				put_of_type(&j, m->reg, d, &d->fields[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	return 0;
}

/* ---- /check ---- */

int ui_about_check(const void *ctx, const struct ui_query *q, struct ui_answer *a, _unused_ struct err *err)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct json j = { .out = &a->body };
	struct filter *f = NULL;
	struct err why = { 0 };
	int r = ui_scan_filter(ctx, q->q, &f, &why);

	if (r == -ENOMEM)
		return r;
	json_open(&j, '{');
	json_put_bool(&j, "ok", r >= 0);
	if (r < 0) {
		json_key(&j, "error");
		ui_answer_put_string(&j, why.msg, strcspn(why.msg, "\n"));
		if (ui_answer_offset(q->q, why.msg) != SIZE_MAX)
			json_put_u64(&j, "offset", ui_answer_offset(q->q, why.msg));
	} else {
		filter_text(f, &text);
		ui_answer_put_text(&j, "text", buf_str(&text));
	}
	json_close(&j, '}');
	filter_free(f);
	return 0;
}

/* ---- /views ---- */

static const char *const units[] = {
	[VIEW_NUMBER] = "number", [VIEW_BYTES] = "bytes", [VIEW_NS] = "ns", [VIEW_PERCENT] = "percent",
};
_Static_assert(ARRAY_SIZE(units) == VIEW_MEASURE__MAX, "a name per unit");
static const char *const ops[] = {
	[VIEW_COUNT] = "count", [VIEW_TRUE] = "true", [VIEW_SUM] = "sum", [VIEW_SHARE] = "share",
	[VIEW_GROWTH] = "growth", [VIEW_SENT] = "sent", [VIEW_RECEIVED] = "received", [VIEW_FROM] = "from",
	[VIEW_TO] = "to", [VIEW_IN] = "in", [VIEW_OUT] = "out", [VIEW_FLOWS] = "flows", [VIEW_ACTIVE] = "active",
	[VIEW_P50] = "p50", [VIEW_P99] = "p99", [VIEW_MAX] = "max",
};
_Static_assert(ARRAY_SIZE(ops) == VIEW_OP__MAX, "a name per operation");

static void put_drill(struct json *j, const char *names)
{
	json_put_open(j, "drill", '[');
	while (*names) {
		size_t len = strcspn(names, " ");

		json_str(j, names, len);
		names += len + (names[len] == ' ');
	}
	json_close(j, ']');
}

static void put_key(struct json *j, const char *head, const char *field)
{
	json_open(j, '{');
	ui_answer_put_text(j, "head", head);
	ui_answer_put_text(j, "field", field);
	json_close(j, '}');
}

static void put_view(struct json *j, const struct view *v)
{
	json_open(j, '{');
	ui_answer_put_text(j, "name", v->name);
	ui_answer_put_text(j, "title", v->title);
	ui_answer_put_text(j, "sort", v->sort);
	put_drill(j, v->drill);
	json_put_open(j, "keys", '[');
	for (size_t i = 0; i < view_n_keys(v); i++)
		put_key(j, v->keys[i].head, v->keys[i].field);
	json_close(j, ']');
	json_put_open(j, "notes", '[');
	for (size_t i = 0; i < view_n_notes(v); i++)
		put_key(j, v->notes[i].head, v->notes[i].field);
	json_close(j, ']');
	json_put_open(j, "cols", '[');
	for (size_t i = 0; i < view_n_cols(v); i++) {
		json_open(j, '{');
		ui_answer_put_text(j, "head", v->cols[i].head);
		ui_answer_put_text(j, "name", v->cols[i].name);
		ui_answer_put_text(j, "type", v->cols[i].type);
		ui_answer_put_text(j, "unit", units[v->cols[i].unit]);
		ui_answer_put_text(j, "op", ops[v->cols[i].op]);
		json_put_u64(j, "priority", v->cols[i].priority);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

int ui_about_views(const void *ctx, _unused_ const struct ui_query *q, struct ui_answer *a,
		   _unused_ struct err *err)
{
	struct json j = { .out = &a->body };

	json_open(&j, '{');
	json_put_open(&j, "views", '[');
	for (size_t i = 0; i < view_n; i++)
		if (ui_view_counts_find(ctx, views[i].name))
			put_view(&j, ui_view_counts_find(ctx, views[i].name));
	json_close(&j, ']');
	json_close(&j, '}');
	return 0;
}

/* ---- /recordings ---- */

int ui_about_recordings(const void *ctx, _unused_ const struct ui_query *q, struct ui_answer *a,
			_unused_ struct err *err)
{
	const struct ui_memory *m = ctx;
	struct json j = { .out = &a->body };

	json_open(&j, '{');
	ui_folder_write(m->facts.folder, &j);
	json_close(&j, '}');
	return 0;
}
