/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Which goroutine serves which call (bpf/ident_go.bpf.h). A call gets its number with the request's headers, which a
 * goroutine of the transport reads; the goroutine of the handler finds it by connection and stream.
 */
#ifndef GOHTTP2_SERVE_BPF_H
#define GOHTTP2_SERVE_BPF_H

#include "bpf/ident_go.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

UNIT_SHARED const volatile bool gohttp2_serving = false;

struct gohttp2_stream {
	__u64 conn;
	__u32 tgid, stream;
};

struct gohttp2_serving {
	__u64 call;
	__u64 reader;	/* goroutine that read the request */
	__u64 handler;	/* 0 = not started yet */
};

UNIT_MAP(gohttp2_streams, LRU_HASH, 8192, struct gohttp2_stream, struct gohttp2_serving);

static __always_inline struct sonde_goroutine goroutine_of(const struct gohttp2_scratch *s, __u64 goid)
{
	return (struct sonde_goroutine){ .tgid = s->who.tgid, .start = (__u32)s->who.start_ns, .goid = goid };
}

/* The goroutine works for many calls. */
static __always_inline void is_shared(const struct gohttp2_scratch *s, __u64 goid)
{
	struct sonde_goroutine who = goroutine_of(s, goid);
	const struct sonde_go_call none = {}, *known;

	if (!goid)
		return;
	known = bpf_map_lookup_elem(&sonde_go_family, &who);
	if (!known || known->call)
		bpf_map_update_elem(&sonde_go_family, &who, &none, BPF_ANY);
}

/* A request was read: the number of its call, unique in a run. */
static __noinline __u64 call_begins(const struct gohttp2_scratch *s, const struct sonde_ledger *l, __u64 conn,
				    __u64 reader)
{
	const struct gohttp2_stream key = { .conn = conn, .tgid = s->who.tgid, .stream = s->rec.stream };
	struct gohttp2_serving v = { .reader = reader };

	v.call = (__u64)(l->seq + 1) << 17 | (__u64)(sonde_instance & 31) << 12 | (bpf_get_smp_processor_id() & 4095);
	bpf_map_update_elem(&gohttp2_streams, &key, &v, BPF_ANY);
	is_shared(s, reader);
	return v.call;
}

/* The current goroutine runs the handler of a stream. */
static __noinline int handler_begins(const struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u64 conn,
				     __u32 stream)
{
	const struct gohttp2_stream key = { .conn = conn, .tgid = s->who.tgid, .stream = stream };
	struct gohttp2_serving *v = bpf_map_lookup_elem(&gohttp2_streams, &key);
	struct sonde_goroutine who = goroutine_of(s, word_at(s->regs.g, l->goid));
	__u64 parent = word_at(s->regs.g, l->parent_goid);
	__u8 *mark = go_mark(s->who.tgid);
	struct sonde_go_call c = {};

	if (!who.goid)
		return 0;
	if (!v) { /* read before the start: a worker must not keep its last call */
		bpf_map_delete_elem(&sonde_go_handlers, &who);
		return 0;
	}
	v->handler = c.handler = who.goid;
	c.call = v->call;
	c.passes = parent && parent == v->reader;
	bpf_map_update_elem(&sonde_go_handlers, &who, &c, BPF_ANY);
	if (mark)
		*mark = SONDE_GO_MARK_SERVES;
	return 0;
}

/* The current goroutine is done with its call. */
static __always_inline void handler_ends(const struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	struct sonde_goroutine who = goroutine_of(s, word_at(s->regs.g, l->goid));

	bpf_map_delete_elem(&sonde_go_handlers, &who);
}

/* ---- calls of clients ---- */

struct gohttp2_request {
	__u64 fields;		/* array of headers, which the transport's goroutine will write */
	__u32 tgid, start;
};

struct gohttp2_caller {
	__u64 call;
	__u64 how;		/* SONDE_HOW_* */
};

/* Requests of gRPC's clients whose goroutine serves a call, from their making until they are written. */
UNIT_MAP(gohttp2_callers, LRU_HASH, 8192, struct gohttp2_request, struct gohttp2_caller);

static __always_inline struct gohttp2_request request_of(const struct gohttp2_scratch *s, __u64 fields)
{
	return (struct gohttp2_request){ .fields = fields, .tgid = s->who.tgid, .start = (__u32)s->who.start_ns };
}

/* The current goroutine made the headers of a request. */
static __noinline int request_made(const struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u64 fields)
{
	const struct gohttp2_request key = request_of(s, fields);
	struct sonde_goroutine who = goroutine_of(s, word_at(s->regs.g, l->goid));
	struct gohttp2_caller c = {};
	struct sonde_ident id = {};

	if (!fields)	/* failed */
		return 0;
	if (who.goid)
		go_call(&id, &who, word_at(s->regs.g, l->parent_goid), true);
	c.call = id.call;
	c.how = id.call_how;
	if (c.call)
		bpf_map_update_elem(&gohttp2_callers, &key, &c, BPF_ANY);
	else	/* of a request that was never written, at the same address */
		bpf_map_delete_elem(&gohttp2_callers, &key);
	return 0;
}

/* The request is written: the call that its goroutine serves. */
static __noinline int request_written(struct gohttp2_scratch *s, __u64 fields)
{
	const struct gohttp2_request key = request_of(s, fields);
	const struct gohttp2_caller *c = bpf_map_lookup_elem(&gohttp2_callers, &key);

	if (!c)
		return 0;
	s->caller = c->call;
	s->caller_how = (__u32)c->how;
	bpf_map_delete_elem(&gohttp2_callers, &key);
	return 0;
}

/* A server put the stream away. */
static __always_inline void stream_ends(const struct gohttp2_scratch *s, __u64 conn, __u32 stream)
{
	const struct gohttp2_stream key = { .conn = conn, .tgid = s->who.tgid, .stream = stream };
	struct gohttp2_serving *v = bpf_map_lookup_elem(&gohttp2_streams, &key);
	struct sonde_goroutine who;

	if (!v)
		return;
	who = goroutine_of(s, v->handler);
	bpf_map_delete_elem(&sonde_go_handlers, &who);
	bpf_map_delete_elem(&gohttp2_streams, &key);
}

#endif
