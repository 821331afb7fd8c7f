// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces for Perfetto's viewer and trace_processor: system calls and RPCs as slices, waits as states of threads,
 * samples with stacks, all other events as instants, arrows between the two sides of an RPC.
 *
 * Messages: protos/perfetto/trace/trace_packet.proto and those that it includes, of Perfetto 56. Types of events are
 * known by their fields.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "sinks/outfile.h"
#include "sinks/perfetto/perfetto_intern.h"
#include "sinks/sink.h"
#include "base/protobuf/protobuf.h"

enum { PACKET = 1 };
enum { PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT, PACKET_INTERNED,
       PACKET_FLAGS, PACKET_PERF_SAMPLE = 66, PACKET_TASK_STATE = 117 };
enum { FLAGS_FIRST = 3, FLAGS_NEXT = 2 };	/* state cleared and needed; needed */
enum { EVENT_ANNOTATIONS = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORIES = 22, EVENT_NAME, EVENT_FLOWS = 47 };
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT };
enum { ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };
enum { SAMPLE_CPU = 1, SAMPLE_PID, SAMPLE_TID, SAMPLE_CALLSTACK };
enum { STATE_CPU = 1, STATE_COMM, STATE_TID, STATE_STATE };
enum { TASK_RUNNABLE = 2, TASK_RUNNING, TASK_SLEEPING, TASK_DISK, TASK_STOPPED };
enum { CLOCKS = 1, PRIMARY_CLOCK };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP };
enum { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6 };

#define SEQUENCE 1

/* Fields by which a type is known. */
enum word { CALL_NAME, CALL_LATENCY, CALL_ARGS, CALL_RET, RPC_NAME, RPC_SIDE, RPC_LATENCY, RPC_OPENED, STACK_VALUE,
	    STACK_STATE, STACK_WAIT, WORD__MAX };
static const char *const words[] = {
	[CALL_NAME] = "syscall.name", [CALL_LATENCY] = "syscall.latency", [CALL_ARGS] = "syscall.args",
	[CALL_RET] = "syscall.ret", [RPC_NAME] = "rpc.name", [RPC_SIDE] = "rpc.side", [RPC_LATENCY] = "rpc.latency",
	[RPC_OPENED] = "rpc.opened", [STACK_VALUE] = "stack.value", [STACK_STATE] = "stack.state",
	[STACK_WAIT] = "stack.wait",
};
_Static_assert(ARRAY_SIZE(words) == WORD__MAX, "a name per word");

struct type { const struct field *field[WORD__MAX]; };

struct perfetto {
	struct perfetto_intern in;
	struct map types;	/* const struct event_desc * -> struct type */
	struct buf out;		/* packets of the current event */
	struct buf packet, body, part;
	bool started;		/* the first packet of the sequence was written */
	bool has_clock;
};

static const struct type *type_of(struct perfetto *p, const struct event_desc *d)
{
	bool is_new;
	struct type *t = map_add(&p->types, &d, &is_new);

	for (unsigned w = 0; t && is_new && w < WORD__MAX; w++)
		t->field[w] = event_field_named(d->fields, d->n_fields, words[w]);
	return t;
}

static uint64_t number(const struct event *ev, const struct type *t, enum word w)
{
	uint64_t v;

	return t->field[w] && event_get_number(ev, t->field[w], &v) == 0 ? v : 0;
}

static bool text(const struct event *ev, const struct type *t, enum word w, struct value *ret)
{
	return t->field[w] && event_get(ev, t->field[w], ret) == 0 && ret->kind == VAL_STR;
}

/* ---- packets ---- */

static void begin_packet(struct perfetto *p, uint64_t ts_ns)
{
	buf_reset(&p->packet);
	buf_reset(&p->body);
	perfetto_intern_uint(&p->packet, PACKET_TIMESTAMP, ts_ns);
	perfetto_intern_uint(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	perfetto_intern_uint(&p->packet, PACKET_FLAGS, p->started ? FLAGS_NEXT : FLAGS_FIRST);
	p->started = true;
}

static void end_packet(struct perfetto *p, uint32_t field)
{
	if (p->in.fresh.len)
		protobuf_bytes(&p->packet, PACKET_INTERNED, p->in.fresh.data, p->in.fresh.len);
	buf_reset(&p->in.fresh);
	protobuf_bytes(&p->packet, field, p->body.data, p->body.len);
	protobuf_bytes(&p->out, PACKET, p->packet.data, p->packet.len);
}

static void put_clock(struct perfetto *p, uint64_t id, uint64_t ts_ns)
{
	buf_reset(&p->part);
	perfetto_intern_uint(&p->part, CLOCK_ID, id);
	perfetto_intern_uint(&p->part, CLOCK_TIMESTAMP, ts_ns);
	protobuf_bytes(&p->body, CLOCKS, p->part.data, p->part.len);
}

/* Times are of the boot clock; one packet ties it to the wall clock. */
static void put_clocks(struct perfetto *p, const struct event *ev)
{
	begin_packet(p, ev->ts_ns);
	put_clock(p, CLOCK_BOOTTIME_ID, ev->ts_ns);
	if (ev->clock_offset_ns)
		put_clock(p, CLOCK_REALTIME_ID, event_wall_ns(ev));
	perfetto_intern_uint(&p->body, PRIMARY_CLOCK, CLOCK_BOOTTIME_ID);
	end_packet(p, PACKET_CLOCK_SNAPSHOT);
	p->has_clock = true;
}

static void annotate(struct perfetto *p, const char *name, const char *value, size_t len)
{
	buf_reset(&p->part);
	protobuf_text(&p->part, ANNOTATION_NAME, name, strlen(name));
	protobuf_text(&p->part, ANNOTATION_STRING, value, len);
	protobuf_bytes(&p->body, EVENT_ANNOTATIONS, p->part.data, p->part.len);
}

static void begin_track_event(struct perfetto *p, uint64_t ts_ns, unsigned type, uint64_t track)
{
	begin_packet(p, ts_ns);
	perfetto_intern_uint(&p->body, EVENT_TYPE, type);
	perfetto_intern_uint(&p->body, EVENT_TRACK, track);
}

static uint64_t end_hash(const struct ipaddr *ip, uint16_t port)
{
	uint8_t bytes[sizeof(*ip) + sizeof(port)];

	memcpy(bytes, ip, sizeof(*ip));
	memcpy(bytes + sizeof(*ip), &port, sizeof(port));
	return map_hash(bytes, sizeof(bytes));
}

/* The same for both sides of an RPC: its connection without direction, and its stream. 0 = not known. */
static uint64_t flow_of(const struct event *ev)
{
	const struct conn *c = &ev->keys.conn;
	const uint64_t a = end_hash(&c->saddr, c->sport), b = end_hash(&c->daddr, c->dport);
	const uint64_t key[] = { MIN(a, b), MAX(a, b), ev->keys.rpc_stream };

	return c->proto && ev->keys.rpc_stream ? map_hash(key, sizeof(key)) : 0;
}

/* ---- events ---- */

struct slice {
	const char *name, *category;
	size_t name_len;
	uint64_t from_ns, to_ns, track, flow;
};

static void put_slice(struct perfetto *p, const struct slice *s, const struct event *ev, const struct type *t)
{
	struct value v;

	begin_track_event(p, s->from_ns, TYPE_BEGIN, s->track);
	protobuf_text(&p->body, EVENT_CATEGORIES, s->category, strlen(s->category));
	protobuf_text(&p->body, EVENT_NAME, s->name, s->name_len);
	if (s->flow)
		protobuf_fixed64(&p->body, EVENT_FLOWS, s->flow);
	if (text(ev, t, CALL_ARGS, &v) && v.len)
		annotate(p, "args", v.str, v.len);
	end_packet(p, PACKET_TRACK_EVENT);
	begin_track_event(p, s->to_ns, TYPE_END, s->track);
	end_packet(p, PACKET_TRACK_EVENT);
}

/* A slice with the name in field @w. */
static void put_named(struct perfetto *p, struct slice *s, const struct event *ev, const struct type *t, enum word w)
{
	struct value name;

	if (!text(ev, t, w, &name))
		name = (struct value){ .str = "?", .len = 1 };
	s->name = name.str;
	s->name_len = name.len;
	put_slice(p, s, ev, t);
}

static int put_call(struct perfetto *p, const struct event *ev, const struct type *t)
{
	const uint64_t latency_ns = number(ev, t, CALL_LATENCY);
	struct slice s = { .category = "syscall", .from_ns = ev->ts_ns - MIN(latency_ns, ev->ts_ns),
			   .to_ns = ev->ts_ns };
	int r = perfetto_intern_track(&p->in, ev, PERFETTO_THREAD, s.from_ns, s.to_ns, &s.track, &p->out);

	if (r < 0)
		return r;
	put_named(p, &s, ev, t, CALL_NAME);
	return 0;
}

static int put_rpc(struct perfetto *p, const struct event *ev, const struct type *t)
{
	const uint64_t latency_ns = number(ev, t, RPC_LATENCY);
	struct value side;
	const bool server = text(ev, t, RPC_SIDE, &side) && side.len == 6 && !memcmp(side.str, "server", 6);
	struct slice s = { .category = "rpc", .from_ns = ev->ts_ns - MIN(latency_ns, ev->ts_ns), .to_ns = ev->ts_ns,
			   .flow = flow_of(ev) };
	int r = perfetto_intern_track(&p->in, ev, server ? PERFETTO_SERVER : PERFETTO_CLIENT, s.from_ns, s.to_ns,
				      &s.track, &p->out);

	if (r < 0)
		return r;
	put_named(p, &s, ev, t, RPC_NAME);
	return 0;
}

static void put_state(struct perfetto *p, const struct event *ev, uint64_t ts_ns, unsigned state)
{
	const struct section *s = event_section(ev, SEC_PROC);
	const struct sec_proc *proc = event_proc(ev);
	size_t len = 0;
	const char *comm = proc ? event_sec_proc_str(proc, s, proc->comm, &len) : "";

	begin_packet(p, ts_ns);
	perfetto_intern_uint(&p->body, STATE_CPU, ev->cpu);
	protobuf_text(&p->body, STATE_COMM, comm ? comm : "", len);
	perfetto_intern_uint(&p->body, STATE_TID, ev->tid);
	perfetto_intern_uint(&p->body, STATE_STATE, state);
	end_packet(p, PACKET_TASK_STATE);
}

static unsigned state_of(const struct event *ev, const struct type *t)
{
	static const struct { const char *name; unsigned state; } states[] = {
		{ "runnable", TASK_RUNNABLE }, { "disk", TASK_DISK }, { "stopped", TASK_STOPPED },
	};
	struct value v;

	if (!text(ev, t, STACK_STATE, &v))
		return TASK_SLEEPING;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (v.len == strlen(states[i].name) && !memcmp(v.str, states[i].name, v.len))
			return states[i].state;
	return TASK_SLEEPING;
}

/* At the event's time the thread runs again; just before, it was ready and had no CPU. */
static int put_wait(struct perfetto *p, const struct event *ev, const struct type *t)
{
	const uint64_t off_ns = MIN(number(ev, t, STACK_VALUE), ev->ts_ns), ready_ns = number(ev, t, STACK_WAIT);
	uint64_t track;
	int r = perfetto_intern_track(&p->in, ev, PERFETTO_THREAD, ev->ts_ns, ev->ts_ns, &track, &p->out);

	if (r < 0)
		return r;
	put_state(p, ev, ev->ts_ns - off_ns, state_of(ev, t));
	if (ready_ns && ready_ns < off_ns)
		put_state(p, ev, ev->ts_ns - ready_ns, TASK_RUNNABLE);
	put_state(p, ev, ev->ts_ns, TASK_RUNNING);
	return 0;
}

static int put_sample(struct perfetto *p, const struct event *ev)
{
	uint64_t track, iid = 0;
	int r = perfetto_intern_track(&p->in, ev, PERFETTO_THREAD, ev->ts_ns, ev->ts_ns, &track, &p->out);

	if (r >= 0)
		r = perfetto_intern_stack(&p->in, ev, &iid);
	if (r < 0)
		return r;
	begin_packet(p, ev->ts_ns);
	perfetto_intern_uint(&p->body, SAMPLE_CPU, ev->cpu);
	perfetto_intern_uint(&p->body, SAMPLE_PID, ev->tgid);
	perfetto_intern_uint(&p->body, SAMPLE_TID, ev->tid);
	if (iid)
		perfetto_intern_uint(&p->body, SAMPLE_CALLSTACK, iid);
	end_packet(p, PACKET_PERF_SAMPLE);
	return 0;
}

static int put_instant(struct perfetto *p, const struct event *ev)
{
	const struct line_opts o = { 0 };
	uint64_t track;
	int r = perfetto_intern_track(&p->in, ev, ev->tid ? PERFETTO_THREAD : PERFETTO_PROCESS, ev->ts_ns, ev->ts_ns,
				      &track, &p->out);

	if (r < 0)
		return r;
	buf_reset(&p->in.one);
	r = event_line(ev, &o, &p->in.one);
	begin_track_event(p, ev->ts_ns, TYPE_INSTANT, track);
	protobuf_text(&p->body, EVENT_NAME, ev->desc->name, strlen(ev->desc->name));
	if (r >= 0 && p->in.one.len)
		annotate(p, "event", p->in.one.data, strcspn(buf_str(&p->in.one), "\n"));
	end_packet(p, PACKET_TRACK_EVENT);
	return 0;
}

static int put_event(struct perfetto *p, const struct event *ev)
{
	const struct type *t = type_of(p, ev->desc);

	if (!t)
		return -ENOMEM;
	if (t->field[CALL_LATENCY] && number(ev, t, CALL_LATENCY))
		return put_call(p, ev, t);
	if (t->field[RPC_OPENED] && number(ev, t, RPC_LATENCY))
		return put_rpc(p, ev, t);
	if (t->field[STACK_STATE])
		return put_wait(p, ev, t);
	if (t->field[STACK_VALUE])
		return put_sample(p, ev);
	return put_instant(p, ev);
}

static int perfetto_open(struct sink *s, _unused_ struct err *err)
{
	struct perfetto *p = s->state;

	perfetto_intern_init(&p->in, s->opts->sym);
	map_init(&p->types, sizeof(const struct event_desc *), sizeof(struct type));
	return 0;
}

static int perfetto_event(struct sink *s, const struct event *ev)
{
	struct perfetto *p = s->state;
	int r;

	if (ev->desc->class != EVENT_DATA || ev->desc->table)
		return 0;
	buf_reset(&p->out);
	if (!p->has_clock)
		put_clocks(p, ev);
	r = put_event(p, ev);
	if (r == -ENOSPC)	/* more calls at once than lanes */
		r = put_instant(p, ev);
	if (r >= 0)
		r = buf_error(&p->out) ?: buf_error(&p->packet) ?: buf_error(&p->body) ?: buf_error(&p->part);
	return r < 0 ? r : outfile_record(s->out, p->out.data, p->out.len);
}

static int perfetto_close(struct sink *s)
{
	struct perfetto *p = s->state;

	perfetto_intern_fini(&p->in);
	map_fini(&p->types);
	buf_fini(&p->out);
	buf_fini(&p->packet);
	buf_fini(&p->body);
	buf_fini(&p->part);
	return 0;
}

const struct sink_ops perfetto_sink = {
	.name = "perfetto", .summary = "a trace for Perfetto: slices, states, samples, arrows between calls",
	.suffix = ".perfetto-trace", .flags = SINK_BINARY, .state_size = sizeof(struct perfetto),
	.open = perfetto_open, .event = perfetto_event, .close = perfetto_close,
};
