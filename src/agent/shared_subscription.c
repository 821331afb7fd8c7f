// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filter, field selection and log of a shared stream.
 */
#include "agent/shared_subscription.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/access/agent_content.h"
#include "agent/agent_inst.h"
#include "agent/agent_request.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "event/format.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "pipeline/pipeline.h"

#define FIELDS_MAX 64

/* A field whose value is sent. */
struct shared_field {
	char *name;		/* owned */
	struct format *value;	/* owned */
};

struct shared_subscription {
	struct shared_subscription *prev, *next;
	struct shared_subscriptions *all;
	unsigned users;
	struct buf key;			/* canonical request: equal keys share it */
	uint32_t viewer;		/* agent_content_viewer() */
	uint32_t mask;			/* 1u << instance, with 0 (proc) */
	struct filter *where;		/* NULL = none */
	uint32_t where_mask;		/* instances filtered here */
	VEC(struct shared_field) fields; /* none: records are sent unchanged */
	struct buf value, frame;	/* scratch */
	struct arena scratch;
	unsigned events, matched;	/* of the current record */
	struct broadcast_log *log;
	struct shared_count counts[SONDE_INSTANCES];
};

/* ---- what comes and goes ---- */

static void free_fields(struct shared_subscription *s)
{
	for (size_t i = 0; i < s->fields.len; i++) {
		format_free(s->fields.items[i].value);
		free(s->fields.items[i].name);
	}
	vec_fini(&s->fields);
}

static void subscription_free(struct shared_subscription *s)
{
	if (!s)
		return;
	filter_free(s->where);
	free_fields(s);
	broadcast_log_free(s->log);
	buf_fini(&s->key);
	buf_fini(&s->value);
	buf_fini(&s->frame);
	arena_fini(&s->scratch);
	free(s);
}
DEFINE_CLEANUP(struct shared_subscription *, subscription_free)

static int add_field(struct shared_subscription *s, const char *name, size_t len, struct err *err)
{
	const struct registry *reg = pipeline_registry(s->all->insts->pipeline);
	struct shared_field f = { .name = strndup(name, len) };
	char form[128];
	int r;

	if (!f.name || vec_grow(&s->fields) < 0) {
		free(f.name);
		return err_errno(err, -ENOMEM, "cannot select fields");
	}
	snprintf(form, sizeof(form), "%%%s", f.name);
	r = len < sizeof(form) - 1 && strspn(f.name, "abcdefghijklmnopqrstuvwxyz0123456789._") == len
		    ? format_parse(reg, form, &f.value, err)
		    : err_set(err, -EINVAL, "no such field");
	if (r < 0) {
		err_prefix(err, "fields");
		free(f.name);
		return r;
	}
	if (format_also(f.value))
		pipeline_need(s->all->insts->pipeline, 1u << SEC_PARAMS);
	s->fields.items[s->fields.len++] = f;
	return 0;
}

static int parse_fields(struct shared_subscription *s, const char *text, struct err *err)
{
	int r = 0;

	while (r >= 0 && text && *text) {
		size_t len = strcspn(text, ",");

		if (s->fields.len == FIELDS_MAX)
			return err_set(err, -E2BIG, "fields: at most %d", FIELDS_MAX);
		r = len ? add_field(s, text, len, err) : 0;
		text += len + (text[len] == ',');
	}
	return r;
}

static int parse_where(struct shared_subscription *s, const char *text, struct err *err)
{
	int r = text && *text ? filter_parse(pipeline_registry(s->all->insts->pipeline), text, &s->where, err) : 0;

	if (r >= 0 && filter_uses(s->where, "stack.function"))
		return err_set(err, -EINVAL, "where: the client, not the agent, knows functions of stacks");
	if (r >= 0 && s->where && filter_also(s->where))
		pipeline_need(s->all->insts->pipeline, 1u << SEC_PARAMS);
	return r;
}

/*
 * Selects the instances whose records must be decoded here: all if fields are selected; with a filter, those whose
 * events depend on nothing but the record. The client filters the others.
 */
static void count_users(struct shared_subscription *s, int by)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++) {
		struct inst *in = s->mask & 1u << i ? s->all->insts->of[i] : NULL;

		if (!in)
			continue;
		if (by > 0 && (s->fields.len || (s->where && in->request.ops->decoder->alone)))
			s->where_mask |= 1u << i;
		if (s->where_mask & 1u << i)
			in->n_decode += (unsigned)by;
	}
}

static int subscription_new(struct shared_subscriptions *all, const struct agent_request *q,
			    struct shared_subscription of, struct buf *key, struct shared_subscription **ret,
			    struct err *err)
{
	_cleanup_(subscription_freep) struct shared_subscription *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot start the stream");
	*s = of;
	s->log = broadcast_log_new(all->broadcast);
	if (!s->log || buf_error(key))
		return err_errno(err, -ENOMEM, "cannot start the stream");
	r = parse_where(s, q->where, err);
	if (r >= 0)
		r = parse_fields(s, q->fields, err);
	if (r < 0)
		return r;
	s->key = *key;
	*key = (struct buf){ 0 };
	count_users(s, 1);
	s->next = all->first;
	if (s->next)
		s->next->prev = s;
	all->first = s;
	*ret = TAKE_PTR(s);
	return 0;
}

int shared_subscription_get(struct shared_subscriptions *all, const struct agent_request *q, uint32_t mask,
			    uint32_t viewer, struct shared_subscription **ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf key = { 0 };
	struct shared_subscription *s;
	int r;

	buf_printf(&key, "%x %u where=%s%cfields=%s", (unsigned)mask, (unsigned)viewer, q->where ? q->where : "", 0,
		   q->fields ? q->fields : "");
	for (s = all->first; s; s = s->next)
		if (s->key.len == key.len && !memcmp(s->key.data, key.data, key.len))
			break;
	r = s ? 0
	      : subscription_new(all, q, (struct shared_subscription){ .all = all, .mask = mask, .viewer = viewer },
				 &key, &s, err);
	if (r < 0)
		return r;
	s->users++;
	*ret = s;
	return 0;
}

void shared_subscription_put(struct shared_subscription *s)
{
	if (!s || --s->users)
		return;
	count_users(s, -1);
	if (s->prev)
		s->prev->next = s->next;
	else
		s->all->first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	subscription_free(s);
}

struct broadcast_log *shared_subscription_log(const struct shared_subscription *s)
{
	return s->log;
}

const struct shared_count *shared_subscription_counts(const struct shared_subscription *s, uint16_t instance)
{
	return &s->counts[instance % SONDE_INSTANCES];
}

/* ---- events ---- */

/* Appends "name=value" for each selected field that the event has. */
static void put_values(struct shared_subscription *s, const struct event *ev)
{
	for (size_t i = 0; i < s->fields.len; i++) {
		size_t len;

		buf_reset(&s->value);
		format_event(s->fields.items[i].value, ev, "", &s->value);
		len = s->value.len;
		if (!len || buf_error(&s->value))
			continue;
		len -= s->value.data[len - 1] == '\n';
		buf_printf(&s->frame, "%s=", s->fields.items[i].name);
		buf_add(&s->frame, s->value.data, len);
		buf_add_char(&s->frame, '\0');
	}
}

static void send_event(struct shared_subscription *s, const struct event *ev)
{
	const struct proto_event e = {
		.ts_ns = ev->ts_ns,
		.type = ev->desc->type,
		.instance = ev->instance,
		.flags = s->matched == 1 ? PROTO_EVENT_COUNTS : 0,
	};
	struct proto_head h = { .type = PROTO_EVENT };

	buf_reset(&s->frame);
	buf_add(&s->frame, &e, sizeof(e));
	buf_printf(&s->frame, "%s%c", ev->desc->name, 0);
	put_values(s, ev);
	h.len = (uint32_t)(sizeof(h) + s->frame.len);
	if (buf_error(&s->frame) || h.len > PROTO_FRAME_MAX)
		s->counts[ev->instance].unwritten++;
	else
		broadcast_log_write(s->log, &h, sizeof(h), s->frame.data, s->frame.len);
}

static void offer_event(struct shared_subscription *s, const struct event *ev)
{
	struct event shown;

	if (!(s->where_mask & 1u << ev->instance) || ev->desc->class != EVENT_DATA)
		return;
	s->events++;
	arena_reset(&s->scratch);
	ev = agent_content_event(s->all->content, ev, s->viewer, &s->scratch, &shown);
	if (s->where && !filter_match(s->where, ev))
		return;
	s->matched++;
	if (s->fields.len)
		send_event(s, ev);
}

void shared_subscription_event(struct shared_subscriptions *all, const struct event *ev)
{
	for (struct shared_subscription *s = all->first; s; s = s->next)
		offer_event(s, ev);
}

/* ---- records ---- */

bool shared_subscription_record_counts(const struct sonde_rec *r)
{
	return !record_is_core(r) && !(r->flags & SONDE_RF_UNCOUNTED);
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

/* With selected fields the stream consists of events; the only records are those of losses. */
static bool is_sent(const struct shared_subscription *s, const struct sonde_rec *r)
{
	return !s->fields.len || r->type == SONDE_EV_LOST;
}

static void send_record(struct shared_subscription *s, const struct sonde_rec *rec, struct shared_count *n)
{
	const struct sonde_rec *r = agent_content_record(s->all->content, rec, s->viewer);
	struct proto_head h = { .type = PROTO_RECORD };

	if (!r) {
		n->filtered += shared_subscription_record_counts(rec);
		return;
	}
	h.len = (uint32_t)sizeof(h) + r->len;
	broadcast_log_write(s->log, &h, sizeof(h), r, r->len);
}

static void offer_record(struct shared_subscription *s, const struct sonde_rec *r)
{
	unsigned events = s->events, matched = s->matched;
	struct shared_count *n = &s->counts[r->instance % SONDE_INSTANCES];
	bool counts;

	s->events = s->matched = 0;
	/* A snapshot goes to its client alone, a later resync of a probe to all. */
	if (r->flags & SONDE_RF_SNAPSHOT && !record_is_core(r) && agent_inst_in_snapshot(s->all->insts))
		return;
	if (!shared_subscription_record_concerns(r, s->mask))
		return;
	counts = shared_subscription_record_counts(r);
	n->offered += counts;
	n->summed += counted_of(r);
	if (events && !matched)
		n->filtered += counts;
	else if (is_sent(s, r))
		send_record(s, r, n);
}

void shared_subscription_record(struct shared_subscriptions *all, const struct sonde_rec *r)
{
	for (struct shared_subscription *s = all->first; s; s = s->next)
		offer_record(s, r);
}
