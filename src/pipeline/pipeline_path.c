// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every record takes this path, whether from a ring, a file or a probe's live half.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pipeline/output.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/names.h"
#include "probe/budget/budget.h"
#include "probe/env.h"
#include "ring/ring.h"
#include "scap/state/state.h"
#include "sonde/ident_wire.h"
#include "sonde/symbol_wire.h"
#include "source/source.h"
#include "stack/functions.h"
#include "state/state.h"
#include "state/state_event.h"
#include "sym/sym.h"

#define CLOCK_STEP_NS NS_PER_MS	/* smaller changes of the wall clock are not reported */

/* Expensive sections are made only for shown events and only if an output needs them. */
static void make_sections(struct pipeline *p, struct event *ev)
{
	uint32_t needed = ev->desc->make ? p->needs & ev->desc->sections : 0;

	for (unsigned kind = 0; needed; kind++, needed >>= 1)
		if (needed & 1 && !event_section(ev, kind))
			ev->desc->make(ev, kind, &p->scratch);
}

/*
 * Losses announced by a recording, another datapath, or a ring outside the kernel's ledger, or found by a decoder in
 * the bytes of other records. Those that report_losses() took from this run's ledger say so: they may have waited in
 * the hold. Records that instance 0 (proc) lost may include an exec or a change of user.
 */
static void take_loss(struct pipeline *p, const struct event *ev)
{
	const struct core_lost *l = ev->body;
	struct account *a = p->env && ev->flags & SONDE_RF_SUM ? NULL : account_of(&p->accounts, ev->instance);

	if (a && p->now.is_lost)
		account_announce(a, l->cause, l->count);
	else if (a)
		account_find(a, l->cause, l->count);
	if (!ev->instance && l->cause != SONDE_LOST_MAPPING && l->cause != SONDE_LOST_MAPPING_LIMIT &&
	    l->cause != SONDE_LOST_NAMES)
		state_lost(p->state, ev->ts_ns);
}

/* The state engine named the process: the record has none, or that of the listener. */
static void announce_owner(struct pipeline *p, const struct event *ev)
{
	const uint8_t how = ev->keys.owner_how;

	if (!ev->tgid || (how != SONDE_HOW_LATE && how != SONDE_HOW_SNAPSHOT && how != SONDE_HOW_LISTENER))
		return;
	for (size_t i = 0; i < p->outputs.len; i++)
		output_owner(p->outputs.items[i], ev->ts_ns, ev->tgid);
}

static void teach_probe(struct pipeline *p, const struct event *ev)
{
	each_item(probe, p->probes, p->n_probes) {
		if (probe->running && probe->ops->learn && probe->ops->decoder->probe == ev->desc->type >> 8)
			probe->ops->learn(probe, ev);
	}
}

static bool passes(const struct pipeline *p, const struct event *ev)
{
	return !p->pass || (ev->desc->class == EVENT_DATA && !p->selects) || p->pass(p->pass_ctx, ev);
}

static int take_event(void *ctx, struct event *ev)
{
	struct pipeline *p = ctx;
	int r;

	arena_reset(&p->scratch);
	r = state_event(p->state, ev);
	/* scap state needs the parameters of all events, also of filtered ones. */
	if (r >= 0 && p->needs & ev->desc->sections & 1u << SEC_PARAMS && ev->desc->make &&
	    !event_section(ev, SEC_PARAMS))
		ev->desc->make(ev, SEC_PARAMS, &p->scratch);
	if (r >= 0)
		r = scap_state_event(p->scap, ev);
	if (r >= 0 && p->sym && !(p->named && ev->desc->type == SONDE_EV_SYMBOLS))
		r = sym_event(p->sym, ev);
	ev->functions = stack_functions_of(p->functions);
	if (r >= 0 && p->collects)
		r = sym_collect(p->sym, ev);
	if (r < 0) {
		p->now.error = r;
		return 0;
	}
	announce_owner(p, ev);
	if (ev->desc->type == SONDE_EV_LOST)
		take_loss(p, ev);
	teach_probe(p, ev);
	if (p->set.tap.event)
		p->set.tap.event(p->set.tap.ctx, ev);
	if (ev->desc->class != EVENT_META) {
		if ((p->own && ev->tgid == p->own) || !passes(p, ev)) {
			p->now.refused += ev->desc->class == EVENT_DATA;
			p->refused += ev->desc->class == EVENT_DATA;
			scap_state_left_out(p->scap, ev);
			return 0;
		}
		if (p->set.limits.max_events && p->shown >= p->set.limits.max_events) {
			p->now.refused++;
			return 0;
		}
		p->shown++;
		p->now.passed++;
	}
	make_sections(p, ev);
	bus_publish(&p->bus, ev);
	if (p->set.limits.max_events && p->shown >= p->set.limits.max_events)
		p->stopping = true;
	return 0;
}

static bool is_core(const struct sonde_rec *r)
{
	return r->type >> 8 == 0 && r->type != SONDE_EV_PACKET;
}

static void count_record(struct pipeline *p, const struct sonde_rec *r, int decoded, bool recorded)
{
	struct account *a;

	if (is_core(r) || (r->flags & SONDE_RF_UNCOUNTED))
		return;
	a = account_of(&p->accounts, r->instance);
	if (!a)
		return;
	a->records++;
	a->unrecorded += !recorded;
	a->injected += p->injecting && !(r->flags & SONDE_RF_HELD);
	if (decoded == -ENOMEM || p->now.error)
		a->lost[SONDE_LOST_MEMORY]++;
	else if (decoded < 0)
		a->lost[SONDE_LOST_DECODE]++;
	else if (p->now.refused && !p->now.passed)
		a->filtered++;
	else
		a->delivered++;
}

/* The ledger in a recording is the origin of ours, not an event of this run. */
static bool take_recorded_ledger(struct pipeline *p, const struct sonde_rec *r)
{
	struct sonde_ledger_rec l = { 0 };
	struct account *a;

	if (p->env || r->type != SONDE_EV_LEDGER || r->len < offsetof(struct sonde_ledger_rec, lost))
		return false;
	memcpy(&l, r, MIN(r->len, (uint32_t)sizeof(l)));
	a = account_of(&p->accounts, r->instance);
	if (a) {
		a->origin = (struct sonde_ledger){
			.seen = l.seen, .delivered = l.delivered, .filtered = l.filtered, .sampled = l.sampled,
		};
		memcpy(a->origin.lost, l.lost, sizeof(l.lost));
	}
	return true;
}

/* Adds hits that arrive as a sum to the ledger. */
static void take_counted(struct pipeline *p, const struct sonde_rec *r)
{
	struct sonde_counted_rec c;
	struct account *a = account_of(&p->accounts, r->instance);

	if (!a || r->type != SONDE_EV_COUNTED || r->len < sizeof(c))
		return;
	memcpy(&c, r, sizeof(c));
	a->counted += c.count;
}

static void record_outputs(struct pipeline *p, const struct sonde_rec *r)
{
	if (!p->records)
		return;
	for (size_t i = 0; i < p->outputs.len; i++)
		output_record(p->outputs.items[i], r);
}

/* Of the pipeline itself: while a part begins, only for that output. */
static void record_own(struct pipeline *p, const struct sonde_rec *r)
{
	if (p->part)
		output_record(p->part, r);
	else
		record_outputs(p, r);
}

static bool any_wants_owners(const struct pipeline *p)
{
	return vec_find(it, &p->outputs, output_wants_owners(*it));
}

/* A replay into records alone, all of them: nothing asks for the events. */
static bool copies_records(const struct pipeline *p)
{
	return !p->env && !p->selects && !p->own && !p->set.limits.max_events && !p->set.tap.event && !p->sym &&
	       !p->bus.first && !any_wants_owners(p);
}

/* The agent forwards records without users of their events as they are. All decoders need instance 0 (proc). */
static bool needs_decoding(const struct pipeline *p, const struct sonde_rec *r)
{
	if (is_core(r) || !r->instance)
		return true;
	if (p->set.tap.wants_events)
		return p->set.tap.wants_events(p->set.tap.ctx, r);
	return !copies_records(p) || !decode_is_data(p->decode, r);
}

/* While a probe attaches on the second thread, it sees only the records made there. */
static bool may_control(const struct pipeline *p, const struct probe *probe)
{
	return probe->ready && probe->ops->control && (!probe->attaching || !p->coop || coop_inside(p->coop));
}

static void show_to_probes(struct pipeline *p, const struct sonde_rec *r)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (may_control(p, &p->probes[i]))
			p->probes[i].ops->control(&p->probes[i], r);
}

/* Is @r for recordings only if its process is selected? Its event may say whose child the process is. */
static bool is_of_process(const struct pipeline *p, const struct sonde_rec *r)
{
	return p->set.recorded && p->env && !r->instance && !is_core(r);
}

/* Recordings are written here, not before the hold: a replay has to meet records in the same order. */
static void deliver(struct pipeline *p, const struct sonde_rec *r, size_t len)
{
	bool recorded = true;
	int decoded;

	p->now.passed = p->now.refused = 0;
	p->now.error = 0;
	p->now.is_lost = r->type == SONDE_EV_LOST;
	if (!is_of_process(p, r))
		record_outputs(p, r);
	decoded = needs_decoding(p, r) ? decode_record(p->decode, r, len, take_event, p) : 0;
	if (is_of_process(p, r)) {
		recorded = p->set.recorded(p->set.recorded_ctx, r);
		if (recorded)
			record_outputs(p, r);
	}
	count_record(p, r, decoded, recorded);
	if (p->set.tap.record)
		p->set.tap.record(p->set.tap.ctx, r, decoded < 0 ? decoded : p->now.error);
}

static int learn_event(void *ctx, struct event *ev)
{
	const struct pipeline *p = ctx;

	return state_event_learn(p->state, ev);
}

struct receiving {
	const struct pipeline *p;
	struct state_range *ret;
	bool found;
};

static int take_bytes(void *ctx, struct event *ev)
{
	struct receiving *in = ctx;

	in->found = state_event_receives(ev, in->ret);
	return 0;
}

/* Decodes a packet ahead of its turn: its decoder has no state. */
static bool receives(void *ctx, const struct sonde_rec *r, struct state_range *ret)
{
	struct pipeline *p = ctx;
	struct receiving in = { .p = p, .ret = ret };

	return decode_ahead(p->decode, r, r->len, take_bytes, &in) >= 0 && in.found;
}

/* Delivers the records that nothing completes any more at @now_ns. */
static void deliver_held(struct pipeline *p, uint64_t now_ns)
{
	bool injecting = p->injecting;
	struct held next;

	while (pipeline_hold_next(&p->hold, p->state, now_ns, &next)) {
		p->injecting = next.injected;
		deliver(p, next.rec, next.len);
	}
	p->injecting = injecting;
}

/*
 * Facts of instance 0 (proc), whose decoder has no state, and names of containers are learned at once, so that they
 * complete the records in front of them.
 */
static void hold_or_deliver(struct pipeline *p, const struct sonde_rec *r, size_t len)
{
	const bool names = pipeline_hold_learn(&p->hold, r);

	decode_fact(p->decode, r, len, learn_event, p);
	if (!pipeline_hold_is_empty(&p->hold)) {
		if (names || (!r->instance && !is_core(r)))
			decode_record(p->decode, r, len, learn_event, p);
		deliver_held(p, r->ts_ns);
	}
	if (!pipeline_hold_needed(&p->hold, p->state, r) ||
	    pipeline_hold_add(&p->hold, p->state, r, p->injecting) < 0)
		deliver(p, r, len);
}

static void handle_record(struct pipeline *p, const struct sonde_rec *r, size_t len)
{
	if (len < sizeof(*r) || r->len > len || r->len < sizeof(*r)) {
		struct account *a = account_of(&p->accounts, 0);

		a->records++;
		a->lost[SONDE_LOST_DECODE]++;
		return;
	}
	if (p->part && p->injecting && r->flags & SONDE_RF_SNAPSHOT) {
		output_record(p->part, r);
		return;
	}
	/* of the pipeline's own records only names: that of a cgroup identifies its container */
	if (!is_core(r) || r->type == SONDE_EV_NAME)
		show_to_probes(p, r);
	if (take_recorded_ledger(p, r)) {
		record_outputs(p, r);
		return;
	}
	if (r->type == SONDE_EV_COUNTED)
		take_counted(p, r);
	hold_or_deliver(p, r, len);
}

/* A ring of another program: its probe decodes the bytes. */
static int from_raw_ring(struct pipeline *p, const struct ring_rec *rec)
{
	struct probe *probe = rec->source <= p->n_probes ? &p->probes[rec->source - 1] : NULL;

	return probe && probe->ready && probe->ops->raw ? probe->ops->raw(probe, rec) : 0;
}

int pipeline_path_from_ring(void *ctx, const struct ring_rec *rec)
{
	struct pipeline *p = ctx;

	if (rec->source)
		return from_raw_ring(p, rec);
	if (rec->data)
		handle_record(p, rec->data, rec->len);
	return 0;
}

int pipeline_path_from_source(void *ctx, const struct sonde_rec *r)
{
	struct pipeline *p = ctx;

	p->replayed_ns = MAX(p->replayed_ns, r->ts_ns);
	handle_record(p, r, r->len);
	return p->stopping ? -ECANCELED : 0;
}

/* May be called inside another record's handling, from a probe's control(). */
int pipeline_path_from_probe(void *ctx, const struct sonde_rec *r)
{
	struct pipeline *p = ctx;
	bool outer = p->injecting;

	p->injecting = true;
	handle_record(p, r, r->len);
	p->injecting = outer;
	return 0;
}

/* ---- the pipeline's own records ---- */

static void own_record(struct pipeline *p, struct sonde_rec *r, uint16_t type, size_t len)
{
	r->ts_ns = clock_boot_ns();
	r->type = type;
	r->len = (uint32_t)len;
	handle_record(p, r, len);
}

static void host_rec(const struct pipeline *p, struct sonde_host_rec *ret)
{
	struct utsname u;

	*ret = (struct sonde_host_rec){
		.hdr = { .ts_ns = clock_boot_ns(), .type = SONDE_EV_HOST, .len = sizeof(*ret) },
		.n_cpus = p->env ? probe_env_n_cpus(p->env) : (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
	};
	if (uname(&u) < 0)
		return;
	memcpy(ret->release, u.release, MIN(sizeof(ret->release) - 1, strlen(u.release)));
	memcpy(ret->machine, u.machine, MIN(sizeof(ret->machine) - 1, strlen(u.machine)));
	memcpy(ret->hostname, u.nodename, MIN(sizeof(ret->hostname) - 1, strlen(u.nodename)));
}

void pipeline_path_init(struct pipeline *p)
{
	p->hold.receives = receives;
	p->hold.ctx = p;
}

/* machine-id(5): 32 hex digits. A host without one has no id. */
static void emit_host_id(struct pipeline *p)
{
	_cleanup_fclose_ FILE *f = fopen("/etc/machine-id", "re");
	char id[33] = "";

	if (f && fscanf(f, "%32[0-9a-f]", id) == 1 && strlen(id) == 32)
		pipeline_path_emit_name(p, SONDE_NAME_HOST_ID, 0, id);
}

void pipeline_path_emit_host(struct pipeline *p)
{
	struct sonde_host_rec h;

	host_rec(p, &h);
	own_record(p, &h.hdr, SONDE_EV_HOST, sizeof(h));
	emit_host_id(p);
}

void pipeline_path_emit_name(struct pipeline *p, uint32_t space, uint64_t key, const char *name)
{
	_Alignas(8) char bytes[sizeof(struct sonde_name_rec) + 256] = { 0 };
	struct sonde_name_rec *n = (void *)bytes;

	n->space = space;
	n->key = key;
	n->name_len = (uint32_t)MIN(strlen(name), sizeof(bytes) - sizeof(*n));
	memcpy(n->name, name, n->name_len);
	own_record(p, &n->hdr, SONDE_EV_NAME, sizeof(*n) + n->name_len);
}

static void clock_rec(const struct pipeline *p, struct sonde_clock_rec *ret)
{
	*ret = (struct sonde_clock_rec){
		.hdr = { .ts_ns = clock_boot_ns(), .type = SONDE_EV_CLOCK, .len = sizeof(*ret) },
		.offset_ns = p->clock_offset_ns,
	};
}

void pipeline_path_emit_clock(struct pipeline *p)
{
	struct sonde_clock_rec c = { .offset_ns = clock_boot_offset_ns() };
	int64_t step = c.offset_ns - p->clock_offset_ns;

	if (p->clock_offset_ns && step < (int64_t)CLOCK_STEP_NS && step > -(int64_t)CLOCK_STEP_NS)
		return;
	p->clock_offset_ns = c.offset_ns;
	own_record(p, &c.hdr, SONDE_EV_CLOCK, sizeof(c));
}

/* Clients of the agent decode for themselves, so the agent's own failures are not reported to them. */
static void report_losses(struct pipeline *p, uint16_t instance, struct account *a)
{
	struct sonde_ledger total;

	if (p->set.tap.record)
		account_kernel(a, &total);
	else
		account_total(a, &total);
	for (uint32_t cause = 0; cause < SONDE_LOST__MAX; cause++) {
		struct sonde_lost_rec l = {
			.hdr = { .instance = instance, .flags = SONDE_RF_SUM },
			.cause = cause, .count = account_report(a, &total, cause),
		};

		if (l.count)
			own_record(p, &l.hdr, SONDE_EV_LOST, sizeof(l));
	}
}

/* Also reports the losses since the last call. */
void pipeline_path_emit_losses(struct pipeline *p)
{
	for (size_t i = 0; i < p->n_probes; i++) {
		struct account *a = p->probes[i].ops ? account_of(&p->accounts, (uint16_t)i) : NULL;

		if (!a)
			continue;
		a->from_kernel = true;
		probe_env_ledger(p->env, (uint16_t)i, &a->origin);
		report_losses(p, (uint16_t)i, a);
	}
}

static int write_names(void *ctx, struct sonde_rec *r, _unused_ size_t len)
{
	struct pipeline *p = ctx;

	r->ts_ns = clock_boot_ns();
	record_own(p, r);
	return 0;
}

void pipeline_path_emit_symbols(struct pipeline *p)
{
	struct sonde_lost_rec l = { .cause = SONDE_LOST_NAMES };
	uint64_t missing = 0;

	if (!p->collects || sym_collect_write(p->sym, write_names, p, &missing) < 0 || !missing)
		return;
	l.count = missing;
	own_record(p, &l.hdr, SONDE_EV_LOST, sizeof(l));
}

static struct sonde_ledger_rec ledger_rec(uint64_t now_ns, uint16_t instance, const struct sonde_ledger *l)
{
	struct sonde_ledger_rec r = {
		.hdr = { .ts_ns = now_ns, .type = SONDE_EV_LEDGER, .len = sizeof(r), .instance = instance },
		.seen = l->seen, .delivered = l->delivered, .filtered = l->filtered, .sampled = l->sampled,
	};

	memcpy(r.lost, l->lost, sizeof(r.lost));
	return r;
}

/* The counts of records that reached a recording: a replay adds its own filters. */
void pipeline_path_record_ledger(struct pipeline *p, uint64_t now_ns)
{
	for (uint16_t i = 0; p->env && i < SONDE_INSTANCES; i++) {
		const struct account *a = &p->accounts.of[i];
		struct sonde_ledger total;
		struct sonde_ledger_rec r;

		if (!a->used)
			continue;
		account_kernel(a, &total);
		total.seen += a->injected;
		total.delivered = a->records - a->unrecorded;
		total.filtered += a->unrecorded;
		r = ledger_rec(now_ns, i, &total);
		record_own(p, &r.hdr);
	}
}

/* The last records of a run. Subscribers get the final sums of this run. */
void pipeline_path_emit_ledger(struct pipeline *p)
{
	uint64_t now_ns = p->env ? clock_boot_ns() : p->replayed_ns; /* the same time for all, and in every replay */

	pipeline_path_record_ledger(p, now_ns);
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct account *a = &p->accounts.of[i];
		struct sonde_ledger total;
		struct sonde_ledger_rec r;

		if (!a->used)
			continue;
		account_total(a, &total);
		r = ledger_rec(now_ns, i, &total);
		decode_record(p->decode, &r, sizeof(r), take_event, p);
	}
}

void pipeline_path_release(struct pipeline *p)
{
	deliver_held(p, UINT64_MAX);
}

/* The tick is part of the stream: a replay delivers the held records at the same place. */
void pipeline_path_release_late(struct pipeline *p)
{
	if (pipeline_hold_is_late(&p->hold, clock_boot_ns()))
		pipeline_path_emit_tick(p);
}

void pipeline_path_emit_tick(struct pipeline *p)
{
	struct sonde_rec tick = { 0 };

	own_record(p, &tick, SONDE_EV_TICK, sizeof(tick));
}

/* ---- state for a client that joins late ---- */

struct teller {
	int (*fn)(void *ctx, const struct sonde_rec *r);
	void *ctx;
	uint64_t now_ns;
};

static int emit_state_name(void *ctx, uint32_t space, uint64_t key, const char *name)
{
	const struct teller *t = ctx;
	size_t len = strlen(name), size = sizeof(struct sonde_name_rec) + len;
	struct sonde_name_rec *r = calloc(1, size);
	int ret;

	if (!r)
		return -ENOMEM;
	r->hdr = (struct sonde_rec){ .ts_ns = t->now_ns, .type = SONDE_EV_NAME, .len = (uint32_t)size };
	r->space = space;
	r->key = key;
	r->name_len = (uint32_t)len;
	memcpy(r->name, name, len);
	ret = t->fn(t->ctx, &r->hdr);
	free(r);
	return ret;
}

int pipeline_path_tell_state(struct pipeline *p, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx)
{
	const struct teller t = { .fn = fn, .ctx = ctx, .now_ns = clock_boot_ns() };
	struct sonde_host_rec h;
	struct sonde_clock_rec c;
	int r;

	host_rec(p, &h);
	clock_rec(p, &c);
	r = fn(ctx, &h.hdr);
	if (r >= 0)
		r = fn(ctx, &c.hdr);
	if (r >= 0)
		r = event_names_walk(decode_set_names(p->decode), emit_state_name, (void *)&t);
	return r < 0 ? r : budget_emit(p->budget, fn, ctx);
}
