// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Sends the record of a frame from scratch memory to a ring. */
#include "bpf/ident.bpf.h"
#include "bpf/plain.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_conns.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_fields.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_serve.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_string_cache.bpf.h"

#define PLAIN_BYTES (1024 - SONDE_PLAIN_REC) /* of a record that goes to the plain ring */
_Static_assert(PLAIN_BYTES + SONDE_PLAIN_REC <= SONDE_PLAIN_MOST, "fits");
#define BLOCK_BYTES 64
#define SHORTER (sizeof(struct gohttp2_frame_rec) - sizeof(struct gohttp2_short_rec))

/* Copies whole blocks: bytes after the record's end are stale scratch, and the next record overwrites them. */
static __always_inline int send_copy(const void *from, struct sonde_ledger *l, __u32 len)
{
	struct sonde_plain_head *plain;
	void *room = plain_reserve(&plain, l);

	if (!room)
		return -1;
	for (__u32 i = 0; i + BLOCK_BYTES <= PLAIN_BYTES && i < len; i += BLOCK_BYTES)
		copy_words(room + i, from + i, BLOCK_BYTES / 8);
	plain_submit(plain, l, room, len);
	return 0;
}

/* Fields that both writers of a short record fill alike. */
static __always_inline void head_of_short(struct gohttp2_short_rec *q, const struct gohttp2_scratch *s,
					  const struct sonde_ledger *l, __u64 conn, __u32 fields_len)
{
	rec_init_keys(&q->hdr, l, GOHTTP2_REC_SHORT, sizeof(*q) + fields_len, GOHTTP2_CLASS_CALL, s->tgid, s->tid,
		      s->start_ns);
	q->conn = conn;
	q->pad = 0;
	q->fields_len = fields_len;
}

static __always_inline void put_short(struct gohttp2_short_rec *q, const struct gohttp2_scratch *s,
				      const struct sonde_ledger *l, __u32 len)
{
	head_of_short(q, s, l, s->rec.conn, len);
	q->stream = s->rec.stream;
	q->value = s->rec.what == GOHTTP2_WHAT_DATA ? s->rec.bytes : s->rec.code;
	q->what = s->rec.what;
	q->side = s->rec.side;
	q->flags = s->rec.flags;
	q->n_fields = s->rec.n_fields;
}

/*
 * A server's request begins a call. A client's is part of the call that its goroutine serves; gRPC's clients write
 * requests in a goroutine of the transport, after request_made().
 */
static __always_inline void number_of_call(struct sonde_ident *id, const struct gohttp2_scratch *s,
					   const struct sonde_ledger *l, const struct gohttp2_frame_rec *origin)
{
	struct sonde_goroutine who = goroutine_of(s, origin->goid);

	if (s->rec.side == GOHTTP2_SIDE_SERVER)
		id->call = call_begins(s, l, origin->conn, origin->goid);
	else if ((s->rec.flags | origin->flags) & GOHTTP2_F_WEB && who.goid)
		go_call(id, &who, origin->parent_goid, false);
	if (s->caller) {
		id->call = s->caller;
		id->call_how = s->caller_how;
	}
}

/* Since 6.2. The static linker cannot join functions of the kernel that two units name alike. */
extern void *bpf_rdonly_cast___send(const void *obj, __u32 btf_id) __ksym __weak;

static __always_inline __u64 cgroup_of(const struct task_struct *task)
{
	if (!bpf_ksym_exists(bpf_rdonly_cast___send) || !TYPE_ID(task_struct))
		return bpf_get_current_cgroup_id();
	task = bpf_rdonly_cast___send(task, TYPE_ID(task_struct));
	return task->cgroups->dfl_cgrp->kn->id;
}

/* Header and identity of the record of a request, whose other members are complete. */
static __always_inline void head_of_frame(struct gohttp2_frame_rec *q, const struct gohttp2_scratch *s,
					  const struct sonde_ledger *l, const struct gohttp2_frame_rec *origin,
					  __u32 len)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const __u64 image = s->start_ns ? ident_image_number(s->tgid, s->start_ns, task->self_exec_id) : 0;

	rec_init_keys(&q->hdr, l, GOHTTP2_REC_FRAME, sizeof(*q) + len, GOHTTP2_CLASS_CALL | SONDE_RF_IDENT, s->tgid,
		      s->tid, s->start_ns);
	ident_keys(&q->id, image, cgroup_of(task), origin->netns);
	q->id.goid = origin->goid;
	if (gohttp2_serving)
		number_of_call(&q->id, s, l, origin);
	q->id.sock = origin->cookie;
}

/* Puts a short record before the fields. It overlaps the end of the long record, whose members are read first. */
static __always_inline void shorten(struct gohttp2_scratch *s, const struct sonde_ledger *l, __u32 len)
{
	struct gohttp2_short_rec *q = (void *)&s->rec + SHORTER;
	__u32 stream = s->rec.stream, value = s->rec.what == GOHTTP2_WHAT_DATA ? s->rec.bytes : s->rec.code;
	__u8 what = s->rec.what, side = s->rec.side, flags = s->rec.flags;
	__u16 n_fields = s->rec.n_fields;

	barrier();
	head_of_short(q, s, l, s->rec.conn, len);
	q->stream = stream;
	q->value = value;
	q->what = what;
	q->side = side;
	q->flags = flags;
	q->n_fields = n_fields;
}

/*
 * Sends a frame whose fields are cached, writing its record in place. Copying it from scratch memory would stall: a
 * load that spans several recent stores cannot be forwarded from the store buffer.
 */
static __always_inline void send_again(const struct gohttp2_scratch *s, const struct gohttp2_header_cache *a,
				       const struct gohttp2_near *n, struct sonde_ledger *l)
{
	__u32 len = a->len, front = n ? sizeof(struct gohttp2_frame_rec) : sizeof(struct gohttp2_short_rec);
	struct sonde_plain_head *plain;
	struct gohttp2_frame_rec *q;
	void *room = plain_reserve(&plain, l);

	if (!room) {
		MISS(ring_again);
		return;
	}
	for (__u32 i = 0; i < AGAIN_BYTES && i < len; i += BLOCK_BYTES)
		copy_words(room + front + i, a->data + i, BLOCK_BYTES / 8);
	if (n) {
		q = room;
		__builtin_memcpy(q, &n->rec, sizeof(*q));
		head_of_frame(q, s, l, &n->rec, len);
		q->stream = s->rec.stream;
		q->what = s->rec.what;
		q->side = s->rec.side;
		q->flags = n->rec.flags | s->rec.flags; /* reading q->flags back would stall */
		q->n_fields = s->rec.n_fields;
		q->fields_len = len;
	} else {
		put_short(room, s, l, len);
	}
	plain_submit(plain, l, room, front + len);
}

/* Requests carry their origin; other frames take the short record. */
static __always_inline bool is_whole(const struct gohttp2_frame_rec *r)
{
	return r->what == GOHTTP2_WHAT_UNSENT || (r->what == GOHTTP2_WHAT_HEADERS && is_request(r));
}

static __always_inline void send(struct gohttp2_scratch *s, struct sonde_ledger *l, bool plain)
{
	bool whole = is_whole(&s->rec);
	__u32 len = s->off;
	void *from;
	int r;

	if (len > DATA_BYTES)
		len = DATA_BYTES;
	if (whole) {
		s->rec.fields_len = len;
		head_of_frame(&s->rec, s, l, &s->rec, len);
	} else {
		shorten(s, l, len);
	}
	s->from = whole ? 0 : SHORTER;
	barrier();
	from = (void *)&s->rec + (s->from & 255);
	len += sizeof(s->rec) - s->from;
	barrier_var(len);
	if (len > sizeof(s->rec) + DATA_BYTES) { /* impossible; for the verifier */
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	if (plain && len <= PLAIN_BYTES)
		r = send_copy(from, l, len);
	else
		r = rec_output(l, LANE_BULK, from, len);
	if (r)
		MISS(ring);
}

int gohttp2_send(struct gohttp2_scratch *s, struct gohttp2_layout *layout, const struct gohttp2_near *n,
		 struct sonde_ledger *l, bool alone)
{
	const struct gohttp2_header_cache *again = take_fields(s, layout, alone);
	const bool plain = alone && plain_there();

	if (again && plain && (n || !is_whole(&s->rec))) {
		send_again(s, again, n, l);
		return 0;
	}
	if (again)
		copy_fields(s, again);
	if (n)
		copy_origin(&s->rec, &n->rec);
	send(s, l, plain);
	return 0;
}

bool gohttp2_send_answer(const struct gohttp2_scratch *s, const struct gohttp2_layout *layout, struct sonde_ledger *l)
{
	__u64 loopy = arg(s, layout, GOHTTP2_LOOPY_HEADERS, 0);
	struct sonde_plain_head *plain;
	struct gohttp2_short_rec *q;
	const struct gohttp2_text *t;

	if (gohttp2_lengths || !s->epoch || arg(s, layout, GOHTTP2_LOOPY_HEADERS, 2) & 0xff)
		return false;
	t = text_at(loopy);
	if (!t || !is_text(t, s, loopy, TEXT_OF_LOOPY) || !t->words[0])
		return false;
	q = plain_reserve(&plain, l);
	if (!q) {
		MISS(ring_answer);
		return true;
	}
	head_of_short(q, s, l, t->words[2], 0);
	q->stream = (__u32)arg(s, layout, GOHTTP2_LOOPY_HEADERS, 1);
	q->value = 200;
	q->what = GOHTTP2_WHAT_HEADERS;
	q->side = GOHTTP2_SIDE_SERVER;
	q->flags = GOHTTP2_F_SENT;
	q->n_fields = (__u16)arg(s, layout, GOHTTP2_LOOPY_HEADERS, 4);
	plain_submit(plain, l, q, sizeof(*q));
	return true;
}
