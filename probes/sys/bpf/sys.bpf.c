// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * System calls, one record each: two tracepoint programs that every call of the host passes.
 *
 * A call that is not selected costs one table lookup. On the way of most selected calls each call of a function
 * counts, of the kernel's as of these programs' own: it costs as much as a third of the record (decision 15).
 *
 * No program here sleeps, and all run with preemption disabled, so they own the per-CPU scratch memory.
 */
#include "bpf/ident_file.bpf.h"
#include "bpf/ident_go.bpf.h"
#include "bpf/kernel.h"
#include "bpf/plain.bpf.h"
#include "bpf/preempt.bpf.h"
#include "probes/sys/bpf/sys_call.bpf.h"
#include "probes/sys/bpf/sys_fetch.bpf.h"
#include "probes/sys/bpf/sys_kernel_ctx.bpf.h"
#include "probes/sys/bpf/sys_pred.bpf.h"
#include "probes/sys/bpf/sys_select.bpf.h"
#include "probes/sys/syscalls_bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

const volatile struct sys_plan sys_plans[SYS_PLAN_ABIS * SYS_NR_MAX] = { SYS_PLANS };
const volatile struct sys_plan sys_form_plans[SYS_FORMS_MAX] = { SYS_FORMS };
_Static_assert(SYS_N_FORMS <= SYS_FORMS_MAX, "forms.tsv fits");

/* ---- losses by system call ---- */

/* By slot; the last: numbers without a table row. */
MAP(sys_lost, PERCPU_ARRAY, (SYS_PLAN_ABIS * SYS_NR_MAX + 1), __u32, __u64);

/* Changes with every loss, so that user space reads the map only after a loss. Lost increments do no harm. */
__u64 sys_lost_changes = 0;

static __noinline int call_lost(__u32 slot)
{
	__u64 *n;

	if (slot > SYS_PLAN_ABIS * SYS_NR_MAX)
		slot = SYS_PLAN_ABIS * SYS_NR_MAX;
	n = bpf_map_lookup_elem(&sys_lost, &slot);
	if (n)
		(*n)++;
	sys_lost_changes++;
	return 0;
}

/*
 * ---- the file and the socket behind the call's descriptor ----
 *
 * Number, cookie, bytes of the TCP stream. A file that is new here gets its record (struct sys_file_rec) before the
 * call's own.
 */

#define MSG_OOB 1
#define MSG_PEEK 2
#define SOCK_DONE 1	/* bit of skc_flags: the peer's FIN arrived */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_connection_sock___file {
	void *icsk_ulp_ops;
};

struct tcp_sock___ident {
	struct inet_connection_sock___file inet_conn;
	__u32 rcv_nxt, copied_seq, write_seq;
};

#pragma clang attribute pop

/* Reports the file of s->ask. Returns 1, or 0 if the rings have no room. */
__noinline int file_report(void)
{
	struct sys_scratch *s = my_scratch();
	struct sys_file_rec *r;
	struct sonde_ledger *l;
	__u32 len;

	if (!ident_typed() || !s)
		return 0;
	l = ledger_row(SYS_LEDGER_FILE);
	if (!l)
		return 0;
	r = (void *)s->data;
	__builtin_memset(r, 0, sizeof(*r));
	len = file_read();
	barrier_var(len); /* the compiler knows the function's range and would drop the mask, the verifier does not */
	len &= 2 * PATH_BYTES - 1;
	r->hdr.ts_ns = s->ask.now_ns;
	r->hdr.len = sizeof(*r) + len;
	r->hdr.type = SYS_REC_FILE;
	r->hdr.cpu = bpf_get_smp_processor_id();
	r->hdr.tgid = s->ask.tgid;
	r->hdr.tid = s->ask.tid;
	r->hdr.start_ns = s->ask.start_ns;
	r->hdr.seq = l->seq + 1;
	r->hdr.instance = sonde_instance;
	r->hdr.flags = SYS_LEDGER_FILE | SONDE_RF_FACT;
	r->number = s->ask.number;
	r->sock = s->id.sock;
	r->epoch = ident_file_epoch;
	r->path_len = len;
	return rec_output_fact(l, LANE_LIFE, &r->hdr, sizeof(*r) + len) == 0;
}

/* ---- bytes of a TCP stream ---- */

/* Flags of recvfrom() and recvmsg(); other calls have none. */
static __always_inline __u32 receive_flags(const struct call *c)
{
	const volatile struct sys_plan *plan = plan_of(c);

	if (c->n_args == 6)
		return arg_at(c, 3);
	return plan->n_mem && plan->ops[0].op == SYS_OP_MSG ? arg_at(c, 2) : 0;
}

/* A read that reached the end of the stream took the FIN's sequence number as well. */
static __always_inline __u32 received_end(const struct sock___ident *sk, const struct tcp_sock___ident *tcp)
{
	__u32 end = tcp->copied_seq;

	if (end != tcp->rcv_nxt)
		return end;
	return end - (sk->__sk_common.skc_flags >> SOCK_DONE & 1);
}

/* The bytes that the call moved: as many as its result says. */
static __always_inline void find_range(struct sonde_ident *id, const struct sys_file_ask *ask,
				       const struct sock___ident *sk, struct ident_file_cell *cell, __u32 todo)
{
	const struct tcp_sock___ident *tcp;
	__u32 end, *told, len = ask->ret;

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	tcp = IDENT_AT(sk, tcp_sock);
	/* with an upper layer (kTLS) the stream has other bytes than the program */
	if (tcp->inet_conn.icsk_ulp_ops)
		return;
	if (todo & SYS_DO_SENDS) {
		end = tcp->write_seq;
		told = cell ? &cell->sent_end : NULL;
		id->flags = SONDE_ID_F_TX;
	} else {
		id->flags = ask->flags & MSG_PEEK ? SONDE_ID_F_PEEK : 0;
		if (ask->flags & (MSG_PEEK | MSG_OOB))
			return;
		end = received_end(sk, tcp);
		told = cell ? &cell->received_end : NULL;
		id->flags = SONDE_ID_F_RX;
	}
	id->seq = end - len;
	id->seq_len = len;
	if (told) {
		if (*told && *told != id->seq)
			id->flags |= SONDE_ID_F_SHARED_RANGE;
		*told = end;
	}
}

/* ---- the call's descriptor ---- */

/* s->ask has the caller. */
static __noinline int name_new_file(__u64 addr, const void *sk, const struct ident_file_look *look)
{
	struct sys_scratch *s = my_scratch();
	__u64 number = ident_file_number();

	if (!s)
		return 0;
	s->ask.addr = addr;
	s->ask.sk = (__u64)sk;
	s->ask.number = number;
	if (file_report())
		ident_file_put(look, number);
	s->id.file = number;
	return 0;
}

/* Fills the file's part of s->id, zero before, with the file behind @fd of @task. @typed: @task has its type. */
static __always_inline void find_file(struct sys_scratch *s, struct task_struct *task, bool typed, __u32 fd,
				      __u32 todo)
{
	__u64 addr = ident_file_of_fd(task, fd, typed);
	struct ident_file_cell *cell;
	struct ident_file_look look;
	struct sock___ident *sk;

	if (!addr)
		return;
	sk = ident_file_look(addr, &look, &s->id.sock);
	s->id.file_how = SONDE_HOW_LOOKUP;
	cell = ident_file_find(&look);
	if (cell)
		s->id.file = cell->number;
	else
		name_new_file(addr, sk, &look);
	if (sk && todo & (SYS_DO_SENDS | SYS_DO_RECEIVES) && (__s32)s->ask.ret > 0)
		find_range(&s->id, &s->ask, sk, cell, todo);
}

static __noinline __u32 arg_far(const struct call *c, __u32 n)
{
	__u64 args[6];

	regs_args(c->regs, c->abi, args, 6);
	return n == 4 ? args[4] : n == 5 ? args[5] : arg_at(c, n);
}

/* The call's descriptor at entry (@entry, a constant) or exit: an argument, or a result. -1 = none. */
static __always_inline __u32 fd_of(const struct call *c, __u32 todo, bool entry)
{
	__u32 n = todo >> SYS_DO_FD_SHIFT & 7;

	if (n == SYS_DO_FD_RET)
		return entry || (__s64)c->ret < 0 ? ~0u : (__u32)c->ret;
	return n == 1 ? arg_at(c, 0) : arg_far(c, n - 1);
}

/* ---- identity ---- */

/* The caller's part of @id, but for the goroutine; the rest becomes 0. */
static __always_inline void ident_caller(struct sonde_ident *id, struct task_struct *task, __u32 tgid, __u64 start_ns)
{
	ident_keys(id, ident_image_number(tgid, start_ns, TASK_GET(task, self_exec_id)), task_cgroup(task),
		   task_netns(task));
}

/*
 * Identity of the call's record, in s->id: the caller in s->ask, and the file behind @fd. Global: the verifier would
 * walk it for each kind of record. Kernels without typed loads name no files: their verifiers refuse programs of this
 * length.
 */
__noinline int identify(__u32 fd, __u32 todo)
{
	struct sys_scratch *s = my_scratch();
	struct task_struct *task;

	if (!s)
		return 0;
	task = HAS_TYPE(task_struct) ? TYPED(s->ask.task, task_struct) : this_task();
	ident_caller(&s->id, task, s->ask.tgid, s->ask.start_ns);
	ident_go(&s->id, s->ask.tgid, s->ask.start_ns, true);
	if (!ident_typed())
		return 0;
	if (todo & SYS_DO_CLOSE) {
		s->id.file = s->ask.kept_file;
		s->id.sock = s->ask.kept_sock;
		s->id.file_how = s->id.file ? SONDE_HOW_LOOKUP : 0;
	} else if (todo & SYS_DO_FD_MASK) {
		find_file(s, task, typed_task(), fd, todo);
	}
	return 0;
}

/* The same for call @c. @entry, a constant: it has not run yet. */
static __always_inline void identify_call(const struct call *c, __u32 todo, bool entry)
{
	struct sys_scratch *s = my_scratch();

	if (!s)
		return;
	s->ask.now_ns = c->now_ns;
	s->ask.start_ns = c->start_ns;
	s->ask.tgid = c->tgid;
	s->ask.tid = c->tid;
	s->ask.task = (__u64)c->task;
	s->ask.ret = entry ? 0 : c->ret;
	s->ask.flags = !entry && todo & SYS_DO_RECEIVES ? receive_flags(c) : 0;
	identify(todo & SYS_DO_FD_MASK ? fd_of(c, todo, entry) : ~0u, entry ? todo & ~SYS_DO_CLOSE : todo);
}

/* A call that closes its descriptor: the file is there at entry only. */
static __noinline int keep_file(struct pt_regs *regs, long nr, __u64 now_ns)
{
	__u64 stack = stack_of(regs);
	struct sys_slot *s = slot_of(stack);
	struct call c = { .regs = regs, .task = this_task(), .now_ns = now_ns };
	struct sys_scratch *scratch;
	__u32 todo;

	if (!ident_typed())
		return 0;
	caller_is(&c, c.task, true);
	todo = do_call(&c, nr);
	if (s->owner != stack || !(todo & SYS_DO_CLOSE) || is_excluded(c.tgid) || !select_caller(c.tgid))
		return 0;
	identify_call(&c, todo, true);
	scratch = my_scratch();
	if (scratch) {
		s->file = scratch->id.file;
		s->sock = scratch->id.sock;
	}
	return 0;
}

/* Takes the file that keep_file() noted at entry. */
static __noinline int kept_file(struct sys_slot *slot, __u64 stack)
{
	struct sys_scratch *s = my_scratch();
	bool mine = slot->owner == stack;

	if (!s)
		return 0;
	s->ask.kept_file = mine ? slot->file : 0;
	s->ask.kept_sock = mine ? slot->sock : 0;
	if (mine)
		slot->file = slot->sock = 0;
	return 0;
}

/* ---- records of a fixed size, written in place ---- */

const volatile bool sys_context = false;	/* also kernel state: SYS_OP_SOCK and above */
const volatile bool sys_payload = false;	/* sys_snaplen > 0 */

#define SIGNAL_GROUP_EXIT 4
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

/* SYS_F_KILLED if the whole process of the current task is about to exit. */
static __noinline int is_dying(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT ? SYS_F_KILLED : 0;
}

/* All of the record up to args[]. @bytes: length of the whole. */
static __always_inline void rec_head(struct sys_rec *r, const struct call *c, const struct sonde_ledger *l,
				     __u16 type, __u16 class, __u32 bytes)
{
	r->hdr.ts_ns = c->now_ns;
	r->hdr.len = bytes;
	r->hdr.type = type;
	r->hdr.cpu = bpf_get_smp_processor_id();
	r->hdr.tgid = c->tgid;
	r->hdr.tid = c->tid;
	r->hdr.start_ns = c->start_ns;
	r->hdr.seq = l->seq + 1;
	r->hdr.instance = sonde_instance;
	r->hdr.flags = class | SONDE_RF_IDENT;
	r->ret = c->ret;
	r->latency_ns = c->latency_ns;
	r->nr = c->nr;
	r->abi = c->abi;
	r->n_args = c->n_args;
	r->flags = 0;
	if (-c->ret - ERESTARTSYS <= ERESTART_RESTARTBLOCK - ERESTARTSYS)
		r->flags = is_dying();
}

/* @room: number of args[] in the record, a constant. The identity is that of the last identify(). */
static __always_inline void rec_fill(struct sys_rec *r, const struct call *c, const struct sonde_ledger *l,
				     __u16 type, __u16 class, __u32 room, __u32 chunks_len)
{
	const struct sys_scratch *s = my_scratch();

	rec_head(r, c, l, type, class, SYS_REC_BYTES(room) + chunks_len);
	if (s)
		r->id = s->id;
	if (room < 6)
		r->flags |= SYS_F_SHORT;
	r->chunks_len = chunks_len;
	regs_args(c->regs, c->abi, r->args, room);
}

#define DATA_MOST 1024	/* longest payload that is read in place, bytes */

/* Writes a record of @room arguments and @bytes of payload in place; both are constants. */
static __always_inline int send_data(const struct call *c, struct sonde_ledger *l, __u64 addr, __u64 len, __u32 room,
				     __u32 bytes)
{
	const __u32 most = SYS_REC_BYTES(room) + sizeof(struct sys_chunk) + bytes;
	struct sonde_plain_head *plain = NULL;
	struct sys_rec *r = plain_there() ? plain_reserve(&plain, l) : rec_reserve(l, LANE_BULK, most);
	struct sys_chunk *chunk = (void *)r + SYS_REC_BYTES(room);
	__u32 take = len > sys_snaplen ? sys_snaplen : len;

	_Static_assert(SYS_REC_BYTES(6) + sizeof(*chunk) + DATA_MOST + SONDE_PLAIN_REC <= SONDE_PLAIN_MOST, "fits");
	if (!r)
		return call_lost(c->slot);
	chunk->arg = 1;
	chunk->what = SYS_CHUNK_DATA;
	chunk->flags = take < len ? SYS_CHUNK_F_CUT : 0;
	barrier_var(take);
	if (take > bytes)
		take = bytes;
	/* zero the padding after the payload, so that no old bytes leave the ring (@bytes is a power of two) */
	*(__u64 *)((void *)(chunk + 1) + ((take - 1) & (bytes - 8))) = 0;
	if (bpf_probe_read_user(chunk + 1, take, (void *)addr)) {
		chunk->flags |= SYS_CHUNK_F_FAULT;
		take = 0;
	}
	chunk->len = take;
	rec_fill(r, c, l, SYS_REC_EXIT, SYS_LEDGER_CALL, room, sizeof(*chunk) + ((take + 7) & ~7u));
	if (chunk->flags & SYS_CHUNK_F_FAULT)
		r->flags |= SYS_F_FAULT;
	if (plain_there())
		plain_submit(plain, l, r, r->hdr.len);
	else
		rec_submit(l, LANE_BULK, r);
	return 0;
}

/* ---- registers only, as many as the call has ---- */

static __always_inline int send_room(const struct call *c, struct sonde_ledger *l, __u16 type, __u32 room)
{
	struct sys_rec *r = rec_reserve(l, LANE_BULK, SYS_REC_BYTES(room));

	if (!r)
		return call_lost(c->slot);
	rec_fill(r, c, l, type, SYS_LEDGER_CALL, room, 0);
	rec_submit(l, LANE_BULK, r);
	return 0;
}

/* Is the identity of the call's record known without identify()? Asking for it costs as much as the record. */
static __always_inline bool can_fill(__u32 tgid, __u32 todo)
{
	return plain_there() && typed_task() && !(todo & (SYS_DO_CLOSE | SYS_DO_FD_MASK)) && !go_layout(tgid);
}

/* The same into the mmap ring. @bare: no file and no goroutine, see can_fill(); a constant. */
static __always_inline int send_plain(const struct call *c, struct sonde_ledger *l, __u16 type, bool bare)
{
	__u32 room = !c->n_args ? 0 : c->n_args <= 3 ? 3 : 6;
	const struct sys_scratch *s = bare ? NULL : my_scratch();
	struct sonde_plain_head *plain = NULL;
	struct sys_rec *r = plain_reserve(&plain, l);

	if (!r)
		return call_lost(c->slot);
	rec_head(r, c, l, type, SYS_LEDGER_CALL, SYS_REC_BYTES(room));
	if (bare)
		ident_caller(&r->id, c->task, c->tgid, c->start_ns);
	else if (s)
		r->id = s->id;
	if (room < 6)
		r->flags |= SYS_F_SHORT;
	r->chunks_len = 0;
	if (room)
		regs_args(c->regs, c->abi, r->args, 3);
	if (room > 3)
		regs_args(c->regs, c->abi, r->args, 6);
	plain_submit(plain, l, r, SYS_REC_BYTES(room));
	return 0;
}

static __always_inline int send_small(const struct call *c, struct sonde_ledger *l, __u16 type, __u32 n_args)
{
	if (plain_there())
		return send_plain(c, l, type, false);
	if (!n_args)
		return send_room(c, l, type, 0);
	if (n_args <= 3)
		return send_room(c, l, type, 3);
	return send_room(c, l, type, 6);
}

static __noinline int send_numbers(const struct call *c, struct sonde_ledger *l, __u16 type)
{
	return send_small(c, l, type, c->n_args);
}

/* Value of argument @n, or of the result (SYS_N_RET). */
static __always_inline __u64 number_of(const struct sys_scratch *s, __u32 n)
{
	if (n == SYS_N_RET)
		return s->rec.ret;
	return n < 6 ? s->rec.args[n] : 0;
}

static __always_inline __u64 int_at(const struct sys_scratch *s, __u32 n)
{
	__u32 v = 0;

	if (n < 6)
		bpf_probe_read_user(&v, sizeof(v), (void *)s->rec.args[n]);
	return v;
}

/* Valid bytes of a vector: all of a vector to write, as many as the result says of one to read. */
static __always_inline __u64 io_bytes(const struct sys_scratch *s, __u32 when)
{
	if (!(when & SYS_WHEN_OUT))
		return ~0ull;
	return s->rec.ret > 0 ? s->rec.ret : 0;
}

/* A failed receive: only the header of the message is valid. */
static __always_inline bool is_refused(const struct sys_scratch *s, __u32 when)
{
	return when & SYS_WHEN_OUT && (__s64)s->rec.ret < 0;
}

/* Steps that read kernel state. */
__noinline int run_context(__u32 op, __u32 arg)
{
	struct sys_scratch *s = my_scratch();
	__u64 fd;

	if (!s)
		return 0;
	fd = number_of(s, arg);
	if (op == SYS_OP_SOCK)
		return ctx_sock(arg, fd);
	if (op == SYS_OP_FILE)
		return ctx_file(arg, fd);
	if (op == SYS_OP_VM)
		return ctx_memory();
	if (op == SYS_OP_PAIR && arg < 6) {
		int pair[2];

		if (bpf_probe_read_user(pair, sizeof(pair), (void *)s->rec.args[arg]))
			return 0;
		ctx_file(arg, pair[0]);
		return ctx_sock(arg, pair[0]);
	}
	return 0;
}

/*
 * Messages that were sent or received, or all of them if the call failed. Inlined: read_msg() needs the rest of the
 * call depth.
 */
static __always_inline int run_mmsg(const struct sys_scratch *s, __u32 arg, __u64 addr, __u64 count, __u32 when,
				    __u32 compat)
{
	__s64 ret = s->rec.ret;

	if (ret > 0 || when & SYS_WHEN_OUT)
		count = ret;
	for (__u32 i = 0; i < SYS_MMSG_MAX; i++) {
		__u64 at = addr + i * (compat ? sizeof(struct sys_msghdr32) + 4 : sizeof(struct sys_msghdr) + 8);
		__u32 len = 0;

		if (i >= count)
			break;
		if (ret > 0)
			bpf_probe_read_user(&len, sizeof(len), (void *)at + (compat ? sizeof(struct sys_msghdr32) :
									      sizeof(struct sys_msghdr)));
		read_msg(arg, at, when & SYS_WHEN_OUT ? len : ~0ull, compat, len);
	}
	return 0;
}

/* Bytes of a set of @bits, at most @most of them, in whole words of the ABI. */
static __always_inline __u32 set_bytes(__u64 bits, __u32 most, __u32 compat)
{
	const __u32 n = bits > most ? most : (__u32)bits;

	return compat ? (n + 31) / 32 * 4 : (n + 63) / 64 * 8;
}

#define NODES_BYTES 256u

/* Runs step @i of plan_at(@steps). */
__noinline int run_op(__u32 steps, __u32 i)
{
	struct sys_scratch *s = my_scratch();
	const volatile struct sys_op *op;
	__u32 arg, kind, n, compat;
	__u64 addr, count;

	if (!s || i >= SYS_PLAN_OPS)
		return 0;
	op = &plan_at(steps)->ops[i];
	arg = op->arg;
	kind = op->op;
	n = op->n;
	compat = s->rec.abi == SYS_ABI_I386;
	if (arg >= 6)
		return 0;
	addr = s->rec.args[arg];
	count = number_of(s, n);
	if (!addr)
		return 0;
	if (kind == SYS_OP_STR)
		return read_str(arg, addr);
	if (kind == SYS_OP_DATA)
		return read_data(arg, addr, count);
	if (kind == SYS_OP_ADDR)
		return read_addr(arg, addr);
	if (kind == SYS_OP_MEM_N)
		return read_mem(arg, SYS_CHUNK_MEM, addr, count > 128 ? 128 : (__u32)count, 128);
	if (kind == SYS_OP_DIRENTS)
		return read_dirents(arg, addr + op->size, count > DIRENTS_BYTES ? DIRENTS_BYTES : (__u32)count);
	if (kind == SYS_OP_MEM)
		return read_mem(arg, SYS_CHUNK_MEM, addr, op->size, 1024);
	if (kind == SYS_OP_ARRAY)
		return read_mem(arg, SYS_CHUNK_MEM, addr, count > 512 ? 8192 : (__u32)count * op->size, 4096);
	if (kind == SYS_OP_FDSET)
		return read_mem(arg, SYS_CHUNK_MEM, addr, set_bytes(count, 1024, compat), 128);
	if (kind == SYS_OP_NODES) /* a word too much marks the chunk as cut */
		return read_mem(arg, SYS_CHUNK_MEM, addr, set_bytes(count - !!count, (NODES_BYTES + 8) * 8, compat),
				NODES_BYTES);
	if (kind == SYS_OP_SOCKADDR)
		return read_mem(arg, SYS_CHUNK_SOCKADDR, addr, count, SYS_ADDR_BYTES);
	if (kind == SYS_OP_SOCKADDR_LENP)
		return read_mem(arg, SYS_CHUNK_SOCKADDR, addr, int_at(s, n), SYS_ADDR_BYTES);
	if (kind == SYS_OP_DATA_LENP)
		return read_mem(arg, SYS_CHUNK_MEM, addr, int_at(s, n), 256);
	if (kind == SYS_OP_STRV)
		return read_strv(arg, addr, compat ? 4 : 8);
	if (kind == SYS_OP_IOV)
		return read_iov(arg, addr, count, io_bytes(s, op->when), compat);
	if (kind == SYS_OP_MSG)
		return read_msg(arg, addr, is_refused(s, op->when) ? MSG_HEADER_ONLY : io_bytes(s, op->when),
				compat, 0);
	if (kind == SYS_OP_MMSG)
		return run_mmsg(s, arg, addr, count, op->when, compat);
	return 0;
}

/* ---- arguments read at entry ---- */

#define KEPT_BYTES 504	/* chunks: three descriptor sets and a timeout */
#define KEPT_CALLS 4096	/* at once; if more wait, the oldest arguments are read at exit instead */

struct sys_kept {
	__u16 nr, abi;
	__u32 len;		/* of chunks, up to KEPT_BYTES */
	__u8 chunks[KEPT_BYTES];
};

/* By thread. The LRU evicts entries of threads that were killed in their call. */
MAP(sys_kepts, LRU_HASH, KEPT_CALLS, __u32, struct sys_kept);

_Static_assert(sizeof(struct sys_kept) == 8 + KEPT_BYTES, "chunks behind a multiple of 8 bytes");

/* Uses the scratch memory, like records. Memory that faults now may be present at exit. */
static __noinline int keep_args(const struct call *c)
{
	const volatile struct sys_plan *plan = plan_of(c);
	struct sys_scratch *s = my_scratch();
	struct sys_kept *kept;
	__u32 tid = c->tid;

	if (!s)
		return 0;
	kept = (void *)s->data;
	s->rec.abi = c->abi;
	s->rec.ret = 0;
	s->rec.flags = 0;
	regs_args(c->regs, c->abi, s->rec.args, 6);
	s->off = offsetof(struct sys_kept, chunks);
	for (__u32 i = 0; i < SYS_PLAN_OPS; i++) {
		if (i >= plan->n_mem)
			break;
		if (!(plan->ops[i].when & SYS_WHEN_KEEP))
			continue;
		if (plan->ops[i].op == SYS_OP_SIGMASK)
			read_mem(0, SYS_CHUNK_MEM, regs_sigmask(c->regs), 8, 8);
		else
			run_op(c->slot, i);
	}
	kept->nr = c->nr;
	kept->abi = c->abi;
	kept->len = s->off - offsetof(struct sys_kept, chunks);
	if (kept->len && kept->len <= KEPT_BYTES && !(s->rec.flags & SYS_F_FAULT))
		bpf_map_update_elem(&sys_kepts, &tid, kept, BPF_ANY);
	else
		bpf_map_delete_elem(&sys_kepts, &tid);
	return 0;
}

/* Starts the record's chunks with the kept arguments of this call. False: there are none. Global: a long copy. */
__noinline bool put_kept(__u32 tid, __u32 nr, __u32 abi)
{
	struct sys_kept *kept = bpf_map_lookup_elem(&sys_kepts, &tid);
	struct sys_scratch *s = my_scratch();
	bool same;

	if (!kept || !s)
		return false;
	same = kept->nr == nr && kept->abi == abi && kept->len <= KEPT_BYTES;
	if (same) {
		__builtin_memcpy(s->data, kept->chunks, KEPT_BYTES);
		s->off = kept->len;
	}
	bpf_map_delete_elem(&sys_kepts, &tid);
	return same;
}

/* @parent is in the clone call that creates @child, which returns from the same call. */
static __always_inline void keep_for_child(__u32 parent, __u32 child)
{
	struct sys_kept *kept = bpf_map_lookup_elem(&sys_kepts, &parent);

	if (kept)
		bpf_map_update_elem(&sys_kepts, &child, kept, BPF_ANY);
}

/* ---- records of any size, put together in scratch memory ---- */

static __always_inline void send_context(const volatile struct sys_plan *plan)
{
	__u32 i = plan->n_mem;

	if (i >= plan->n_ops || i >= SYS_PLAN_OPS)
		return;
	if (plan->ops[i].op == SYS_OP_PROC)
		ctx_proc(0);
	else
		run_context(plan->ops[i].op, plan->ops[i].arg);
}

/* Is a socket among the arguments? It then exists before the call, and after a call that is still in progress. */
static __always_inline bool names_socket(const volatile struct sys_plan *plan)
{
	__u32 i = plan->n_mem;

	return i < plan->n_ops && i < SYS_PLAN_OPS && plan->ops[i].op == SYS_OP_SOCK && plan->ops[i].arg != SYS_N_RET;
}

/* @step: conditions of the step; @now: SYS_WHEN_* that hold. */
static __always_inline bool is_due(__u32 step, __u32 now)
{
	if (step & now & SYS_WHEN_KEEP)
		return step & now & SYS_WHEN_OUT;
	return step & now;
}

/*
 * Runs the steps that read the caller's memory. Kept arguments come first: the kernel may have overwritten the
 * memory, and its new content follows. A new task reads nothing, because it may share the memory with its parent.
 */
static __always_inline void read_memory(struct sys_scratch *s, const struct call *c, __u16 type, __u32 when,
					__u32 steps)
{
	const volatile struct sys_plan *plan = plan_at(steps);

	if (type == SYS_REC_EXIT) {
		if (put_kept(c->tid, c->nr, c->abi))
			when |= SYS_WHEN_KEEP;
		if (is_newborn(c))
			when = 0;
	}
	for (__u32 i = 0; i < SYS_PLAN_OPS; i++) {
		if (i >= plan->n_mem)
			break;
		if (is_due(plan->ops[i].when, when))
			run_op(steps, i);
	}
}

/* Builds a record in scratch memory and sends it. @when: SYS_WHEN_* that hold; @steps: of steps_of(). */
static __noinline int send_scratch(const struct call *c, struct sonde_ledger *l, __u16 type, __u32 when, __u32 steps)
{
	const volatile struct sys_plan *plan = plan_of(c);
	bool life = plan->flags & SYS_PLAN_LIFE;
	struct sys_scratch *s = my_scratch();
	__u32 len;

	if (!s)
		return 0;
	rec_fill(&s->rec, c, l, type, life ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL, 6, 0);
	s->off = 0;
	s->payload = sys_snaplen;
	read_memory(s, c, type, when, steps);
	if (plan->flags & SYS_PLAN_EXEC && s->rec.ret == 0 && type == SYS_REC_EXIT)
		ctx_proc(1);
	else if (sys_context && (when & SYS_WHEN_OUT || names_socket(plan)))
		send_context(plan);
	len = s->off;
	if (len > SYS_DATA_BYTES - 8)
		len = 0;
	s->rec.chunks_len = len;
	s->rec.hdr.len = sizeof(s->rec) + len;
	if (rec_output(l, life ? LANE_LIFE : LANE_BULK, &s->rec.hdr, sizeof(s->rec) + len) < 0)
		call_lost(c->slot);
	return 0;
}

/* Does any step apply? Payload counts only if it is captured. */
static __always_inline bool has_chunks(const volatile struct sys_plan *plan, const struct call *c, __u32 when)
{
	if (sys_context && when & SYS_WHEN_OUT && plan->n_ops > plan->n_mem)
		return true;
	if (!plan->n_mem)
		return false;
	if (plan->n_mem == 1 && plan->ops[0].op == SYS_OP_DATA)
		return sys_payload && plan->ops[0].when & when;
	return true;
}

#define CLASS_NONE 1	/* no payload */

/* Size class of a payload that can be read in place, with its address and length; 0 = it cannot. */
static __always_inline __u32 data_class(const volatile struct sys_plan *plan, const struct call *c, __u64 *ret_addr,
					__u64 *ret_len)
{
	__u32 n = plan->ops[0].n, take;
	__u64 args[3];

	/* almost all calls pass the buffer second and its length third */
	if (!sys_payload || sys_context || plan->n_mem != 1 || plan->ops[0].op != SYS_OP_DATA ||
	    plan->ops[0].arg != 1 || (n != SYS_N_RET && n != 2))
		return 0;
	regs_args(c->regs, c->abi, args, 3);
	*ret_addr = args[1];
	*ret_len = n == SYS_N_RET ? c->ret : args[2];
	take = *ret_len > sys_snaplen ? sys_snaplen : *ret_len;
	if (!take || !args[1])
		return CLASS_NONE;
	if (take <= 64 && c->n_args <= 3)
		return 64;
	return take <= 256 ? 256 : take <= DATA_MOST ? DATA_MOST : 0;
}

static __always_inline int send_exit(const struct call *c, struct sonde_ledger *l, __u32 todo)
{
	const volatile struct sys_plan *plan = plan_of(c);
	__u32 when = SYS_WHEN_IN | ((__s64)c->ret >= 0 ? SYS_WHEN_OUT : 0) |
		     (c->ret == -(__u64)ERESTART_RESTARTBLOCK ? SYS_WHEN_BROKEN : 0);
	bool scratch = todo & SYS_DO_LIFE;
	__u64 addr = 0, len = 0;
	__u32 steps;

	if (c->slot == SLOT_NONE)
		return send_numbers(c, l, SYS_REC_EXIT);
	steps = steps_of(c);
	/* after exec the registers hold no arguments */
	if (plan->flags & SYS_PLAN_EXEC && !c->ret)
		when = 0;
	if (!scratch && has_chunks(plan_at(steps), c, when)) {
		switch (data_class(plan_at(steps), c, &addr, &len)) {
		case CLASS_NONE: return send_numbers(c, l, SYS_REC_EXIT);
		case 64: return send_data(c, l, addr, len, 3, 64);
		case 256: return send_data(c, l, addr, len, 6, 256);
		case DATA_MOST: return send_data(c, l, addr, len, 6, DATA_MOST);
		}
		scratch = true;
	}
	return scratch ? send_scratch(c, l, SYS_REC_EXIT, when, steps) : send_numbers(c, l, SYS_REC_EXIT);
}

/* ---- programs ---- */

static __always_inline __u32 args_of(__u32 todo)
{
	return todo >> SYS_DO_ARGS_SHIFT & 7;
}

/* Also reports calls that never return, whatever the selection. */
static __noinline int enter_record(struct pt_regs *regs, long nr, __u64 now_ns)
{
	struct call c = { .regs = regs, .task = this_task(), .now_ns = now_ns };
	struct sonde_ledger *l;
	__u32 todo;

	caller_is(&c, c.task, true);
	todo = do_call(&c, nr);
	c.n_args = args_of(todo);
	if (!(todo & (SYS_DO_ENTER | SYS_DO_KEEP)))
		return 0;
	if (todo & SYS_DO_ENTER ? drops_excluded(c.tgid, SYS_LEDGER_CALL) : is_excluded(c.tgid))
		return 0;
	/* exec may turn an unselected process into a selected one */
	if (todo & SYS_DO_KEEP && (plan_of(&c)->flags & SYS_PLAN_EXEC || select_caller(c.tgid)))
		keep_args(&c);
	if (!(todo & SYS_DO_ENTER))
		return 0;
	l = ledger_seen(todo & SYS_DO_LIFE ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL);
	if (!l)
		return 0;
	if (!select_caller(c.tgid) || (!(todo & SYS_DO_STATE) && !pred_call(&c))) {
		rec_filtered(l);
		return 0;
	}
	identify_call(&c, todo, true);
	if (c.slot != SLOT_NONE) {
		__u32 steps = steps_of(&c);

		if (todo & SYS_DO_LIFE || has_chunks(plan_at(steps), &c, SYS_WHEN_IN))
			return send_scratch(&c, l, SYS_REC_ENTER, SYS_WHEN_IN, steps);
	}
	return send_numbers(&c, l, SYS_REC_ENTER);
}

/* Counts a call that the budget leaves out, and drops its entry time, which the next call would take for its own. */
static __noinline int sample_out(struct pt_regs *regs)
{
	__u64 stack = stack_of(regs);
	struct sonde_ledger *l;

	time_exit(slot_of(stack), stack, 0);
	if (drops_excluded(bpf_get_current_pid_tgid() >> 32, SYS_LEDGER_CALL))
		return 0;
	l = ledger_seen(SYS_LEDGER_CALL);
	if (l)
		rec_sampled(l);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG_NOPREEMPT(sys_enter, struct pt_regs *regs, long nr)
{
	__u32 todo = do_any(nr, false, 0);
	__u64 now_ns;

	if (!(todo & (SYS_DO_TIME | SYS_DO_ENTER | SYS_DO_KEEP)))
		return 0;
	if (is_closed(todo))
		return todo & SYS_DO_ENTER ? sample_out(regs) : 0;
	now_ns = bpf_ktime_get_ns();
	if (todo & SYS_DO_TIME)
		time_enter(regs, now_ns);
	if (todo & SYS_DO_CLOSE)
		keep_file(regs, nr, now_ns + sys_boot_offset_ns);
	if (todo & (SYS_DO_ENTER | SYS_DO_KEEP))
		enter_record(regs, nr, now_ns + sys_boot_offset_ns);
	return 0;
}

/* A child inherits the kept arguments of clone3(). */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sys_fork, struct task_struct *parent, struct task_struct *child)
{
	keep_for_child(TASK_GET(parent, pid), TASK_GET(child, pid));
	return 0;
}

/* Path for calls with memory arguments or conditions. */
static __always_inline int exit_long(struct call *c, __u32 todo)
{
	struct sonde_ledger *l = ledger_seen(todo & SYS_DO_LIFE ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL);

	if (!l)
		return 0;
	if (todo & SYS_DO_LIFE && is_newborn(c)) /* the stack may still hold the entry time of an earlier task */
		c->latency_ns = 0;
	if (sys_pred.by_name)
		note_opened(c);
	if (!conditions(c, todo)) {
		rec_filtered(l);
		return 0;
	}
	identify_call(c, todo, false);
	return send_exit(c, l, todo);
}

SEC("tp_btf/sys_exit")
int BPF_PROG_NOPREEMPT(sys_exit, struct pt_regs *regs, long ret)
{
	long nr = regs_nr(regs);
	__u64 stack = stack_of(regs);
	__u32 todo = do_any(nr, true, ret);
	struct sonde_ledger *l;
	struct sys_slot *s;
	struct call c;

	if (!(todo & SYS_DO_EXIT))
		return 0;
	if (is_closed(todo))
		return sample_out(regs);
	s = slot_of(stack);
	c.regs = regs;
	c.ret = ret;
	c.now_ns = bpf_ktime_get_ns();
	c.latency_ns = todo & SYS_DO_TIME ? time_exit(s, stack, c.now_ns) : 0;
	c.now_ns += sys_boot_offset_ns;
	find_caller(&c, s, stack, true);
	nr = nr_exit(&c, nr);
	todo = do_call(&c, nr);
	if (!(todo & SYS_DO_EXIT) || drops_excluded(c.tgid, SYS_LEDGER_CALL))
		return 0;
	if (is_closed(todo)) /* the same number passes always in another ABI */
		return sample_out(regs);
	c.n_args = args_of(todo);
	if (todo & SYS_DO_CLOSE)
		kept_file(s, stack);
	if (todo & SYS_DO_STEPS)
		return exit_long(&c, todo);
	l = ledger_seen(SYS_LEDGER_CALL);
	if (!l)
		return 0;
	if (can_fill(c.tgid, todo))
		return send_plain(&c, l, SYS_REC_EXIT, true);
	identify_call(&c, todo, false);
	return send_small(&c, l, SYS_REC_EXIT, c.n_args);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
