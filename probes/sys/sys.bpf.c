// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * System calls, seen where every call enters and leaves the kernel: two programs for all of them.
 *
 * What a call costs that nobody asked for is one look into a table. The rest is ordered by cost: result, process,
 * latency, and only then the memory of the caller. A record of a fixed size is written in place; payload of a
 * single buffer too, in classes; whatever needs more steps is put together in scratch memory.
 *
 * Nothing here sleeps, and preemption is off in both programs: what they share per CPU is theirs alone.
 */
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/sys/sys_know.bpf.h"
#include "probes/sys/sys_read.bpf.h"
#include "probes/sys/sys_select.bpf.h"
#include "probes/sys/sys_sum.bpf.h"
#include "probes/sys/syscalls_bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

const volatile struct sys_plan sys_plans[SYS_PLAN_ABIS * SYS_NR_MAX] = { SYS_PLANS };
const volatile __u8 sys_want[SYS_PLAN_ABIS * SYS_NR_MAX] = { 0 };
const volatile __u8 sys_want_any[SYS_NR_MAX] = { 0 }; /* of all ABIs: what most calls are refused by */
const volatile __u32 sys_self = 0;	/* our own process */
const volatile __u8 sys_want_unknown = 0;	/* calls that no table has */
const volatile bool sys_context = false;	/* also what the kernel knows: SYS_OP_SOCK and above */
const volatile bool sys_payload = false;	/* sys_snaplen is not 0 */
const volatile bool sys_enter_records = false;
const volatile bool sys_summary = false;	/* count, tell nothing */
const volatile bool sys_timed = true;		/* the program at the entry is there */
const volatile __u64 sys_min_latency_ns = 0;

/* ---- one call ---- */

/* What both programs know about the call at hand. */
struct call {
	struct pt_regs *regs;
	struct task_struct *task;
	__u64 ret, latency_ns;
	__u64 now_ns;		/* boot clock: one reading serves the record and the latency */
	__u32 slot;		/* into sys_plans */
	__u32 nr, abi;
	__u32 tid, tgid;
};

static __always_inline const volatile struct sys_plan *plan_of(const struct call *c)
{
	__u32 slot = c->slot;

	if (slot >= SYS_PLAN_ABIS * SYS_NR_MAX)
		slot = 0;
	return &sys_plans[slot];
}

/* False: nobody asked for this call. Cheap, it runs for every call of the host. */
static __always_inline bool call_begin(struct call *c, struct pt_regs *regs, long nr, __u8 want)
{
	int slot;

	if ((unsigned long)nr < SYS_NR_MAX && !(sys_want_any[nr] & want))
		return false;
	c->regs = regs;
	c->task = this_task();
	c->abi = task_abi(c->task);
	slot = call_slot(&c->abi, &nr);
	c->nr = (__u32)nr;
	if (slot < 0) {
		c->slot = ~0u;
		return sys_want_unknown & want;
	}
	c->slot = slot;
	if (c->slot >= SYS_PLAN_ABIS * SYS_NR_MAX)
		return false;
	return sys_want[c->slot] & want;
}

static __always_inline void rec_fill(struct sys_rec *r, const struct call *c, const struct sonde_ledger *l,
				     __u16 type, __u16 class, __u32 chunks_len)
{
	r->hdr.ts_ns = c->now_ns;
	r->hdr.len = sizeof(*r) + chunks_len;
	r->hdr.type = type;
	r->hdr.cpu = bpf_get_smp_processor_id();
	r->hdr.tgid = c->tgid;
	r->hdr.tid = c->tid;
	r->hdr.start_ns = task_start(c->task);
	r->hdr.seq = l->seq + 1;
	r->hdr.instance = sonde_instance;
	r->hdr.flags = class;
	r->ret = c->ret;
	r->latency_ns = c->latency_ns;
	r->nr = c->nr;
	r->abi = c->abi;
	r->n_args = c->slot == ~0u ? 6 : plan_of(c)->n_args;
	r->flags = 0;
	r->chunks_len = chunks_len;
	regs_args(c->regs, c->abi, r->args);
}

/* A record of @room bytes of payload, a constant, written in place. */
static __always_inline int exit_data(const struct call *c, struct sonde_ledger *l, __u64 addr, __u64 len, __u32 arg,
				     __u32 room)
{
	struct {
		struct sys_rec rec;
		struct sys_chunk chunk;
		__u8 data[];
	} *r = rec_reserve(l, LANE_BULK, sizeof(*r) + room);
	__u32 take = len > sys_snaplen ? sys_snaplen : len;

	if (!r)
		return 0;
	r->chunk.arg = arg;
	r->chunk.what = SYS_CHUNK_DATA;
	r->chunk.flags = take < len ? SYS_CHUNK_F_CUT : 0;
	barrier_var(take);
	if (take > room)
		take = room;
	if (bpf_probe_read_user(r->data, take, (void *)addr)) {
		r->chunk.flags |= SYS_CHUNK_F_FAULT;
		take = 0;
	}
	r->chunk.len = take;
	rec_fill(&r->rec, c, l, SYS_REC_EXIT, SYS_LEDGER_CALL, sizeof(r->chunk) + ((take + 7) & ~7u));
	if (r->chunk.flags & SYS_CHUNK_F_FAULT)
		r->rec.flags |= SYS_F_FAULT;
	rec_submit(l, LANE_BULK, r);
	return 0;
}

static __always_inline int exit_small(const struct call *c, struct sonde_ledger *l, __u16 type, enum lane lane)
{
	struct sys_rec *r = rec_reserve(l, lane, sizeof(*r));

	if (!r)
		return 0;
	rec_fill(r, c, l, type, lane == LANE_LIFE ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL, 0);
	rec_submit(l, lane, r);
	return 0;
}

/* The argument or result that @n names. */
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

/* How many bytes of a vector mean something: all of what is written, of what is read only the result. */
static __always_inline __u64 io_bytes(const struct sys_scratch *s, __u32 when)
{
	if (!(when & SYS_WHEN_OUT))
		return ~0ull;
	return s->rec.ret > 0 ? s->rec.ret : 0;
}

/* Steps that ask the kernel. @exec: a new program has begun. */
__noinline int run_know(__u32 op, __u32 arg)
{
	struct sys_scratch *s = my_scratch();
	__u64 fd;

	if (!s)
		return 0;
	fd = number_of(s, arg);
	if (op == SYS_OP_SOCK)
		return know_sock(arg, fd);
	if (op == SYS_OP_FILE)
		return know_file(arg, fd);
	if (op == SYS_OP_VM)
		return know_memory();
	if (op == SYS_OP_PAIR && arg < 6) {
		int pair[2];

		if (bpf_probe_read_user(pair, sizeof(pair), (void *)s->rec.args[arg]))
			return 0;
		know_file(arg, pair[0]);
		return know_sock(arg, pair[0]);
	}
	return 0;
}

/* Step @i of the plan at @slot. */
__noinline int run_op(__u32 slot, __u32 i)
{
	struct sys_scratch *s = my_scratch();
	const volatile struct sys_op *op;
	__u32 arg, kind, n, compat;
	__u64 addr, count;

	if (!s || slot >= SYS_PLAN_ABIS * SYS_NR_MAX || i >= SYS_PLAN_OPS)
		return 0;
	op = &sys_plans[slot].ops[i];
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
	if (kind == SYS_OP_MEM)
		return read_mem(arg, SYS_CHUNK_MEM, addr, op->size, 1024);
	if (kind == SYS_OP_ARRAY)
		return read_mem(arg, SYS_CHUNK_MEM, addr, count > 512 ? 8192 : (__u32)count * op->size, 4096);
	if (kind == SYS_OP_FDSET)
		return read_mem(arg, SYS_CHUNK_MEM, addr, count > 1024 ? 128 : ((__u32)count + 63) / 64 * 8, 128);
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
		return read_msg(arg, addr, io_bytes(s, op->when), compat);
	if (kind == SYS_OP_MMSG)
		return read_msg(arg, addr, ~0ull, compat);
	return 0;
}

static __always_inline void send_context(const volatile struct sys_plan *plan)
{
	__u32 i = plan->n_mem;

	if (i >= plan->n_ops || i >= SYS_PLAN_OPS)
		return;
	if (plan->ops[i].op == SYS_OP_PROC)
		know_proc(0);
	else
		run_know(plan->ops[i].op, plan->ops[i].arg);
}

/* A socket that an argument names is known before the call, and after one that could not end at once. */
static __always_inline bool names_socket(const volatile struct sys_plan *plan)
{
	__u32 i = plan->n_mem;

	return i < plan->n_ops && i < SYS_PLAN_OPS && plan->ops[i].op == SYS_OP_SOCK && plan->ops[i].arg != SYS_N_RET;
}

/* The whole record in scratch memory, sent when it is complete. @when: SYS_WHEN_* that hold now. */
static __always_inline int send_scratch(const struct call *c, struct sonde_ledger *l, __u16 type, __u32 when)
{
	const volatile struct sys_plan *plan = plan_of(c);
	bool life = plan->flags & SYS_PLAN_LIFE;
	struct sys_scratch *s = my_scratch();
	__u32 len;

	if (!s)
		return 0;
	rec_fill(&s->rec, c, l, type, life ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL, 0);
	s->off = 0;
	s->payload = sys_snaplen;
	for (__u32 i = 0; i < SYS_PLAN_OPS; i++) {
		if (i >= plan->n_mem)
			break;
		if (plan->ops[i].when & when)
			run_op(c->slot, i);
	}
	if (plan->flags & SYS_PLAN_EXEC && s->rec.ret == 0 && type == SYS_REC_EXIT)
		know_proc(1);
	else if (sys_context && (when & SYS_WHEN_OUT || names_socket(plan)))
		send_context(plan);
	len = s->off;
	if (len > SYS_DATA_BYTES - 8)
		len = 0;
	s->rec.chunks_len = len;
	s->rec.hdr.len = sizeof(s->rec) + len;
	rec_output(l, life ? LANE_LIFE : LANE_BULK, &s->rec.hdr, sizeof(s->rec) + len);
	return 0;
}

/* Does any of its steps apply? Payload that nobody asked for is none. */
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

/* Size classes of payload: what fits into none goes through scratch memory. */
static __always_inline int exit_payload(const struct call *c, struct sonde_ledger *l,
					const volatile struct sys_plan *plan, __u32 when)
{
	__u64 args[6], len;
	__u32 arg = plan->ops[0].arg, n = plan->ops[0].n, take;

	regs_args(c->regs, c->abi, args);
	/* buffers are second arguments in all but a handful of calls, lengths third */
	if (arg != 1 || !(plan->ops[0].when & when))
		return plan->ops[0].when & when ? send_scratch(c, l, SYS_REC_EXIT, when) :
						  exit_small(c, l, SYS_REC_EXIT, LANE_BULK);
	len = n == SYS_N_RET ? c->ret : args[2];
	if (n != SYS_N_RET && n != 2)
		return send_scratch(c, l, SYS_REC_EXIT, when);
	take = len > sys_snaplen ? sys_snaplen : len;
	if (!take || !args[1])
		return exit_small(c, l, SYS_REC_EXIT, LANE_BULK);
	if (take <= 64)
		return exit_data(c, l, args[1], len, 1, 64);
	if (take <= 256)
		return exit_data(c, l, args[1], len, 1, 256);
	if (take <= 1024)
		return exit_data(c, l, args[1], len, 1, 1024);
	return send_scratch(c, l, SYS_REC_EXIT, when);
}

static __always_inline int send_exit(const struct call *c, struct sonde_ledger *l)
{
	const volatile struct sys_plan *plan = plan_of(c);
	__u32 when = SYS_WHEN_IN | ((__s64)c->ret >= 0 ? SYS_WHEN_OUT : 0);

	if (c->slot == ~0u)
		return exit_small(c, l, SYS_REC_EXIT, LANE_BULK);
	/* the new program's registers are nobody's arguments */
	if (plan->flags & SYS_PLAN_EXEC && !c->ret)
		return send_scratch(c, l, SYS_REC_EXIT, 0);
	if (plan->flags & SYS_PLAN_LIFE)
		return send_scratch(c, l, SYS_REC_EXIT, when);
	if (sys_payload && !sys_context && plan->n_mem == 1 && plan->ops[0].op == SYS_OP_DATA)
		return exit_payload(c, l, plan, when);
	if (has_chunks(plan, c, when))
		return send_scratch(c, l, SYS_REC_EXIT, when);
	return exit_small(c, l, SYS_REC_EXIT, LANE_BULK);
}

/* ---- the programs ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SYS_SLOTS);
	__type(key, __u32);
	__type(value, struct sys_slot);
} sys_slots SEC(".maps");

static __always_inline void enter_time(__u32 tid, __u64 now_ns)
{
	__u32 i = tid & (SYS_SLOTS - 1);
	struct sys_slot *s = bpf_map_lookup_elem(&sys_slots, &i);

	if (!s)
		return;
	s->enter_ns = now_ns;
	s->tid = tid;
}

static __always_inline __u64 exit_latency(__u32 tid, __u64 now_ns)
{
	__u32 i = tid & (SYS_SLOTS - 1);
	struct sys_slot *s = bpf_map_lookup_elem(&sys_slots, &i);

	if (!s || s->tid != tid)
		return 0;
	s->tid = 0;
	return now_ns - s->enter_ns;
}

/* The caller is one of ours, or not one that was asked for. The ledger row of those that are. */
static __always_inline struct sonde_ledger *call_admit(const struct call *c)
{
	struct sonde_ledger *l;

	if (is_excluded(c->tgid))
		return NULL;
	l = ledger_seen(c->slot != ~0u && plan_of(c)->flags & SYS_PLAN_LIFE ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL);
	if (l && !select_caller(c->tgid)) {
		rec_filtered(l);
		return NULL;
	}
	return l;
}

/* Calls that never return are seen here, whatever was asked for. */
static __always_inline int send_enter(struct call *c)
{
	struct sonde_ledger *l;

	c->tgid = TASK_GET(c->task, tgid);
	c->ret = 0;
	c->latency_ns = 0;
	l = call_admit(c);
	if (!l)
		return 0;
	if (c->slot == ~0u)
		return exit_small(c, l, SYS_REC_ENTER, LANE_BULK);
	if (plan_of(c)->flags & SYS_PLAN_LIFE || has_chunks(plan_of(c), c, SYS_WHEN_IN))
		return send_scratch(c, l, SYS_REC_ENTER, SYS_WHEN_IN);
	return exit_small(c, l, SYS_REC_ENTER, LANE_BULK);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long nr)
{
	struct call c;

	if (!call_begin(&c, regs, nr, SYS_WANT_EXIT | SYS_WANT_ENTER))
		return 0;
	c.tid = TASK_GET(c.task, pid);
	c.now_ns = bpf_ktime_get_boot_ns();
	if (!sys_summary && (sys_enter_records || (c.slot != ~0u && plan_of(&c)->flags & SYS_PLAN_NO_RETURN)))
		send_enter(&c);
	enter_time(c.tid, c.now_ns);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	struct sonde_ledger *l;
	struct call c;

	if (!call_begin(&c, regs, regs_nr(regs), SYS_WANT_EXIT))
		return 0;
	c.ret = ret;
	if (!select_result(ret))
		return 0;
	c.tid = TASK_GET(c.task, pid);
	c.now_ns = bpf_ktime_get_boot_ns();
	c.latency_ns = sys_timed ? exit_latency(c.tid, c.now_ns) : 0;
	if (c.latency_ns < sys_min_latency_ns)
		return 0;
	c.tgid = TASK_GET(c.task, tgid);
	if (sys_summary) {
		if (c.tgid != sys_self && select_caller(c.tgid))
			sum_call(c.slot, is_error(ret), c.latency_ns);
		return 0;
	}
	l = call_admit(&c);
	return l ? send_exit(&c, l) : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
