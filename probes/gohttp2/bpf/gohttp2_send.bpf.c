// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Sends the record of a frame from scratch memory to a ring. */
/* Since 6.2. The static linker cannot join functions of the kernel that two units name alike. */
#define bpf_rdonly_cast bpf_rdonly_cast___send

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

/* A frame as far as all kinds have it. */
struct frame {
	__u64 conn;
	__u32 stream;
	__u32 value;		/* of DATA bytes, else code */
	__u8 what, side, flags;
	__u16 n_fields;
};

static __always_inline struct frame frame_of(const struct gohttp2_frame_rec *r)
{
	return (struct frame){
		.conn = r->conn,
		.stream = r->stream,
		.value = r->what == GOHTTP2_WHAT_DATA ? r->bytes : r->code,
		.what = r->what,
		.side = r->side,
		.flags = r->flags,
		.n_fields = r->n_fields,
	};
}

static __always_inline void put_short(struct gohttp2_short_rec *q, const struct gohttp2_who *who,
				      const struct sonde_ledger *l, const struct frame *f, __u32 len)
{
	rec_init_keys(&q->hdr, l, GOHTTP2_REC_SHORT, sizeof(*q) + len, GOHTTP2_CLASS_CALL, who->tgid, who->tid,
		      who->start_ns);
	q->conn = f->conn;
	q->stream = f->stream;
	q->value = f->value;
	q->what = f->what;
	q->side = f->side;
	q->flags = f->flags;
	q->pad = 0;
	q->n_fields = f->n_fields;
	q->fields_len = len;
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

static __always_inline __u64 cgroup_of(const struct task_struct *task)
{
	if (!HAS_TYPE(task_struct))
		return bpf_get_current_cgroup_id();
	task = TYPED(task, task_struct);
	return task->cgroups->dfl_cgrp->kn->id;
}

/* Header and identity of the record of a request, whose other members are complete. */
static __always_inline void head_of_frame(struct gohttp2_frame_rec *q, const struct gohttp2_who *who,
					  const struct task_struct *task, const struct sonde_ledger *l,
					  const struct gohttp2_frame_rec *origin, __u32 len)
{
	const __u64 image = who->start_ns ? ident_image_number(who->tgid, who->start_ns, task->self_exec_id) : 0;

	rec_init_keys(&q->hdr, l, GOHTTP2_REC_FRAME, sizeof(*q) + len, GOHTTP2_CLASS_CALL | SONDE_RF_IDENT,
		      who->tgid, who->tid, who->start_ns);
	ident_keys(&q->id, image, cgroup_of(task), origin->netns);
	q->id.goid = origin->goid;
	q->id.sock = origin->cookie;
}

/* Puts a short record before the fields. It overlaps the end of the long record, whose members are read first. */
static __always_inline void shorten(struct gohttp2_scratch *s, const struct sonde_ledger *l, __u32 len)
{
	const struct frame f = frame_of(&s->rec);

	barrier();
	put_short((void *)&s->rec + SHORTER, &s->who, l, &f, len);
}

/*
 * Sends a frame whose fields are cached, writing its record in place. Copying it from scratch memory would stall: a
 * load that spans several recent stores cannot be forwarded from the store buffer. @s: NULL = not gohttp2_serving.
 */
static __always_inline void send_again(const struct gohttp2_scratch *s, const struct gohttp2_who *who,
				       const struct task_struct *task, const struct frame *f,
				       const struct gohttp2_header_cache *a, const struct gohttp2_near *n,
				       struct sonde_ledger *l)
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
		head_of_frame(q, who, task, l, &n->rec, len);
		if (gohttp2_serving && s)
			number_of_call(&q->id, s, l, &n->rec);
		q->stream = f->stream;
		q->what = f->what;
		q->side = f->side;
		q->flags = n->rec.flags | f->flags; /* reading q->flags back would stall */
		q->n_fields = f->n_fields;
		q->fields_len = len;
	} else {
		put_short(room, who, l, f, len);
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
		head_of_frame(&s->rec, &s->who, bpf_get_current_task_btf(), l, &s->rec, len);
		if (gohttp2_serving)
			number_of_call(&s->rec.id, s, l, &s->rec);
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
	struct frame f;

	if (again && plain && (n || !is_whole(&s->rec))) {
		f = frame_of(&s->rec);
		send_again(s, &s->who, bpf_get_current_task_btf(), &f, again, n, l);
		return 0;
	}
	if (again)
		copy_fields(s, again);
	if (n)
		copy_origin(&s->rec, &n->rec);
	send(s, l, plain);
	return 0;
}

/* ---- frames that repeat an earlier one ---- */

#define REPEAT_HEADERS 8	/* of a frame at most */
#define META_BYTES (META_FRONT + 24)

/* Memory of the program on the stack: what is read next replaces what was used. */
union repeat {
	struct gohttp2_regs regs;
	__u64 meta[META_BYTES / 8];
	struct gohttp2_hf hf[REPEAT_HEADERS];
};

struct repeated {
	struct frame frame;
	__u64 fields;
	const struct gohttp2_near *near; /* of a request */
};

/* Argument @i, which must be in a register: else *@away becomes true. */
static __always_inline __u64 reg_in(const union repeat *m, const struct gohttp2_layout *l, enum gohttp2_site site,
				    __u32 i, __u8 *away)
{
	const __u8 where = l->args[site][i];

	*away |= where & GOHTTP2_ARG_STACK;
	return m->regs.arg[where & (GOHTTP2_REGS - 1)];
}

/* A HEADERS frame that was read, as take_meta() does. */
static __always_inline bool repeat_meta(union repeat *m, const struct gohttp2_layout *l, __u64 frame,
					struct repeated *ret)
{
	const __u8 *head = (const __u8 *)m->meta;

	if (l->meta_fields != 8 || l->frame_flags != 2 || l->frame_stream != 8 ||
	    read_user(m->meta, META_BYTES, frame - META_FRONT) || m->meta[META_FRONT / 8] != frame - META_FRONT)
		return false;
	ret->frame.stream = u32_in(head + 8);
	ret->frame.flags = head[2] & GOHTTP2_F_END_STREAM;
	ret->fields = m->meta[META_FRONT / 8 + 1];
	ret->frame.n_fields = capped(m->meta[META_FRONT / 8 + 2], 65535);
	return true;
}

static __always_inline bool repeat_request(union repeat *m, struct gohttp2_cpu *cpu, const struct gohttp2_layout *l,
					   __u32 tgid, struct repeated *ret)
{
	__u8 away = 0;
	__u64 t = reg_in(m, l, GOHTTP2_SERVER_HEADERS, 0, &away);
	__u64 frame = reg_in(m, l, GOHTTP2_SERVER_HEADERS, 1, &away);
	struct gohttp2_near *n = near_in(cpu, t);

	if (away || !n || gohttp2_serving || !is_near(n, l, tgid, m->regs.g, t))
		return false;
	ret->near = n;
	ret->frame.conn = n->rec.conn;
	ret->frame.side = GOHTTP2_SIDE_SERVER;
	return repeat_meta(m, l, frame, ret);
}

/* Response or trailers of a server. */
static __always_inline bool repeat_response(union repeat *m, struct gohttp2_cpu *cpu, const struct gohttp2_layout *l,
					    const struct gohttp2_who *who, struct repeated *ret)
{
	__u8 away = 0;
	__u64 loopy = reg_in(m, l, GOHTTP2_LOOPY_HEADERS, 0, &away);
	const struct gohttp2_text *t = &cpu->text[slot_of(loopy) & (TEXT_SLOTS - 1)];

	if (!is_text(t, who, loopy, TEXT_OF_LOOPY) || !t->words[0])
		return false;
	ret->frame.conn = t->words[2];
	ret->frame.side = GOHTTP2_SIDE_SERVER;
	ret->frame.flags = GOHTTP2_F_SENT;
	ret->frame.stream = (__u32)reg_in(m, l, GOHTTP2_LOOPY_HEADERS, 1, &away);
	if (reg_in(m, l, GOHTTP2_LOOPY_HEADERS, 2, &away) & 0xff)
		ret->frame.flags |= GOHTTP2_F_END_STREAM;
	ret->fields = reg_in(m, l, GOHTTP2_LOOPY_HEADERS, 3, &away);
	ret->frame.n_fields = capped(reg_in(m, l, GOHTTP2_LOOPY_HEADERS, 4, &away), 65535);
	return !away;
}

/* Read again where it is used: the stack has no room for all at once. */
static __always_inline struct gohttp2_who known_who(const struct gohttp2_layout *l, const struct task_struct *task)
{
	return (struct gohttp2_who){
		.tgid = task->tgid,
		.tid = task->pid,
		.start_ns = l->start_ns,
		.epoch = epoch_of(l),
	};
}

/* The cache entry of these headers; NULL = none. @most: a constant. */
static __always_inline const struct gohttp2_header_cache *
find_again(union repeat *m, struct gohttp2_cpu *cpu, const struct gohttp2_layout *l, const struct task_struct *task,
	   struct places *p, __u64 fields, __u32 most)
{
	const struct gohttp2_header_cache *a;
	struct gohttp2_who who;
	__u32 n = p->n;
	__u64 print;

	if (!n)
		return NULL;
	barrier_var(n);	/* the register that is checked is the one that is used */
	if (n > most || read_user(m->hf, n * HF_BYTES, fields))
		return NULL;
	print = print_of(p, most);
	a = again_in(cpu, print);
	fetch(a, offsetof(struct gohttp2_header_cache, hf) + most * HF_BYTES);
	fetch(a->data, most * 32);
	barrier();
	who = known_who(l, task);
	return is_again(p, &who, a, print, most) ? a : NULL;
}

static __always_inline void send_answer(const struct gohttp2_who *who, const struct frame *f, struct sonde_ledger *l)
{
	struct sonde_plain_head *plain;
	struct gohttp2_short_rec *q = plain_reserve(&plain, l);

	if (!q) {
		MISS(ring_answer);
		return;
	}
	put_short(q, who, l, f, 0);
	plain_submit(plain, l, q, sizeof(*q));
}

bool gohttp2_send_repeat(struct bpf_user_regs *regs, struct gohttp2_layout *layout, const struct task_struct *task,
			 __u32 site, struct sonde_ledger *l)
{
	struct gohttp2_who who = known_who(layout, task);
	struct repeated r = { .frame = { .what = GOHTTP2_WHAT_HEADERS } };
	const struct gohttp2_header_cache *again;
	struct gohttp2_cpu *cpu = my_cpu();
	struct places p;
	union repeat m;

	if (!cpu || !who.epoch || !who.start_ns)
		return false;
	take_regs(&m.regs, regs);
	if (site == GOHTTP2_SERVER_HEADERS ? !repeat_request(&m, cpu, layout, who.tgid, &r) :
					     !repeat_response(&m, cpu, layout, &who, &r))
		return false;
	if (is_plain_response(r.frame.side, r.frame.flags)) {
		r.frame.value = 200;
		send_answer(&who, &r.frame, l);
		return true;
	}
	p.hf = m.hf;
	p.conn = r.frame.conn;
	p.n = r.frame.n_fields;
	p.selected = selected_headers(r.frame.side, r.frame.flags);
	p.lengths = selected_lengths(p.selected);
	again = r.near ? find_again(&m, cpu, layout, task, &p, r.fields, REPEAT_HEADERS) :
			 find_again(&m, cpu, layout, task, &p, r.fields, 2);
	if (!again)
		return false;
	barrier();
	who = known_who(layout, task);
	send_again(NULL, &who, task, &r.frame, again, r.near, l);
	return true;
}
