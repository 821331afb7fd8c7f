// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the pipeline itself: host, clock, names, ledger, losses, ticks. Packets of capture files: core_packet.c.
 */
#include "event/core.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/core_packet.h"
#include "event/core_state.h"
#include "event/decode.h"
#include "sonde/sampling_wire.h"
#include "sonde/symbol_wire.h"

static const struct xlat_val lost_cause_vals[] = {
	{ SONDE_LOST_RING_FULL, "ring_full" }, { SONDE_LOST_RECURSION, "recursion" },
	{ SONDE_LOST_MAP_FULL, "map_full" }, { SONDE_LOST_COPY, "copy" }, { SONDE_LOST_DECODE, "decode" },
	{ SONDE_LOST_MEMORY, "memory" }, { SONDE_LOST_QUEUE, "queue" }, { SONDE_LOST_SINK, "sink" },
	{ SONDE_LOST_NOT_ATTACHED, "not_attached" }, { SONDE_LOST_MAPPING, "mapping" },
	{ SONDE_LOST_NAMES, "names" }, { SONDE_LOST_MAPPING_LIMIT, "mapping_limit" },
	{ SONDE_LOST_CALL_MEMORY, "call_memory" }, { SONDE_LOST_NO_REQUEST, "no_request" },
	{ SONDE_LOST_NO_BYTES, "no_bytes" },
};
_Static_assert(ARRAY_SIZE(lost_cause_vals) == SONDE_LOST__MAX, "every cause has a name");
const struct xlat lost_cause_xlat = {
	.name = "lost_cause", .vals = lost_cause_vals, .n = ARRAY_SIZE(lost_cause_vals),
};

static const struct xlat_val space_vals[] = {
	{ SONDE_NAME_DROP_REASON, "drop_reason" }, { SONDE_NAME_KSYM, "ksym" }, { SONDE_NAME_IFACE, "iface" },
	{ SONDE_NAME_INSTANCE, "instance" }, { SONDE_NAME_CGROUP, "cgroup" }, { SONDE_NAME_NETNS, "netns" },
	{ SONDE_NAME_XDP_ACTION, "xdp_action" }, { SONDE_NAME_SOURCE_FILE, "source_file" },
	{ SONDE_NAME_HOST, "host" }, { SONDE_NAME_POLICY_RULE, "policy_rule" },
	{ SONDE_NAME_CONTAINER, "container" }, { SONDE_NAME_CONTAINER_IMAGE, "container_image" },
	{ SONDE_NAME_POD, "pod" }, { SONDE_NAME_POD_NAMESPACE, "pod_namespace" }, { SONDE_NAME_POD_UID, "pod_uid" },
	{ SONDE_NAME_HOST_ID, "host_id" }, { SONDE_NAME_CPU_CGROUP, "cpu_cgroup" },
};
_Static_assert(ARRAY_SIZE(space_vals) == SONDE_NAME__MAX - 1, "every name space has a name; 0 is none");
static const struct xlat space_xlat = { .name = "name_space", .vals = space_vals, .n = ARRAY_SIZE(space_vals) };

static const struct field host_fields[] = {
	FIELD_ROW(struct core_host, n_cpus, "host.cpus", FIELD_UINT, "possible CPUs"),
	FIELD_ROW(struct core_host, page_size, "host.page_size", FIELD_UINT, "bytes of a memory page"),
	FIELD_ROW(struct core_host, release, "host.release", FIELD_STR, "kernel release", .flags = FIELD_OPEN),
	FIELD_ROW(struct core_host, machine, "host.machine", FIELD_STR, "architecture", .flags = FIELD_OPEN),
	FIELD_ROW(struct core_host, hostname, "host.name", FIELD_STR, "host name", .flags = FIELD_OPEN),
};
static const struct event_desc host_desc = {
	.type = SONDE_EV_HOST, .name = "sonde.host", .doc = "host of the recording",
	.class = EVENT_STATE, .fields = host_fields, .n_fields = ARRAY_SIZE(host_fields),
	.body_size = sizeof(struct core_host),
};

static const struct field clock_fields[] = {
	FIELD_ROW(struct core_clock, offset_ns, "clock.offset_ns", FIELD_INT, "wall clock minus time since boot, ns"),
};
static const struct event_desc clock_desc = {
	.type = SONDE_EV_CLOCK, .name = "sonde.clock", .doc = "wall clock against boot clock", .class = EVENT_STATE,
	.fields = clock_fields, .n_fields = ARRAY_SIZE(clock_fields), .body_size = sizeof(struct core_clock),
};

static int name_get(const struct event *ev, _unused_ const struct field *f, struct value *ret)
{
	const struct section *s = event_section(ev, SEC_TEXT);

	return s ? value_set_chars(ret, s->data, s->len) : -ENOENT;
}

static const struct field name_fields[] = {
	FIELD_ROW(struct core_name, space, "name.space", FIELD_ENUM, "name space of the number", .xlat = &space_xlat),
	FIELD_ROW(struct core_name, key, "name.key", FIELD_UINT, "the number"),
	{ .name = "name.text", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR), .doc = "its name" },
};
static const struct event_desc name_desc = {
	.type = SONDE_EV_NAME, .name = "sonde.name", .doc = "names a number from here on",
	.class = EVENT_STATE, .fields = name_fields, .n_fields = ARRAY_SIZE(name_fields),
	.body_size = sizeof(struct core_name), .sections = 1u << SEC_TEXT, .get = name_get,
};

#define LOST_BY(cause, cause_name) \
	{ .name = "ledger.lost_by." cause_name, .kind = FIELD_UINT, .flags = FIELD_OPTIONAL, \
	  .size = sizeof(uint64_t), .off = offsetof(struct core_ledger, lost_by) + (cause) * sizeof(uint64_t), \
	  .doc = "lost by this cause: " cause_name }

static const struct field ledger_fields[] = {
	FIELD_ROW(struct core_ledger, seen, "ledger.seen", FIELD_UINT, "events that the hooks saw"),
	FIELD_ROW(struct core_ledger, delivered, "ledger.delivered", FIELD_UINT, "events that arrived"),
	FIELD_ROW(struct core_ledger, filtered, "ledger.filtered", FIELD_UINT, "dropped by a filter in the kernel"),
	FIELD_ROW(struct core_ledger, sampled, "ledger.sampled", FIELD_UINT, "skipped by sampling or a rate limit"),
	FIELD_ROW(struct core_ledger, lost, "ledger.lost", FIELD_UINT, "lost, all causes"),
	LOST_BY(SONDE_LOST_RING_FULL, "ring_full"),
	LOST_BY(SONDE_LOST_RECURSION, "recursion"),
	LOST_BY(SONDE_LOST_MAP_FULL, "map_full"),
	LOST_BY(SONDE_LOST_COPY, "copy"),
	LOST_BY(SONDE_LOST_DECODE, "decode"),
	LOST_BY(SONDE_LOST_MEMORY, "memory"),
	LOST_BY(SONDE_LOST_QUEUE, "queue"),
	LOST_BY(SONDE_LOST_SINK, "sink"),
	LOST_BY(SONDE_LOST_NOT_ATTACHED, "not_attached"),
	LOST_BY(SONDE_LOST_MAPPING, "mapping"),
	LOST_BY(SONDE_LOST_NAMES, "names"),
	LOST_BY(SONDE_LOST_MAPPING_LIMIT, "mapping_limit"),
	LOST_BY(SONDE_LOST_CALL_MEMORY, "call_memory"),
	LOST_BY(SONDE_LOST_NO_REQUEST, "no_request"),
	LOST_BY(SONDE_LOST_NO_BYTES, "no_bytes"),
};
_Static_assert(ARRAY_SIZE(ledger_fields) == 5 + SONDE_LOST__MAX, "every cause has a row");
static const struct event_desc ledger_desc = {
	.type = SONDE_EV_LEDGER, .name = "sonde.ledger", .doc = "totals of one probe instance", .class = EVENT_META,
	.fields = ledger_fields, .n_fields = ARRAY_SIZE(ledger_fields), .body_size = sizeof(struct core_ledger),
};

static const struct field lost_fields[] = {
	FIELD_ROW(struct core_lost, count, "lost.count", FIELD_UINT, "events missing at this point"),
	FIELD_ROW(struct core_lost, cause, "lost.cause", FIELD_ENUM, "why", .xlat = &lost_cause_xlat),
};
/* Sentences for messages: the cause, then the remedy. */
static const char *const lost_whys[] = {
	[SONDE_LOST_RING_FULL] = "the ring buffer was full; a filter or a larger --ring-size helps",
	[SONDE_LOST_RECURSION] = "the hook interrupted itself",
	[SONDE_LOST_MAP_FULL] = "a table in the kernel was full",
	[SONDE_LOST_COPY] = "the kernel could not read memory that belongs to them",
	[SONDE_LOST_DECODE] = "their records are damaged or of an unknown type",
	[SONDE_LOST_MEMORY] = "sonde has no memory for them",
	[SONDE_LOST_QUEUE] = "they came faster than this client read; a filter helps",
	[SONDE_LOST_SINK] = "the output did not accept them",
	[SONDE_LOST_NOT_ATTACHED] = "the program ran before sonde was attached to it; --prefetch FILE helps",
	[SONDE_LOST_MAPPING] = "executable mappings, whose stacks have no names",
	[SONDE_LOST_MAPPING_LIMIT] = "executable mappings beyond the limit of their process",
	[SONDE_LOST_NAMES] = "names of stacks, whose files could not be read",
	[SONDE_LOST_CALL_MEMORY] = "the parsers of calls had no memory for them; --port or --pid helps",
	[SONDE_LOST_NO_REQUEST] = "their responses were seen without their requests; a larger --head helps",
	[SONDE_LOST_NO_BYTES] = "neither their requests nor their responses were kept, at least",
};
_Static_assert(ARRAY_SIZE(lost_whys) == SONDE_LOST__MAX, "every cause has a sentence");

bool core_lost_is_apart(uint32_t cause)
{
	return cause == SONDE_LOST_NOT_ATTACHED || cause == SONDE_LOST_MAPPING || cause == SONDE_LOST_NAMES ||
	       cause == SONDE_LOST_MAPPING_LIMIT;
}

const char *core_lost_why(uint32_t cause)
{
	return cause < SONDE_LOST__MAX ? lost_whys[cause] : NULL;
}

/* "sonde.lost 3 events of sys (ring_full): the ring buffer was full; a filter or a larger --ring-size helps" */
static int lost_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const char *probe = event_names_get(ev->names, SONDE_NAME_INSTANCE, ev->instance);
	const struct core_lost *b = ev->body;
	const char *why = core_lost_why(b->cause);

	buf_printf(out, "sonde.lost %" PRIu64 " event%s", b->count, b->count == 1 ? "" : "s");
	if (probe) {
		buf_add_str(out, " of ");
		str_escape_buf(out, probe, strlen(probe));
	}
	if (why)
		buf_printf(out, " (%s): %s\n", xlat_name(&lost_cause_xlat, b->cause), why);
	else
		buf_printf(out, " (cause %u)\n", b->cause);
	return buf_error(out);
}

const struct event_desc core_lost_desc = {
	.type = SONDE_EV_LOST, .name = "sonde.lost", .doc = "events are missing here", .class = EVENT_META,
	.fields = lost_fields, .n_fields = ARRAY_SIZE(lost_fields), .body_size = sizeof(struct core_lost),
	.line = lost_line,
};

static const struct field sampling_fields[] = {
	FIELD_ROW(struct core_sampling, one_in, "sampling.one_in", FIELD_UINT,
		  "the probe records about one event in N"),
	FIELD_ROW(struct core_sampling, cost_permille, "sampling.cost", FIELD_UINT,
		  "CPU time of sonde, thousandths of a CPU"),
	FIELD_ROW(struct core_sampling, budget_permille, "sampling.budget", FIELD_UINT,
		  "limit of --max-cpu, thousandths of a CPU"),
};
static const struct event_desc sampling_desc = {
	.type = SONDE_EV_SAMPLING,
	.name = "sonde.sampling",
	.doc = "rate of a probe from here on (--max-cpu)",
	.class = EVENT_META,
	.fields = sampling_fields,
	.n_fields = ARRAY_SIZE(sampling_fields),
	.body_size = sizeof(struct core_sampling),
};

/* EVENT_STATE: outputs skip ticks, but consumers that aggregate over time subscribe to them. */
static const struct event_desc tick_desc = {
	.type = SONDE_EV_TICK, .name = "sonde.tick", .doc = "time passes", .class = EVENT_STATE,
};

#define SYMBOLS_ROW(member, name_, kind_, doc_) \
	{ .name = (name_), .kind = (kind_), .doc = (doc_), .size = sizeof(((struct sonde_symbols_rec *)0)->member), \
	  .off = offsetof(struct sonde_symbols_rec, member) - sizeof(struct sonde_rec), .flags = FIELD_OPTIONAL }

static const struct field symbols_fields[] = {
	SYMBOLS_ROW(n, "symbols.count", FIELD_UINT, "locations"),
	SYMBOLS_ROW(ino, "symbols.ino", FIELD_UINT, "inode of their file"),
};
static const struct event_desc symbols_desc = {
	.type = SONDE_EV_SYMBOLS, .name = "sonde.symbols", .doc = "functions of addresses in the recording",
	.class = EVENT_STATE, .fields = symbols_fields, .n_fields = ARRAY_SIZE(symbols_fields),
	.body_size = sizeof(struct sonde_symbols_rec) - sizeof(struct sonde_rec),
};

const struct event_desc *const core_descs[] = {
	&host_desc,	 &clock_desc,	 &name_desc, &symbols_desc,	&ledger_desc,
	&core_lost_desc, &sampling_desc, &tick_desc, &core_packet_desc, NULL,
};

static int decode_symbols(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	if (r->len < sizeof(struct sonde_symbols_rec))
		return -EBADMSG;
	ev->body = r + 1;
	ev->body_len = r->len - (uint32_t)sizeof(*r);
	return em->emit(em->ctx, ev);
}

static int decode_host(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct core_state *st = em->state;
	struct cursor c = cur_init(r, r->len);
	struct core_host h = { 0 };

	cur_skip(&c, sizeof(*r));
	h.n_cpus = cur_u32(&c);
	h.page_size = cur_u32(&c);
	cur_copy(&c, h.release, sizeof(h.release));
	cur_copy(&c, h.machine, sizeof(h.machine));
	cur_copy(&c, h.hostname, sizeof(h.hostname));
	if (!cur_ok(&c))
		return -EBADMSG;
	st->host = h;
	st->host.release[sizeof(h.release) - 1] = 0;
	st->host.machine[sizeof(h.machine) - 1] = 0;
	st->host.hostname[sizeof(h.hostname) - 1] = 0;
	event_names_set_host(st->names, st->host.hostname);
	ev->body = &h;
	return em->emit(em->ctx, ev);
}

static int decode_clock(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct core_state *st = em->state;
	struct cursor c = cur_init(r, r->len);
	struct core_clock clock;

	cur_skip(&c, sizeof(*r));
	clock.offset_ns = (int64_t)cur_u64(&c);
	if (!cur_ok(&c))
		return -EBADMSG;
	st->clock_offset_ns = clock.offset_ns;
	ev->body = &clock;
	return em->emit(em->ctx, ev);
}

static int decode_name(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct core_state *st = em->state;
	struct cursor c = cur_init(r, r->len);
	struct core_name name = { 0 };
	const char *text;
	uint32_t len;
	int ret;

	cur_skip(&c, sizeof(*r));
	name.space = cur_u32(&c);
	len = cur_u32(&c);
	name.key = cur_u64(&c);
	text = cur_bytes(&c, len);
	if (!text || !name.space || name.space >= SONDE_NAME__MAX)
		return -EBADMSG;
	ret = event_names_set(st->names, name.space, name.key, text, len);
	if (ret < 0 && ret != -ENOSPC) /* budget exhausted: print the number */
		return ret;
	ev->body = &name;
	event_add_section(ev, SEC_TEXT, text, len);
	return em->emit(em->ctx, ev);
}

#define LEAST_CAUSES 8		/* of the first recordings */

static int decode_ledger(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct core_ledger l = { 0 };

	cur_skip(&c, sizeof(*r));
	l.seen = cur_u64(&c);
	l.delivered = cur_u64(&c);
	l.filtered = cur_u64(&c);
	l.sampled = cur_u64(&c);
	for (size_t i = 0; i < SONDE_LOST__MAX && (i < LEAST_CAUSES || cur_left(&c) >= sizeof(uint64_t)); i++) {
		l.lost_by[i] = cur_u64(&c);
		l.lost += l.lost_by[i];
	}
	if (!cur_ok(&c))
		return -EBADMSG;
	ev->body = &l;
	return em->emit(em->ctx, ev);
}

static int decode_lost(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct core_lost lost = { 0 };

	cur_skip(&c, sizeof(*r));
	lost.cause = cur_u32(&c);
	cur_skip(&c, sizeof(uint32_t));
	lost.count = cur_u64(&c);
	if (!cur_ok(&c))
		return -EBADMSG;
	ev->body = &lost;
	return em->emit(em->ctx, ev);
}

static int decode_sampling(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	struct core_sampling s = { 0 };

	cur_skip(&c, sizeof(*r));
	s.one_in = cur_u32(&c);
	s.cost_permille = cur_u32(&c);
	s.budget_permille = cur_u32(&c);
	if (!cur_ok(&c) || !s.one_in)
		return -EBADMSG;
	ev->body = &s;
	return em->emit(em->ctx, ev);
}

static const struct decode_row rows[] = {
	{ SONDE_EV_HOST, &host_desc, decode_host },
	{ SONDE_EV_CLOCK, &clock_desc, decode_clock },
	{ SONDE_EV_NAME, &name_desc, decode_name },
	{ SONDE_EV_LEDGER, &ledger_desc, decode_ledger },
	{ SONDE_EV_LOST, &core_lost_desc, decode_lost },
	{ SONDE_EV_SAMPLING, &sampling_desc, decode_sampling },
	{ SONDE_EV_TICK, &tick_desc },
	{ SONDE_EV_PACKET, &core_packet_desc, core_packet_decode },
	{ SONDE_EV_SYMBOLS, &symbols_desc, decode_symbols },
	{ SONDE_EV_COUNTED }, /* only the ledger reads it */
	{ 0 },
};

/* Names learned from DNS are content of packets; all other names belong to the host. */
static int hide_name(struct sonde_rec *r)
{
	const struct sonde_name_rec *n = (const void *)r;

	if (r->len < sizeof(*n))
		return -EBADMSG;
	return n->space == SONDE_NAME_HOST ? -EACCES : 0;
}

static int hide_all(_unused_ struct sonde_rec *r)
{
	return -EACCES;
}

static const struct content_rule content[] = {
	{ SONDE_EV_HOST },
	{ SONDE_EV_CLOCK },
	{ SONDE_EV_NAME, hide_name },
	{ SONDE_EV_LEDGER },
	{ SONDE_EV_LOST },
	{ SONDE_EV_TICK },
	{ SONDE_EV_PACKET, hide_all },
	{ SONDE_EV_COUNTED },
	{ SONDE_EV_SYMBOLS, hide_all },
	{ SONDE_EV_SAMPLING },
	{ 0 },
};

static void core_fini(void *state)
{
	struct core_state *st = state;

	event_names_free(st->names);
}

const struct decoder_ops core_decoder = {
	.name = "sonde",
	.probe = 0,
	.events = core_descs,
	.state_size = sizeof(struct core_state),
	.rows = rows,
	.content = content,
	.redact = core_redact,
	.fini = core_fini,
};
