// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Views: clients that asked for the same see the same stream, which is filtered and written once for all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "event/format.h"
#include "probe/probe.h"

#define FIELDS_MAX 64

/* A word whose value is sent. */
struct view_field {
	char *name;		/* owned */
	struct format *value;	/* owned */
};

struct view {
	struct view *prev, *next;
	struct agent *a;
	unsigned users;
	struct buf key;			/* what was asked: equal ones share it */
	uint32_t viewer;		/* whose content it has: agent_content_of() */
	uint32_t mask;			/* 1u << instance, 0 (proc) included */
	struct filter *where;		/* NULL = none */
	uint32_t where_mask;		/* instances whose records it decides about */
	VEC(struct view_field) fields;	/* none: records are sent as they are */
	struct buf value, frame;	/* scratch */
	struct arena scratch;
	unsigned events, matched;	/* of the record at hand */
	struct broadcast_log *log;
	struct view_count counts[SONDE_INSTANCES];
};

/* ---- what comes and goes ---- */

static void free_fields(struct view *v)
{
	for (size_t i = 0; i < v->fields.len; i++) {
		format_free(v->fields.items[i].value);
		free(v->fields.items[i].name);
	}
	vec_fini(&v->fields);
}

static void view_free(struct view *v)
{
	if (!v)
		return;
	filter_free(v->where);
	free_fields(v);
	broadcast_log_free(v->log);
	buf_fini(&v->key);
	buf_fini(&v->value);
	buf_fini(&v->frame);
	arena_fini(&v->scratch);
	free(v);
}
DEFINE_CLEANUP(struct view *, view_free)

static int add_field(struct view *v, const char *name, size_t len, struct err *err)
{
	const struct registry *reg = pipeline_registry(v->a->pipeline);
	struct view_field f = { .name = strndup(name, len) };
	char form[128];
	int r;

	if (!f.name || vec_grow(&v->fields) < 0) {
		free(f.name);
		return err_errno(err, -ENOMEM, "cannot select fields");
	}
	snprintf(form, sizeof(form), "%%%s", f.name);
	r = len < sizeof(form) - 1 && strspn(f.name, "abcdefghijklmnopqrstuvwxyz0123456789._") == len ?
	    format_parse(reg, form, &f.value, err) : err_set(err, -EINVAL, "there is no such word");
	if (r < 0) {
		err_prefix(err, "fields");
		free(f.name);
		return r;
	}
	if (format_also(f.value))
		pipeline_need(v->a->pipeline, 1u << SEC_PARAMS);
	v->fields.items[v->fields.len++] = f;
	return 0;
}

static int parse_fields(struct view *v, const char *text, struct err *err)
{
	int r = 0;

	while (r >= 0 && text && *text) {
		size_t len = strcspn(text, ",");

		if (v->fields.len == FIELDS_MAX)
			return err_set(err, -E2BIG, "fields: at most %d", FIELDS_MAX);
		r = len ? add_field(v, text, len, err) : 0;
		text += len + (text[len] == ',');
	}
	return r;
}

static int parse_where(struct view *v, const char *text, struct err *err)
{
	int r = text && *text ? filter_parse(pipeline_registry(v->a->pipeline), text, &v->where, err) : 0;

	if (r >= 0 && v->where && filter_also(v->where))
		pipeline_need(v->a->pipeline, 1u << SEC_PARAMS);
	return r;
}

/*
 * Records that must be decoded here: for fields all, for a filter those of probes whose records say all that their
 * events depend on. The others' are filtered by the client.
 */
static void count_users(struct view *v, int by)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++) {
		struct inst *in = v->mask & 1u << i ? v->a->insts[i] : NULL;

		if (!in)
			continue;
		if (by > 0 && (v->fields.len || (v->where && in->want.ops->decoder->alone)))
			v->where_mask |= 1u << i;
		if (v->where_mask & 1u << i)
			in->n_decode += (unsigned)by;
	}
}

static int view_new(struct agent *a, const struct request *q, struct view of, struct buf *key, struct view **ret,
		    struct err *err)
{
	_cleanup_(view_freep) struct view *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return err_errno(err, -ENOMEM, "cannot begin the stream");
	*v = of;
	v->log = broadcast_log_new(a->fan);
	if (!v->log || buf_error(key))
		return err_errno(err, -ENOMEM, "cannot begin the stream");
	r = parse_where(v, q->where, err);
	if (r >= 0)
		r = parse_fields(v, q->fields, err);
	if (r < 0)
		return r;
	v->key = *key;
	*key = (struct buf){ 0 };
	count_users(v, 1);
	v->next = a->views;
	if (v->next)
		v->next->prev = v;
	a->views = v;
	*ret = TAKE_PTR(v);
	return 0;
}

int shared_subscription_get(struct agent *a, const struct request *q, uint32_t mask, uint32_t viewer,
			    struct view **ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf key = { 0 };
	struct view *v;
	int r;

	buf_printf(&key, "%x %u where=%s%cfields=%s", (unsigned)mask, (unsigned)viewer, q->where ? q->where : "", 0,
		   q->fields ? q->fields : "");
	for (v = a->views; v; v = v->next)
		if (v->key.len == key.len && !memcmp(v->key.data, key.data, key.len))
			break;
	r = v ? 0 : view_new(a, q, (struct view){ .a = a, .mask = mask, .viewer = viewer }, &key, &v, err);
	if (r < 0)
		return r;
	v->users++;
	*ret = v;
	return 0;
}

void shared_subscription_put(struct view *v)
{
	if (!v || --v->users)
		return;
	count_users(v, -1);
	if (v->prev)
		v->prev->next = v->next;
	else
		v->a->views = v->next;
	if (v->next)
		v->next->prev = v->prev;
	view_free(v);
}

struct view *shared_subscription_next(const struct view *v)
{
	return v->next;
}

struct broadcast_log *shared_subscription_log(const struct view *v)
{
	return v->log;
}

const struct view_count *shared_subscription_counts(const struct view *v, uint16_t instance)
{
	return &v->counts[instance % SONDE_INSTANCES];
}

/* ---- events ---- */

/* "name=value" of each chosen word that the event has. */
static void put_values(struct view *v, const struct event *ev)
{
	for (size_t i = 0; i < v->fields.len; i++) {
		size_t len;

		buf_reset(&v->value);
		format_event(v->fields.items[i].value, ev, "", &v->value);
		len = v->value.len;
		if (!len || buf_error(&v->value))
			continue;
		len -= v->value.data[len - 1] == '\n';
		buf_printf(&v->frame, "%s=", v->fields.items[i].name);
		buf_add(&v->frame, v->value.data, len);
		buf_add_char(&v->frame, '\0');
	}
}

static void send_event(struct view *v, const struct event *ev)
{
	const struct proto_event e = {
		.ts_ns = ev->ts_ns, .type = ev->desc->type, .instance = ev->instance,
		.flags = v->matched == 1 ? PROTO_EVENT_COUNTS : 0,
	};
	struct proto_head h = { .type = PROTO_EVENT };

	buf_reset(&v->frame);
	buf_add(&v->frame, &e, sizeof(e));
	buf_printf(&v->frame, "%s%c", ev->desc->name, 0);
	put_values(v, ev);
	h.len = (uint32_t)(sizeof(h) + v->frame.len);
	if (buf_error(&v->frame) || h.len > PROTO_FRAME_MAX)
		v->counts[ev->instance].unwritten++;
	else
		broadcast_log_write(v->log, &h, sizeof(h), v->frame.data, v->frame.len);
}

void shared_subscription_event(struct view *v, const struct event *ev)
{
	struct event shown;

	if (!(v->where_mask & 1u << ev->instance) || ev->desc->class != EVENT_DATA)
		return;
	v->events++;
	arena_reset(&v->scratch);
	ev = agent_content_event(v->a, ev, v->viewer, &v->scratch, &shown);
	if (v->where && !filter_match(v->where, ev))
		return;
	v->matched++;
	if (v->fields.len)
		send_event(v, ev);
}

/* ---- records ---- */

bool shared_subscription_record_counts(const struct sonde_rec *r)
{
	return !record_is_core(r) && !(r->flags & (SONDE_RF_SNAPSHOT | SONDE_RF_SUM));
}

bool shared_subscription_record_concerns(const struct sonde_rec *r, uint32_t mask)
{
	if (record_is_core(r) && r->type != SONDE_EV_LOST && r->type != SONDE_EV_COUNTED)
		return true;
	return r->instance < SONDE_INSTANCES && mask & 1u << r->instance;
}

static uint64_t counted_of(const struct sonde_rec *r)
{
	struct sonde_counted_rec c;

	if (r->type != SONDE_EV_COUNTED || r->len < sizeof(c))
		return 0;
	memcpy(&c, r, sizeof(c));
	return c.count;
}

/* With chosen fields the events are the stream; of records only what is lost is told. */
static bool is_sent(const struct view *v, const struct sonde_rec *r)
{
	return !v->fields.len || r->type == SONDE_EV_LOST;
}

static void send_record(struct view *v, const struct sonde_rec *rec, struct view_count *n)
{
	const struct sonde_rec *r = agent_content_record(v->a, rec, v->viewer);
	struct proto_head h = { .type = PROTO_RECORD };

	if (!r) {
		n->filtered += shared_subscription_record_counts(rec);
		return;
	}
	h.len = (uint32_t)sizeof(h) + r->len;
	broadcast_log_write(v->log, &h, sizeof(h), r, r->len);
}

void shared_subscription_record(struct view *v, const struct sonde_rec *r)
{
	unsigned events = v->events, matched = v->matched;
	struct view_count *n = &v->counts[r->instance % SONDE_INSTANCES];
	bool counts;

	v->events = v->matched = 0;
	/* A snapshot is for who asked; what a probe reads again on the way is for all. */
	if (r->flags & SONDE_RF_SNAPSHOT && !record_is_core(r) && agent_snapshot(v->a))
		return;
	if (!shared_subscription_record_concerns(r, v->mask))
		return;
	counts = shared_subscription_record_counts(r);
	n->offered += counts;
	n->summed += counted_of(r);
	if (events && !matched)
		n->filtered += counts;
	else if (is_sent(v, r))
		send_record(v, r, n);
}
