// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every record takes this path, whether from a ring, a file or a probe's live half.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pipeline/output.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/macros.h"
#include "base/units.h"
#include "bus/bus.h"
#include "enrich/enrich.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/names.h"
#include "probe/env.h"
#include "ring/ring.h"
#include "scap/state/state.h"
#include "source/source.h"
#include "sym/sym.h"

#define CLOCK_STEP_NS NS_PER_MS	/* smaller changes of the wall clock are not reported */

/* Expensive sections are made only for shown events and only if an output needs them. */
static void make_sections(struct pipeline *p, struct event *ev)
{
	uint32_t wanted = ev->desc->make ? p->needs & ev->desc->sections : 0;

	for (unsigned kind = 0; wanted; kind++, wanted >>= 1)
		if (wanted & 1 && !event_section(ev, kind))
			ev->desc->make(ev, kind, &p->scratch);
}

/* Losses announced by a recording, another datapath, or a ring outside the kernel's ledger. */
static void book_announced(struct pipeline *p, const struct event *ev)
{
	const struct core_lost *l = ev->body;
	struct account *a = ev->desc->type == SONDE_EV_LOST && !p->reporting ?
			    account_of(&p->accounts, ev->instance) : NULL;

	if (a)
		account_announce(a, l->cause, l->count);
}

/* Records that instance 0 (proc) lost may include an exec or a change of user. */
static void doubt_owners(struct pipeline *p, const struct event *ev)
{
	if (ev->desc->type == SONDE_EV_LOST && !ev->instance)
		enrich_lost(p->enrich, ev->ts_ns);
}

static int take_event(void *ctx, struct event *ev)
{
	struct pipeline *p = ctx;
	int r;

	arena_reset(&p->scratch);
	r = enrich_event(p->enrich, ev, &p->scratch);
	/* scap state needs the parameters of all events, also of filtered ones. */
	if (r >= 0 && p->needs & ev->desc->sections & 1u << SEC_PARAMS && ev->desc->make &&
	    !event_section(ev, SEC_PARAMS))
		ev->desc->make(ev, SEC_PARAMS, &p->scratch);
	if (r >= 0)
		r = scap_state_event(p->scap, ev);
	if (r >= 0)
		r = scap_state_describe(p->scap, ev);
	if (r >= 0 && p->sym)
		r = sym_event(p->sym, ev);
	if (r < 0) {
		p->now.error = r;
		return 0;
	}
	book_announced(p, ev);
	doubt_owners(p, ev);
	if (p->tap.event)
		p->tap.event(p->tap.ctx, ev);
	if (ev->desc->class != EVENT_META) {
		if ((p->own && ev->tgid == p->own) || (p->pass && !p->pass(p->pass_ctx, ev))) {
			p->now.refused += ev->desc->class == EVENT_DATA;
			scap_state_left_out(p->scap, ev);
			return 0;
		}
		if (p->limits.max_events && p->shown >= p->limits.max_events) {
			p->now.refused++;
			return 0;
		}
		p->shown++;
		p->now.passed++;
	}
	make_sections(p, ev);
	bus_publish(p->bus, ev);
	if (p->limits.max_events && p->shown >= p->limits.max_events)
		p->stopping = true;
	return 0;
}

static bool is_core(const struct sonde_rec *r)
{
	return r->type >> 8 == 0 && r->type != SONDE_EV_PACKET;
}

/* Ledgers do not count snapshots: they are state, not events. */
static void count_record(struct pipeline *p, const struct sonde_rec *r, int decoded)
{
	struct account *a;

	if (is_core(r) || (r->flags & (SONDE_RF_SNAPSHOT | SONDE_RF_SUM)))
		return;
	a = account_of(&p->accounts, r->instance);
	if (!a)
		return;
	a->records++;
	a->injected += p->injecting && !(r->flags & SONDE_RF_HELD);
	if (decoded < 0)
		a->lost[SONDE_LOST_DECODE]++;
	else if (p->now.error)
		a->lost[SONDE_LOST_MEMORY]++;
	else if (p->now.refused && !p->now.passed)
		a->filtered++;
	else
		a->delivered++;
}

/* The ledger in a recording is the origin of ours, not an event of this run. */
static bool take_recorded_ledger(struct pipeline *p, const struct sonde_rec *r)
{
	struct sonde_ledger_rec l;
	struct account *a;

	if (p->env || r->type != SONDE_EV_LEDGER || r->len < sizeof(l))
		return false;
	memcpy(&l, r, sizeof(l));
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
	for (size_t i = 0; i < p->outputs.len; i++)
		output_record(p->outputs.items[i], r);
}

/* The agent forwards records without users of their events as they are. All decoders need instance 0 (proc). */
static bool needs_decoding(const struct pipeline *p, const struct sonde_rec *r)
{
	return !p->tap.wants_events || is_core(r) || !r->instance || p->tap.wants_events(p->tap.ctx, r);
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

static void handle_record(struct pipeline *p, const struct sonde_rec *r, size_t len)
{
	int decoded;

	if (len < sizeof(*r) || r->len > len || r->len < sizeof(*r)) {
		struct account *a = account_of(&p->accounts, 0);

		a->records++;
		a->lost[SONDE_LOST_DECODE]++;
		return;
	}
	/* of the pipeline's own records only names: that of a cgroup identifies its container */
	if (!is_core(r) || r->type == SONDE_EV_NAME)
		show_to_probes(p, r);
	record_outputs(p, r);
	if (take_recorded_ledger(p, r))
		return;
	if (r->type == SONDE_EV_COUNTED)
		take_counted(p, r);
	p->now.passed = p->now.refused = 0;
	p->now.error = 0;
	decoded = needs_decoding(p, r) ? decode_record(p->decode, r, len, take_event, p) : 0;
	count_record(p, r, decoded);
	if (p->tap.record)
		p->tap.record(p->tap.ctx, r, decoded < 0 ? decoded : p->now.error);
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

void pipeline_path_emit_host(struct pipeline *p)
{
	struct sonde_host_rec h;

	host_rec(p, &h);
	own_record(p, &h.hdr, SONDE_EV_HOST, sizeof(h));
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

	if (p->tap.record)
		account_kernel(a, &total);
	else
		account_total(a, &total);
	for (uint32_t cause = 0; cause < SONDE_LOST__MAX; cause++) {
		struct sonde_lost_rec l = {
			.hdr.instance = instance, .cause = cause, .count = account_report(a, &total, cause),
		};

		if (l.count)
			own_record(p, &l.hdr, SONDE_EV_LOST, sizeof(l));
	}
}

/* Also reports the losses since the last call. */
void pipeline_path_emit_losses(struct pipeline *p)
{
	p->reporting = true;
	for (size_t i = 0; i < p->n_probes; i++) {
		struct account *a = p->probes[i].ops ? account_of(&p->accounts, (uint16_t)i) : NULL;

		if (!a)
			continue;
		a->from_kernel = true;
		probe_env_ledger(p->env, (uint16_t)i, &a->origin);
		report_losses(p, (uint16_t)i, a);
	}
	p->reporting = false;
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

/*
 * The last records of a run. A raw recording gets the counts of records that reached it (a replay adds its own
 * filters); subscribers get the final sums of this run.
 */
void pipeline_path_emit_ledger(struct pipeline *p)
{
	uint64_t now_ns = p->env ? clock_boot_ns() : p->replayed_ns; /* the same time for all, and in every replay */

	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct account *a = &p->accounts.of[i];
		struct sonde_ledger total;
		struct sonde_ledger_rec r;

		if (!a->used)
			continue;
		if (p->env) {
			account_kernel(a, &total);
			total.seen += a->injected;
			total.delivered = a->records;
			r = ledger_rec(now_ns, i, &total);
			record_outputs(p, &r.hdr);
		}
		account_total(a, &total);
		r = ledger_rec(now_ns, i, &total);
		decode_record(p->decode, &r, sizeof(r), take_event, p);
	}
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

static int tell_name(void *ctx, uint32_t space, uint64_t key, const char *name)
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

int pipeline_tell_state(struct pipeline *p, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx)
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
	return r < 0 ? r : event_names_walk(decode_set_names(p->decode), tell_name, (void *)&t);
}
