// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Start, end and ledger of a client's subscription.
 *
 * Ledger: seen = offered + filtered, sampled and lost in the kernel since the start of the subscription; offered =
 * sent + filtered here + lost in the queue. It closes for each client, whenever it subscribed.
 */
#include "agent/agent_sub.h"

#include <errno.h>

#include "agent/access/agent_limits.h"
#include "agent/agent_inst.h"
#include "agent/agent_request.h"
#include "agent/agent_send.h"
#include "agent/agent_state.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rights.h"
#include "ipc/broadcast.h"
#include "ipc/proto.h"
#include "ipc/session.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_path.h"
#include "probe/env.h"
#include "probe/probe.h"

#define FAILED_BYTES (64u << 10)

/* ---- begin ---- */

/*
 * Excludes the client's own process, whose system calls and packets would return as events. Control socket only: an
 * excluded process is hidden from all clients.
 */
static int exclude_self(struct agent_conn *c, bool on, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);

	if (on && !(c->rights & PROTO_RIGHT_CONTROL))
		return err_set(err, -EPERM,
			       "exclude=self needs the control socket: it hides a process from all "
			       "clients");
	if (on && probe_env_exclude(pipeline_env(c->a->pipeline), (uint32_t)c->peer.pid) == 0)
		c->sub.excluded = c->peer.pid;
	return 0;
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

/* ---- once its instances are ready ---- */

/* 1ull << instance, or << PROBE_OWNERS: whose hooks matter to the client. */
static uint64_t hooks_of(const struct agent_conn *c)
{
	uint64_t of = c->sub.mask;

	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (c->sub.mask & 1u << i && agent_inst_wants_owners(&c->a->insts, i))
			of |= 1ull << PROBE_OWNERS;
	return of;
}

static void add_failed(void *ctx, const char *hook, const char *why)
{
	struct buf *words = ctx;

	if (words->len < FAILED_BYTES)	/* of a host with thousands of interfaces that refuse programs */
		buf_printf(words, "%s%c%s%c", hook, 0, why, 0);
}

static int send_failed(struct agent_conn *c, const struct buf *words)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	proto_put_words(&b, PROTO_HOOK_FAILED, NULL, 0, words);
	return agent_send(c, &b);
}

static int report_failed(struct agent_conn *c)
{
	_cleanup_(buf_fini) struct buf words = { 0 };

	pipeline_failed_hooks(c->a->pipeline, hooks_of(c), add_failed, &words);
	return words.len ? send_failed(c, &words) : 0;
}

void agent_sub_failed(struct agent_conn *c, uint64_t of, const char *hook, const char *why)
{
	_cleanup_(buf_fini) struct buf words = { 0 };

	if (!c->sub.on || !(hooks_of(c) & of))
		return;
	add_failed(&words, hook, why);
	send_failed(c, &words);
}

static int send_ready(struct agent_conn *c)
{
	_cleanup_(buf_fini) struct buf words = { 0 }, b = { 0 };

	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (c->sub.mask & 1u << i)
			buf_printf(&words, "%u %s%c", i, agent_inst_probe(&c->a->insts, i), 0);
	proto_put_words(&b, PROTO_READY, NULL, 0, &words);
	return agent_send(c, &b);
}

static int send_record(void *ctx, const struct sonde_rec *r)
{
	return agent_send_record(ctx, r);
}

/* The client receives records from here on. State from before is sent as at the start of a pipeline. */
static int activate(struct agent_conn *c, const struct agent_request *q, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);	/* for reading kernel state */
	int r;

	c->sub.mask |= 1u;
	r = shared_subscription_get(&c->a->subscriptions, q, c->sub.mask, c->viewer, &c->sub.shared, err);
	if (r < 0)
		return r;
	agent_inst_refresh(&c->a->insts);
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		c->sub.base[i] = *shared_subscription_counts(c->sub.shared, i);
		if (c->sub.mask & 1u << i)
			agent_inst_ledger(&c->a->insts, i, &c->sub.ledger[i]);
	}
	c->sub.on = true;
	broadcast_join(c->queue, shared_subscription_log(c->sub.shared));
	r = report_failed(c);
	if (r >= 0)
		r = send_ready(c);
	if (r >= 0 && q->fields)
		return 0;	/* it decodes nothing */
	if (r >= 0)
		r = pipeline_path_tell_state(c->a->pipeline, send_record, c);
	if (r < 0)
		return err_errno(err, r, "cannot start the stream");
	return agent_inst_snapshot(&c->a->insts, c->sub.mask, c, err);
}

void agent_sub_snapshot(struct agent_conn *c, const struct sonde_rec *r)
{
	if (c->sub.on && r->flags & SONDE_RF_SNAPSHOT && !record_is_core(r) &&
	    shared_subscription_record_concerns(r, c->sub.mask))
		agent_send_record(c, r);
}

int agent_sub_begin(struct agent_conn *c, const struct proto_frame *f, struct err *err)
{
	struct agent_request q;
	int r = agent_request_parse(f, &q, err);

	if (r < 0)
		return r;
	c->sub = (struct agent_sub){ 0 };
	q.by = c;
	q.control = c->rights & PROTO_RIGHT_CONTROL;
	r = agent_limits_subscription(c, q.bytes, err);
	if (r >= 0 && !q.probes.len)
		r = err_set(err, -EINVAL, "a subscription needs at least one probe");
	if (r >= 0)
		r = agent_content_check(&c->a->content, c->viewer, &q, err);
	if (r >= 0)
		r = exclude_self(c, q.exclude_self, err);
	if (r >= 0)
		r = agent_inst_get_all(&c->a->insts, &q, &c->sub.mask, err);
	if (r >= 0)
		r = activate(c, &q, err);
	if (r >= 0)
		agent_inst_started(&c->a->insts, c->sub.mask);
	if (r >= 0)
		agent_content_log(c->viewer, &c->peer, &q);
	agent_request_fini(&q);
	if (r < 0)
		agent_sub_drop(c);
	return r;
}

/* ---- end ---- */

static void ledger_of(struct agent_conn *c, uint16_t instance, struct sonde_ledger_rec *ret)
{
	const struct shared_count *n = shared_subscription_counts(c->sub.shared, instance),
				  *was = &c->sub.base[instance];
	const struct sonde_ledger *before = &c->sub.ledger[instance];
	uint64_t filtered = n->filtered - was->filtered, unwritten = n->unwritten - was->unwritten;
	struct sonde_ledger now = { 0 };

	agent_inst_ledger(&c->a->insts, instance, &now);
	*ret = (struct sonde_ledger_rec){
		.hdr = { .ts_ns = clock_boot_ns(), .type = SONDE_EV_LEDGER, .len = sizeof(*ret),
			 .instance = instance },
		.delivered = n->offered - was->offered - filtered - unwritten - c->sub.lost[instance] +
			     n->summed - was->summed,
		.filtered = now.filtered - before->filtered + filtered,
		.sampled = now.sampled - before->sampled,
	};
	ret->seen = ret->delivered + ret->filtered + ret->sampled;
	for (int i = 0; i < SONDE_LOST__MAX; i++) {
		ret->lost[i] = now.lost[i] - before->lost[i] + (i == SONDE_LOST_QUEUE ? c->sub.lost[instance] : 0) +
			       (i == SONDE_LOST_MEMORY ? unwritten : 0);
		ret->seen += ret->lost[i];
	}
}

/* Ledgers of a stream, complete before its instances are removed. */
struct last_words {
	struct sonde_ledger_rec ledgers[SONDE_INSTANCES];
	size_t n;
};

static void collect_ledgers(struct agent_conn *c, struct last_words *ret)
{
	if (!c->sub.on)
		return;
	agent_inst_refresh(&c->a->insts);
	broadcast_leave(c->queue); /* settles the losses of its queue */
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++)
		if (c->sub.mask & 1u << i)
			ledger_of(c, i, &ret->ledgers[ret->n++]);
}

static int send_end(struct agent_conn *c, const struct last_words *l, const char *reason)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	for (size_t i = 0; i < l->n; i++)
		agent_send_record(c, &l->ledgers[i].hdr);
	proto_put(&b, PROTO_END, NULL, 0, reason);
	return agent_send(c, &b);
}

/* Instances are removed before END is sent. */
int agent_sub_end(struct agent_conn *c, const char *reason)
{
	struct last_words last = { .n = 0 };
	int r;

	if (c->sub.on)
		agent_inst_drain(&c->a->insts, c->sub.mask);
	collect_ledgers(c, &last);
	agent_sub_drop(c);
	r = send_end(c, &last, reason);
	session_ended(c->session);
	c->heard_ns = clock_boot_ns();
	agent_send_flush(c);
	return r;
}

int agent_sub_part(struct agent_conn *c, struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(c->a->rights.working);
	int r = 0;

	if (!c->sub.on)
		return err_set(err, -ENOENT, "no stream has parts");
	agent_inst_refresh(&c->a->insts);
	for (uint16_t i = 0; r >= 0 && i < SONDE_INSTANCES; i++) {
		struct sonde_ledger_rec l;

		if (!(c->sub.mask & 1u << i))
			continue;
		ledger_of(c, i, &l);
		r = agent_send_record(c, &l.hdr);
	}
	if (r >= 0)
		r = pipeline_path_tell_state(c->a->pipeline, send_record, c);
	if (r < 0)
		return err_errno(err, r, "cannot begin a part");
	return agent_inst_snapshot(&c->a->insts, c->sub.mask, c, err);
}

void agent_sub_drop(struct agent_conn *c)
{
	uint32_t mask = c->sub.mask & ~1u;

	if (c->sub.on)
		agent_content_log(c->viewer, &c->peer, NULL);
	if (c->sub.excluded)
		include_self(c);
	if (c->sub.shared)
		broadcast_leave(c->queue);
	shared_subscription_put(c->sub.shared);
	c->sub = (struct agent_sub){ 0 };
	agent_inst_put_later(&c->a->insts, mask);
}
