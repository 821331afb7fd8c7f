// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Bytes of calls at TLS libraries: entries and returns of the functions that read and write plain text.
 *
 * The socket behind a library's object is proved or not named: the thread did I/O on exactly one socket of TLS inside
 * the function; or the ClientHello on a socket of the process carries the object's client random; or one of the two
 * was so before, and the random is the same still (libraries use the memory of an object again).
 *
 * A return belongs to the entry with the same stack pointer. Of nested calls (TLS inside TLS) the inner one counts,
 * but of one object the outer one.
 * Go's connections lead to their descriptors.
 */
#define PREEMPT_UNIT tls
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/preempt.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/task_file.bpf.h"
#include "probes/call/call_wire.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/bpf/call_walk.bpf.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/tls/call_tls_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct call_tls_object_key {
	__u64 object;
	__u64 tgid;
};

struct call_tls_object {
	struct call_tls_random random;
	__u64 cookie;
	__u32 tgid_started;	/* low bits of the process's start: pids are used again */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct call_tls_object_key);
	__type(value, struct call_tls_object);
} call_tls_objects SEC(".maps");

/* As call_orders, of plain text. */
MAP(call_tls_orders, LRU_HASH, 65536, __u64 /* cookie */, __u8 /* CALL_ORDER_* */);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALL_TLS_N__MAX);
	__type(key, __u32);
	__type(value, __u64);
} call_tls_counts SEC(".maps");

/* A record under construction, by CPU. With preemption off no other hit interrupts. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);	/* possible CPUs, set at run time */
	__type(key, __u32);
	__type(value, struct call_room);
} call_tls_rooms SEC(".maps");

static __always_inline void tls_count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&call_tls_counts, &what);

	if (n)
		++*n;
}

static __always_inline __u64 regs_sp(const struct bpf_user_regs *regs)
{
	return regs->sp;
}

#if defined(__TARGET_ARCH_x86)
#define RETURN_POPS 8	/* the return address */
#define REGS_ARG1(r) (r)->di
#define REGS_ARG2(r) (r)->si
#define REGS_ARG4(r) (r)->cx
#define REGS_RESULT(r) (r)->ax
#elif defined(__TARGET_ARCH_arm64)
#define RETURN_POPS 0
#define REGS_ARG1(r) (r)->regs[0]
#define REGS_ARG2(r) (r)->regs[1]
#define REGS_ARG4(r) (r)->regs[3]
#define REGS_RESULT(r) (r)->regs[0]
#endif

/* Handshakes and peeks on the object of the function that called them: SSL_read() of BoringSSL calls SSL_peek(). */
static __always_inline bool is_part(const struct call_tls_inside *in, const struct bpf_user_regs *regs)
{
	return in->fn && in->object == REGS_ARG1(regs) && regs_sp(regs) < in->sp;
}

static __always_inline int tls_entered(struct bpf_user_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 fn = bpf_get_attach_cookie(regs) & 0xff;
	struct call_tls_inside *in;

	if (!select_task_of(task->tgid))
		return 0;
	in = bpf_task_storage_get(&call_tls_insides, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!in || (fn == CALL_TLS_NO_BYTES && is_part(in, regs)))
		return 0;
	in->sp = regs_sp(regs);
	in->object = REGS_ARG1(regs);
	in->buffer = REGS_ARG2(regs);
	in->done = REGS_ARG4(regs);
	in->cookie = 0;
	in->many = 0;
	in->fn = fn;
	return 0;
}

/* A part of an operation: bytes before it, its own, those that are kept of them. */
struct call_tls_part {
	__u32 from, size, most, turn;
};

/* An operation that returned. */
struct call_tls_op {
	struct call_tls_inside in;
	struct task_struct *task;
	struct call_tls_random random;
	__u64 cookie;
	__u32 size, dir;
	__u8 by, source;	/* CALL_TLS_BY_*, CALL_SOURCE_* */
};

static __always_inline bool random_is(const struct call_tls_random *a, const struct call_tls_random *b)
{
	return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}

static __always_inline bool random_is_set(const struct call_tls_random *r)
{
	return r->half[0] || r->half[1];
}

static __always_inline __u64 socket_of_random(const struct call_tls_op *op)
{
	struct call_tls_hello_key key = { .random = op->random, .tgid = op->task->tgid };
	const struct call_tls_hello *hello;

	if (!random_is_set(&op->random))
		return 0;
	hello = bpf_map_lookup_elem(&call_tls_hellos, &key);
	return hello && !hello->many ? hello->cookie : 0;
}

/* Finds the socket. False if it is not proved. */
static __noinline int tls_find(struct call_tls_op *op)
{
	struct call_tls_object_key key = { .object = op->in.object, .tgid = op->task->tgid };
	struct call_tls_object fresh = { .random = op->random }, *old;
	__u64 by_random;

	old = bpf_map_lookup_elem(&call_tls_objects, &key);
	fresh.tgid_started = (__u32)op->task->group_leader->start_boottime;
	if (old && (!random_is(&old->random, &op->random) || old->tgid_started != fresh.tgid_started))
		old = NULL;
	if (op->in.cookie && !op->in.many) {
		op->cookie = op->in.cookie;
		op->by = CALL_TLS_BY_NESTED;
		if (old && old->cookie == op->cookie)
			return 1;
	}
	if (old && !op->cookie && random_is_set(&op->random)) {
		op->cookie = old->cookie;
		op->by = CALL_TLS_BY_KEPT;
		return 1;
	}
	by_random = socket_of_random(op);
	if (op->cookie && by_random && by_random != op->cookie) {
		tls_count(CALL_TLS_N_CONTRADICTED);
		return 0;
	}
	if (!op->cookie && by_random) {
		op->cookie = by_random;
		op->by = CALL_TLS_BY_RANDOM;
	}
	if (!op->cookie)
		return 0;
	fresh.cookie = op->cookie;
	bpf_map_update_elem(&call_tls_objects, &key, &fresh, BPF_ANY);
	return 1;
}

static __always_inline void tls_turn(struct call_tls_conn *c, const struct call_tls_op *op)
{
	__u8 *order;

	c->dir = op->dir + 1;
	order = call_has_orders ? bpf_map_lookup_elem(&call_tls_orders, &op->cookie) : NULL;
	if (order && *order == CALL_ORDER_IGNORE)
		c->class = CLASS_IGNORED;
	else if (order)
		c->wide = 1;
	c->left = c->wide ? CALL_HEAD_MAX : call_head;
}

static __always_inline bool tls_guess(struct call_tls_conn *c, const struct call_tls_op *op)
{
	struct call_guess g = { .size = op->size, .dir = op->dir };
	__u8 guess;
	__u32 n = op->size < CALL_GUESS_BYTES ? op->size : CALL_GUESS_BYTES;

	if (bpf_probe_read_user(g.b, n, (void *)op->in.buffer))
		return false;
	c->guess = (__u8)call_guess_protocol(&g, false);
	/* Read back: the verifier forgets which of the paths above gave it, and follows one. */
	guess = *(volatile __u8 *)&c->guess;
	if (!guess) {
		c->class = ++c->turns >= GUESS_TURNS ? CLASS_IGNORED : CLASS_NEW;
		return false;
	}
	c->class = call_kinds & 1 << guess ? CLASS_WATCHED : CLASS_IGNORED;
	return c->class == CLASS_WATCHED;
}

/* As op_budget() of plain sockets. */
static __always_inline __u32 tls_budget(const struct call_tls_op *op, struct call_tls_conn *c)
{
	__u32 most = op->size;
	bool whole = c->wide || (most > c->left && c->guess == CALL_GUESS_HTTP &&
				 call_user_ends_head((void *)op->in.buffer, op->size));

	if (!whole && most > c->left)
		most = c->left;
	if (most > CALL_HEAD_MAX)
		most = CALL_HEAD_MAX;
	c->left -= most < c->left ? most : c->left;
	return most;
}

/* The record of an operation without sizes and bytes. */
static __always_inline void tls_record_init(struct call_data_rec *r, const struct sonde_ledger *l,
					    const struct call_tls_op *op, const struct call_tls_conn *c)
{
	rec_init_keys(&r->hdr, l, CALL_REC_DATA, sizeof(*r), CALL_CLASS_TLS, op->task->tgid, op->task->pid,
		      op->task->group_leader->start_boottime);
	r->cookie = op->cookie;
	r->rtt_us = 0;
	r->dir = op->dir;
	r->guess = c->guess;
	r->source = op->source;
	r->tls_by = op->by;
}

/* @size bytes of the operation behind the first @from, of which @most are kept. */
static __noinline int tls_record(struct call_tls_op *op, struct call_tls_conn *c, struct call_tls_part *part)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct call_room *room = bpf_map_lookup_elem(&call_tls_rooms, &cpu);
	struct sonde_ledger *l = room && c ? ledger_seen(CALL_CLASS_TLS) : NULL;
	struct call_data_rec *r;
	__u32 most = part->most, kept = 0;

	if (!room || !l || !c)
		return 0;
	r = &room->rec;
	barrier_var(most);	/* else less one is compared, which tells older verifiers nothing about it */
	if (most <= CALL_HEAD_MAX &&
	    !bpf_probe_read_user(room->bytes, most, (void *)(op->in.buffer + part->from)))
		kept = most;
	if (kept > CALL_HEAD_MAX)
		kept = CALL_HEAD_MAX;
	tls_record_init(r, l, op, c);
	r->hdr.len += kept;
	r->offset = c->bytes[op->dir & 1] - op->size + part->from;
	r->size = part->size;
	r->kept = kept;
	r->flags = (part->turn ? CALL_F_TURN : 0) | (kept < most ? CALL_F_FAULT : 0);
	call_output(l, r, sizeof(*r) + kept);
	return 0;
}

/* As op_walk() of plain sockets. */
static __noinline int tls_frames(struct call_tls_op *op, struct call_tls_conn *c, bool turn)
{
	const struct call_user_bytes b = { .base = op->in.buffer };
	__u32 cpu = bpf_get_smp_processor_id();
	struct call_room *room = bpf_map_lookup_elem(&call_tls_rooms, &cpu);
	struct sonde_ledger *l = ledger_row(CALL_CLASS_TLS);

	if (!room || !l || !c)
		return 0;
	tls_record_init(&room->rec, l, op, c);
	room->rec.flags = turn ? CALL_F_TURN : 0;
	room->walk.offset = c->bytes[op->dir & 1] - op->size;
	room->walk.size = op->size;
	room->walk.dir = op->dir;
	room->walk.class = CALL_CLASS_TLS;
	return call_frames_send(room, &c->frames, &b, turn);
}

/* As op_record() of plain sockets: the head, and of databases the tail. */
static __always_inline int tls_records(struct call_tls_op *op, struct call_tls_conn *c, bool turn)
{
	struct call_tls_part part = { .size = op->size, .turn = turn };
	__u32 rest;

	if (turn && !c->wide && call_may_pipeline(c->guess, CALL_GUESS_REDIS, &c->turns))
		c->wide = call_user_pipelines((void *)op->in.buffer, op->size);
	part.most = tls_budget(op, c);
	rest = op->size - part.most;
	if (!call_guess_is_late(c->guess) || !rest)
		return tls_record(op, c, &part);
	rest = rest < CALL_TAIL_BYTES ? rest : CALL_TAIL_BYTES;
	part.size -= rest;
	tls_record(op, c, &part);
	part = (struct call_tls_part){ .from = op->size - rest, .size = rest, .most = rest };
	return tls_record(op, c, &part);
}

static __always_inline int tls_bytes(struct call_tls_op *op)
{
	struct call_tls_conn *c = call_tls_conn_get(op->cookie);
	bool turn;

	if (!c)
		return 0;
	c->bytes[op->dir & 1] += op->size;
	turn = c->dir != op->dir + 1;
	if (turn || call_guess_is_unanswered(c->guess))
		tls_turn(c, op);
	if (c->class == CLASS_IGNORED)
		return 0;
	if (c->class != CLASS_WATCHED && (!turn || !tls_guess(c, op)))
		return 0;
	if (op->source == CALL_SOURCE_GOTLS && call_is_left(c->guess, op->task->tgid))
		return 0;
	if (c->guess == CALL_GUESS_HTTP2 && tls_frames(op, c, turn))
		return 0;
	return tls_records(op, c, turn);
}

/* Bytes that the function read or wrote. */
static __always_inline __u32 tls_size(const struct call_tls_inside *in, int result)
{
	__u64 done = 0;

	if (in->fn == CALL_TLS_READ || in->fn == CALL_TLS_WRITE)
		return result > 0 ? result : 0;
	if ((in->fn == CALL_TLS_READ_EX || in->fn == CALL_TLS_WRITE_EX) && result == 1)
		bpf_probe_read_user(&done, sizeof(done), (void *)in->done);
	return done < 1u << 30 ? done : 0;
}

/* The client random of the object, 0 if unknown. @cookie: of the site. */
static __always_inline void tls_random(struct call_tls_op *op, __u64 cookie)
{
	__u64 random = cookie >> CALL_TLS_RANDOM_SHIFT & 0xffff, pointer = cookie >> CALL_TLS_POINTER_SHIFT & 0xffff;
	__u64 from = op->in.object;

	if (!random)
		return;
	if (pointer && bpf_probe_read_user(&from, sizeof(from), (void *)(from + pointer - 1)))
		return;
	bpf_probe_read_user(&op->random, sizeof(op->random), (void *)(from + random - 1));
}

/* @cookie: of the site of a C library. */
static __noinline int tls_operated(struct call_tls_op *op, __u64 cookie)
{
	if (!op)
		return 0;
	tls_random(op, cookie);
	if (op->source == CALL_SOURCE_GOTLS ? !op->cookie : !tls_find(op)) {
		if (op->size)
			tls_count(CALL_TLS_N_UNKNOWN);
		return 0;
	}
	if (!op->size)
		return 0;
	tls_count(CALL_TLS_N_KNOWN);
	return tls_bytes(op);
}

/* Without preemption where the kernel can do that. */
static __always_inline int tls_operate(struct call_tls_op *op, __u64 cookie)
{
	if (preempt_disable) {
		preempt_disable();
		tls_operated(op, cookie);
		preempt_enable();
		return 0;
	}
	return tls_operated(op, cookie);
}

static __always_inline int tls_returned(struct bpf_user_regs *regs)
{
	struct call_tls_op op = { .task = bpf_get_current_task_btf() };
	struct call_tls_inside *in = bpf_task_storage_get(&call_tls_insides, op.task, NULL, 0);
	__u64 cookie = bpf_get_attach_cookie(regs);

	if (!in || !in->fn || in->fn != (cookie & 0xff) || regs_sp(regs) != in->sp + RETURN_POPS)
		return 0;
	op.in = *in;
	in->fn = 0;
	op.size = tls_size(&op.in, (int)REGS_RESULT(regs));
	op.dir = op.in.fn == CALL_TLS_WRITE || op.in.fn == CALL_TLS_WRITE_EX ? CALL_TX : CALL_RX;
	op.source = cookie >> CALL_TLS_LIB_SHIFT & 0xff;
	if (!op.size && !op.in.cookie)
		return 0;
	return tls_operate(&op, cookie);
}

/* ---- Go ---- */

/*
 * Stacks of goroutines move, so nothing is placed on them: each return instruction of Read and Write is a site. An
 * entry is kept by goroutine, and a return belongs to it if the stack pointer has the same distance from the end of
 * the stack. The connection's object leads to the descriptor, behind any wrappers, by the table of types of
 * src/gobin. The address of a hit says where the program is loaded.
 */
#define GO_DEEP 4		/* connections inside of connections */

/* Calling convention: cmd/compile/abi-internal.md of the Go sources. */
#if defined(__TARGET_ARCH_x86)
#define GO_ARG1(r) (r)->ax	/* also the first result */
#define GO_ARG2(r) (r)->bx
#define GO_ARG3(r) (r)->cx
#define GO_REG_G(r) (r)->r14
#define GO_IP(r) (r)->ip
#define GO_RESTARTS(r) ((r)->flags & 0x41)	/* carry, zero */
#elif defined(__TARGET_ARCH_arm64)
#define GO_ARG1(r) (r)->regs[0]
#define GO_ARG2(r) (r)->regs[1]
#define GO_ARG3(r) (r)->regs[2]
#define GO_REG_G(r) (r)->regs[28]
#define GO_IP(r) (r)->pc
#define GO_RESTARTS(r) (!((r)->pstate & 1ull << 29) || (r)->pstate & 1ull << 30)	/* carry, zero */
#endif

struct go_key {
	__u64 g, tgid;
};

struct go_inside {
	__u64 object, buffer;
	__u64 stack_end, depth;	/* of the stack pointer below its end */
	__u32 fn;		/* CALL_TLS_GO_READ, _WRITE; 0 = none */
	__u32 on_stack;		/* the buffer moves with the stack */
};

MAP(call_tls_go_insides, LRU_HASH, 65536, struct go_key, struct go_inside);

MAP_FLAGS(call_tls_go_programs, HASH, BPF_F_NO_PREALLOC, 65536, __u32 /* number of the program */,
	  struct call_tls_go_program);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct call_tls_go_key);
	__type(value, struct call_tls_go_type);
} call_tls_go_types SEC(".maps");

/* An interface: struct itab of runtime2.go, whose second word is the dynamic type, and the value. */
struct go_iface {
	__u64 itab, data;
};
#define GO_ITAB_TYPE 8

/* The bounds of a goroutine's stack: the first members of g. */
struct go_stack {
	__u64 lo, hi;
};

static __always_inline __u64 go_user_word(__u64 addr)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)addr);
	return word;
}

/* A connection on the way to its descriptor. */
struct go_way {
	__u64 object, type, bias;
	__u64 module;
	__u64 netfd;		/* the end of the way; 0 = not there yet */
};

static __always_inline const struct call_tls_go_type *go_type(const struct go_way *w, __u64 type)
{
	struct call_tls_go_key key = { .type = type - w->bias, .module = w->module };

	return bpf_map_lookup_elem(&call_tls_go_types, &key);
}

static __always_inline bool go_through_iface(struct go_way *w, __u64 addr, bool maybe)
{
	struct go_iface c;
	__u64 type;

	if (bpf_probe_read_user(&c, sizeof(c), (void *)addr) || !c.itab || !c.data)
		return false;
	type = go_user_word(c.itab + GO_ITAB_TYPE);
	if (maybe && !go_type(w, type))
		return false;
	w->type = type;
	w->object = c.data;
	return true;
}

static __always_inline bool go_through_pointer(struct go_way *w, const struct call_tls_go_type *t, __u32 way)
{
	__u64 to = t->direct ? w->object : go_user_word(w->object + t->off[way]);

	if (!to)
		return false;
	w->object = to;
	w->type = t->inner[way] + w->bias;
	if (t->how[way] == CALL_TLS_GO_FD)
		w->netfd = to;
	return true;
}

/* To the connection inside, by the first way that is not nil. False: there is none. */
static __noinline int go_step(struct go_way *w)
{
	const struct call_tls_go_type *t = w ? go_type(w, w->type) : NULL;

	if (!w || !t)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < CALL_TLS_GO_WAYS; i++) {
		__u8 how = t->how[i];

		if (!how)
			return 0;
		if (how == CALL_TLS_GO_FD || how == CALL_TLS_GO_POINTER ?
			    go_through_pointer(w, t, i) :
			    go_through_iface(w, w->object + t->off[i], how == CALL_TLS_GO_MAYBE))
			return 1;
	}
	return 0;
}

/* Cookie of the socket behind the TLS connection at @conn, if it carries TLS that is watched; else 0. */
static __always_inline __u64 go_socket(__u64 conn, __u32 number, __u64 bias)
{
	const struct call_tls_go_program *p = bpf_map_lookup_elem(&call_tls_go_programs, &number);
	struct go_way w = { .bias = bias, .module = number };
	struct sock *sk;
	__s32 fd = -1;

	if (!p || !go_through_iface(&w, conn + p->conn, false))
		return 0;
#pragma unroll
	for (__u32 i = 0; i < GO_DEEP; i++)
		if (!w.netfd && !go_step(&w))
			return 0;
	if (!w.netfd || bpf_probe_read_user(&fd, sizeof(fd), (void *)(w.netfd + p->sysfd)) || fd < 0)
		return 0;
	sk = task_file_sock(fd);
	return sk ? BPF_CORE_READ(sk, __sk_common.skc_cookie.counter) : 0;
}

/* Bytes read or written. */
struct go_done {
	__u64 buffer, cookie;	/* of the socket; 0 = unknown */
	__u32 size;
};

/* The socket of the connection at @object; it carries TLS that is watched. */
static __always_inline __u64 go_tls_socket(const struct bpf_user_regs *regs, __u64 object, __u64 cookie)
{
	__u64 socket = go_socket(object, cookie >> CALL_TLS_GO_MODULE_SHIFT & 0xffff,
				 GO_IP(regs) - (cookie >> CALL_TLS_GO_ADDR_SHIFT));

	return bpf_map_lookup_elem(&call_tls_conns, &socket) ? socket : 0;
}

static __always_inline bool go_size_is_good(__s64 size)
{
	return size > 0 && size < 1 << 30;
}

/*
 * True if it is an operation already: a write counts from its entry, since another goroutine may read the answer
 * before it returns. The first one of a connection may begin with the handshake: its socket is known at the return.
 */
static __always_inline bool go_entered(const struct bpf_user_regs *regs, __u32 tgid, __u64 cookie,
				       struct go_done *ret)
{
	struct go_key key = { .g = GO_REG_G(regs), .tgid = tgid };
	struct go_inside in = { .object = GO_ARG1(regs), .buffer = GO_ARG2(regs), .fn = cookie & 0xff };
	struct go_inside *last = bpf_map_lookup_elem(&call_tls_go_insides, &key);
	struct go_stack stack;

	if (last)
		last->fn = 0;
	if (GO_RESTARTS(regs) || bpf_probe_read_user(&stack, sizeof(stack), (void *)key.g))
		return false;
	if (in.fn == CALL_TLS_GO_WRITE) {
		*ret = (struct go_done){ .buffer = in.buffer, .size = GO_ARG3(regs) };
		ret->cookie = go_tls_socket(regs, in.object, cookie);
		if (ret->cookie)
			return go_size_is_good(GO_ARG3(regs));
	}
	in.stack_end = stack.hi;
	in.depth = stack.hi - regs->sp;
	in.on_stack = in.buffer >= stack.lo && in.buffer < stack.hi;
	bpf_map_update_elem(&call_tls_go_insides, &key, &in, BPF_ANY);
	return false;
}

/* False if nothing was read or written, or the entry was not kept. The connection is open until then. */
static __always_inline bool go_returned(const struct bpf_user_regs *regs, __u32 tgid, __u64 cookie,
					struct go_done *ret)
{
	struct go_key key = { .g = GO_REG_G(regs), .tgid = tgid };
	struct go_inside *in = bpf_map_lookup_elem(&call_tls_go_insides, &key);
	struct go_stack stack;

	if (!in || in->fn + (CALL_TLS_GO_READ_END - CALL_TLS_GO_READ) != (cookie & 0xff) ||
	    bpf_probe_read_user(&stack, sizeof(stack), (void *)key.g) || stack.hi - regs->sp != in->depth)
		return false;
	in->fn = 0;
	if (!go_size_is_good(GO_ARG1(regs)))
		return false;
	ret->buffer = in->buffer + (in->on_stack ? stack.hi - in->stack_end : 0);
	ret->size = GO_ARG1(regs);
	ret->cookie = go_tls_socket(regs, in->object, cookie);
	return true;
}

/* An entry of crypto/tls, or a return: is it an operation? In a frame of its own, beside those of tls_operated(). */
static __noinline int go_op(struct call_tls_op *op, struct bpf_user_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 fn = cookie & 0xff, tgid = op->task->tgid;
	struct go_done done = { 0 };
	bool entry = fn == CALL_TLS_GO_READ || fn == CALL_TLS_GO_WRITE;

	if (entry && !select_task_of(tgid))
		return 0;
	if (!(entry ? go_entered(regs, tgid, cookie, &done) : go_returned(regs, tgid, cookie, &done)))
		return 0;
	op->in.buffer = done.buffer;
	op->cookie = done.cookie;
	op->size = done.size;
	op->by = CALL_TLS_BY_DESCRIPTOR;
	op->dir = fn == CALL_TLS_GO_WRITE || fn == CALL_TLS_GO_WRITE_END ? CALL_TX : CALL_RX;
	return 1;
}

static __always_inline int go_hit(struct bpf_user_regs *regs)
{
	struct call_tls_op op = { .task = bpf_get_current_task_btf(), .source = CALL_SOURCE_GOTLS };

	return go_op(&op, regs) ? tls_operate(&op, 0) : 0;
}

PROGRAM("uprobe.multi", call_tls_enter_multi, tls_entered(regs), struct bpf_user_regs *regs)
PROGRAM("uprobe", call_tls_enter_single, tls_entered(regs), struct bpf_user_regs *regs)
PROGRAM("uretprobe.multi", call_tls_return_multi, tls_returned(regs), struct bpf_user_regs *regs)
PROGRAM("uretprobe", call_tls_return_single, tls_returned(regs), struct bpf_user_regs *regs)
PROGRAM("uprobe.multi", call_gotls_multi, go_hit(regs), struct bpf_user_regs *regs)
PROGRAM("uprobe", call_gotls_single, go_hit(regs), struct bpf_user_regs *regs)
