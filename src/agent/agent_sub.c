// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Subscriptions: which records go to which client, and the books of each.
 *
 * A client's books: seen = offered + what the kernel filtered, sampled and lost since it began; offered = sent +
 * filtered here + lost in its queue. They close for every client whenever it came.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "bus/session.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter.h"
#include "probe/probe.h"

static bool is_core(const struct sonde_rec *r)
{
	return r->type >> 8 == 0;
}

/* What the books count: no state, nothing of the pipeline itself. */
static bool is_counted(const struct sonde_rec *r)
{
	return !is_core(r) && !(r->flags & (SONDE_RF_SNAPSHOT | SONDE_RF_SUM));
}

/* ---- begin ---- */

/* The client's own calls and packets would come back to it as events, and to others as noise. */
static void exclude_self(struct agent_conn *c, bool wanted)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);

	if (wanted && probe_env_exclude(pipeline_env(c->a->pipeline), (uint32_t)c->peer.pid) == 0)
		c->sub.excluded = c->peer.pid;
}

static void include_self(struct agent_conn *c)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);
	pid_t pid = c->sub.excluded;

	c->sub.excluded = 0;
	for (const struct agent_conn *o = c->a->conns; o; o = o->next)
		if (o->sub.excluded == pid)
			return;
	if (pid)
		probe_env_include(pipeline_env(c->a->pipeline), (uint32_t)pid);
}

static int get_instances(struct agent_conn *c, const struct request *q, struct err *err)
{
	for (size_t i = 0; i < q->wants.len; i++) {
		uint16_t instance;
		int r = inst_get(c->a, q, i, &instance, err);

		if (r < 0)
			return r;
		if (c->sub.mask & 1u << instance) {	/* twice the same */
			inst_put(c->a, instance);
			continue;
		}
		c->sub.mask |= 1u << instance;
		if (c->sub.where && q->wants.items[i].ops->decoder->alone) {
			c->sub.where_mask |= 1u << instance;
			c->a->insts[instance]->n_where++;
		}
	}
	return 0;
}

/* ---- once its instances are ready ---- */

static int tell_ready(struct agent_conn *c)
{
	_cleanup_(buf_fini) struct buf words = { 0 }, b = { 0 };

	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (c->sub.mask & 1u << i)
			buf_printf(&words, "%u %s%c", i, c->a->insts[i]->want.ops->name, 0);
	proto_put_words(&b, PROTO_READY, NULL, 0, &words);
	return conn_send(c, &b, clock_boot_ns());
}

static int send_record(void *ctx, const struct sonde_rec *r)
{
	return conn_send_record(ctx, r);
}

/* From here on the client gets what comes; what was before is told as it is for a pipeline that starts. */
static int go(struct agent_conn *c, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);	/* snapshots are the kernel's */
	int r = 0;

	c->sub.mask |= 1u;
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++)
		if (c->sub.mask & 1u << i)
			inst_ledger(c->a, i, &c->sub.counts[i].base);
	c->sub.on = true;
	r = tell_ready(c);
	if (r >= 0)
		r = pipeline_tell_state(c->a->pipeline, send_record, c);
	if (r < 0)
		return err_errno(err, r, "cannot begin the stream");
	c->a->snapshot_for = c;
	r = pipeline_snapshot(c->a->pipeline, c->sub.mask, err);
	c->a->snapshot_for = NULL;
	return r;
}

int sub_begin(struct agent_conn *c, const struct proto_frame *f, struct err *err)
{
	struct request q;
	int r = request_parse(f, &q, err);

	if (r < 0)
		return r;
	c->sub = (struct agent_sub){ .begin_ns = clock_boot_ns() };
	if (!q.wants.len)
		r = err_set(err, -EINVAL, "a subscription names at least one probe");
	if (r >= 0 && q.where && *q.where)
		r = filter_parse(pipeline_registry(c->a->pipeline), q.where, &c->sub.where, err);
	if (r >= 0) {
		exclude_self(c, q.exclude_self);
		r = get_instances(c, &q, err);
	}
	if (r >= 0)
		r = go(c, err);
	request_fini(&q);
	if (r < 0)
		sub_drop(c);
	return r;
}

/* ---- records ---- */

void sub_event(struct agent_conn *c, const struct event *ev)
{
	if (!c->sub.on || !(c->sub.where_mask & 1u << ev->instance) || ev->desc->class != EVENT_DATA)
		return;
	c->sub.events++;
	c->sub.matched += filter_match(c->sub.where, ev);
}

/* Does the record concern the client at all? */
static bool concerns(const struct agent_conn *c, const struct sonde_rec *r)
{
	/* A snapshot is for who asked; what a probe reads again on the way is for all. */
	if (r->flags & SONDE_RF_SNAPSHOT && !is_core(r) && c->a->snapshot_for && c->a->snapshot_for != c)
		return false;
	if (is_core(r) && r->type != SONDE_EV_LOST && r->type != SONDE_EV_COUNTED)
		return true;
	return r->instance < SONDE_INSTANCES && c->sub.mask & 1u << r->instance;
}

/*
 * Snapshots are bounded by what runs on the host, the pipeline's own records (names, ticks, losses) by the time until
 * a client is cut; no books count those, so none may be lost. The rest of the state has an eighth of the queue.
 */
static enum fan_weight weight_of(const struct agent_conn *c, const struct sonde_rec *r)
{
	if (c->a->snapshot_for == c || is_core(r))
		return FAN_ALWAYS;
	return !r->instance || r->flags & SONDE_RF_SNAPSHOT ? FAN_STATE : FAN_DATA;
}

static int write_span(struct agent_conn *c, const struct sonde_rec *r, struct fan_span *span, bool *written)
{
	const struct proto_head h = { .len = (uint32_t)sizeof(h) + r->len, .type = PROTO_RECORD };
	unsigned log = r->flags & SONDE_RF_SNAPSHOT ? LOG_SNAPSHOT : r->instance % SONDE_INSTANCES;
	int ret = *written ? 0 : fan_write(c->a->fan, log, &h, sizeof(h), r, r->len, span);

	*written |= ret == 0;
	return ret;
}

static uint64_t counted_of(const struct sonde_rec *r)
{
	struct sonde_counted_rec c;

	if (r->type != SONDE_EV_COUNTED || r->len < sizeof(c))
		return 0;
	memcpy(&c, r, sizeof(c));
	return c.count;
}

void sub_record(struct agent_conn *c, const struct sonde_rec *r, struct fan_span *span, bool *written)
{
	unsigned events = c->sub.events, matched = c->sub.matched;
	struct sub_count *n;
	bool counted;

	c->sub.events = c->sub.matched = 0;
	if (!c->sub.on || c->dying || !concerns(c, r))
		return;
	n = &c->sub.counts[r->instance % SONDE_INSTANCES];
	counted = is_counted(r);
	n->offered += counted;
	n->summed += counted_of(r);
	if (events && !matched) {
		n->filtered += counted;
		return;
	}
	if (write_span(c, r, span, written) < 0 || !fan_offer(c->queue, span, r->instance, r->ts_ns, weight_of(c, r)))
		n->lost += counted;
}

/* ---- end ---- */

static void ledger_of(struct agent_conn *c, uint16_t instance, struct sonde_ledger_rec *ret)
{
	const struct sub_count *n = &c->sub.counts[instance];
	struct sonde_ledger now = { 0 };

	inst_ledger(c->a, instance, &now);
	*ret = (struct sonde_ledger_rec){
		.hdr = { .ts_ns = clock_boot_ns(), .type = SONDE_EV_LEDGER, .len = sizeof(*ret),
			 .instance = instance },
		.delivered = n->offered - n->filtered - n->lost + n->summed,
		.filtered = now.filtered - n->base.filtered + n->filtered,
		.sampled = now.sampled - n->base.sampled,
	};
	ret->seen = ret->delivered + ret->filtered + ret->sampled;
	for (int i = 0; i < SONDE_LOST__MAX; i++) {
		ret->lost[i] = now.lost[i] - n->base.lost[i] + (i == SONDE_LOST_QUEUE ? n->lost : 0);
		ret->seen += ret->lost[i];
	}
}

/* What is in the rings still belongs to the client; of an instance that is its own, to the last record. */
static void read_rest(struct agent_conn *c)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);

	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (c->sub.mask & 1u << i && c->a->insts[i]->refs == 1)
			inst_quiet(c->a, i);
	pipeline_drain(c->a->pipeline);
}

static int tell_end(struct agent_conn *c, const char *reason)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger_rec r;

		if (!(c->sub.mask & 1u << i))
			continue;
		ledger_of(c, i, &r);
		conn_send_record(c, &r.hdr);
	}
	proto_put(&b, PROTO_END, NULL, 0, reason);
	return conn_send(c, &b, clock_boot_ns());
}

int sub_end(struct agent_conn *c, const char *reason)
{
	int r;

	if (c->sub.on)
		read_rest(c);
	r = tell_end(c, reason);
	sub_drop(c);
	session_ended(c->session);
	conn_flush(c);
	return r;
}

void sub_drop(struct agent_conn *c)
{
	uint32_t mask = c->sub.mask & ~1u, where = c->sub.where_mask;

	if (c->sub.excluded)
		include_self(c);
	filter_free(c->sub.where);
	c->sub = (struct agent_sub){ 0 };
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++) {
		if (where & 1u << i)
			c->a->insts[i]->n_where--;
		if (mask & 1u << i)
			inst_put(c->a, i);
	}
}
