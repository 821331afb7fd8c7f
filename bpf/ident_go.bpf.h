/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The goroutine that the current thread runs. A thread of a Go program keeps a pointer to its g in thread-local
 * storage (amd64) or in x28 (arm64); g.goid is the number that runtime.Stack prints. g0 and gsignal, on which the
 * runtime runs its own code, have number 0 and lead to the goroutine by g.m.curg.
 *
 * The RPC that a goroutine serves: the gohttp2 probe enters the goroutine that runs a handler, with the number of
 * the call, and removes it when the handler is done. Goroutines that a handler starts inherit the call while it is
 * served, and so do theirs; those of transports, which work for many calls, never do. Parents are known since Go
 * 1.21. A handler that is not a goroutine of its own (a pool of workers) passes nothing on: when its child was
 * born is unknown.
 *
 * User space finds the programs and their layouts (probes/proc/proc_go.c); probes/proc/proc.bpf.c keeps the table of
 * processes exact across exec and exit. For other processes one byte is read.
 */
#ifndef IDENT_GO_BPF_H
#define IDENT_GO_BPF_H

#include "bpf/kernel.h"
#include "sonde/go_wire.h"
#include "sonde/ident_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct sonde_go_marks {
	__u8 of[SONDE_GO_MARKS];	/* SONDE_GO_MARK_* of a process with these low bits of its tgid; 0 = none */
};

UNIT_MAP_FLAGS(sonde_go_marks, ARRAY, BPF_F_MMAPABLE /* user space sets single bytes */, 1, __u32,
	       struct sonde_go_marks);

/* By tgid. Preallocated: samples of older kernels accept no other hash. */
UNIT_MAP(sonde_go_procs, HASH, 4096, __u32, struct sonde_go_layout);

struct sonde_goroutine {
	__u32 tgid, start;	/* low bits of the start of the process */
	__u64 goid;
};

struct sonde_go_call {
	__u64 call;		/* 0 = the goroutine works for many calls */
	__u64 handler;		/* goroutine of the handler */
	__u32 passes, pad;	/* goroutines that it starts inherit the call */
};

/* Goroutines that run a handler. */
UNIT_MAP(sonde_go_handlers, LRU_HASH, 8192, struct sonde_goroutine, struct sonde_go_call);

/* Goroutines that handlers started, and shared ones. */
UNIT_MAP(sonde_go_family, LRU_HASH, 8192, struct sonde_goroutine, struct sonde_go_call);

static __always_inline __u8 *go_mark(__u32 tgid)
{
	__u32 zero = 0;
	struct sonde_go_marks *marks = bpf_map_lookup_elem(&sonde_go_marks, &zero);

	return marks ? &marks->of[tgid & (SONDE_GO_MARKS - 1)] : NULL;
}

/* NULL = not a Go program, or not analysed yet. */
static __always_inline const struct sonde_go_layout *go_layout(__u32 tgid)
{
	const __u8 *mark = go_mark(tgid);

	return mark && *mark ? bpf_map_lookup_elem(&sonde_go_procs, &tgid) : NULL;
}

static __always_inline __u64 go_word(__u64 base, __u16 off)
{
	__u64 word = 0;

	if (!base || off == SONDE_GO_NO_OFF || bpf_probe_read_user(&word, sizeof(word), (void *)(base + off)))
		return 0;
	return word;
}

#if defined(__TARGET_ARCH_x86)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct___go {
	unsigned long fsbase;
};

struct task_struct___go {
	struct thread_struct___go thread;
};

#pragma clang attribute pop

enum bpf_func_id___go { BPF_FUNC_get_current_task_btf___go };

static __always_inline __u64 go_fsbase(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___go, BPF_FUNC_get_current_task_btf___go))
		return ((struct task_struct___go *)bpf_get_current_task_btf())->thread.fsbase;
	return BPF_CORE_READ((struct task_struct___go *)bpf_get_current_task(), thread.fsbase);
}

/* Address of g of the current thread; 0 = a thread that the runtime did not start. */
static __always_inline __u64 go_g(const struct sonde_go_layout *l)
{
	__u64 fsbase = go_fsbase(), g = 0;

	if (!fsbase || bpf_probe_read_user(&g, sizeof(g), (void *)(fsbase + l->tls)))
		return 0;
	return g;
}

#elif defined(__TARGET_ARCH_arm64)

#define GO_REG_G 28

enum bpf_func_id___go { BPF_FUNC_task_pt_regs___go };

/* C code may use x28 for anything: a g is believed if its thread runs it. */
static __always_inline __u64 go_g(const struct sonde_go_layout *l)
{
	__u64 g = 0, m;
	void *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___go, BPF_FUNC_task_pt_regs___go))
		return 0;
	regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	bpf_probe_read_kernel(&g, sizeof(g), regs + GO_REG_G * sizeof(g));
	m = go_word(g, l->m);
	return m && go_word(m, l->curg) == g ? g : 0;
}

#endif

/* The goroutine at @g, or the one on whose behalf the runtime's own g runs; 0 = none. *@g becomes its address. */
static __always_inline __u64 go_number(__u64 *g, const struct sonde_go_layout *l)
{
	__u64 goid = go_word(*g, l->goid);

	if (goid || !*g)
		return goid;
	*g = go_word(go_word(*g, l->m), l->curg);
	return go_word(*g, l->goid);
}

/* The call that an ancestor passes on, if it is still served. */
static __always_inline const struct sonde_go_call *go_passed(const struct sonde_goroutine *ancestor)
{
	const struct sonde_go_call *c = bpf_map_lookup_elem(&sonde_go_handlers, ancestor), *h;
	struct sonde_goroutine handler = *ancestor;

	if (c)
		return c->passes ? c : NULL;
	c = bpf_map_lookup_elem(&sonde_go_family, ancestor);
	if (!c || !c->call)
		return NULL;
	handler.goid = c->handler;
	h = bpf_map_lookup_elem(&sonde_go_handlers, &handler);
	return h && h->call == c->call ? h : NULL;
}

/*
 * Call of goroutine @who, started by goroutine @parent. @learns: remembers it, for the goroutines that @who starts; a
 * sample must not, because it may interrupt the map.
 */
static __always_inline void go_call(struct sonde_ident *id, struct sonde_goroutine *who, __u64 parent, bool learns)
{
	const struct sonde_go_call *c = bpf_map_lookup_elem(&sonde_go_handlers, who);
	struct sonde_goroutine ancestor = *who;
	struct sonde_go_call passed;

	if (c) {
		id->call = c->call;
		return;
	}
	if (!bpf_map_lookup_elem(&sonde_go_family, who))
		ancestor.goid = parent;
	c = ancestor.goid ? go_passed(&ancestor) : NULL;
	if (!c)
		return;
	id->call = c->call;
	id->call_how = SONDE_HOW_DERIVED;
	if (!learns || ancestor.goid == who->goid)
		return;
	passed = (struct sonde_go_call){ .call = c->call, .handler = c->handler };
	bpf_map_update_elem(&sonde_go_family, who, &passed, BPF_NOEXIST);
}

/* Goroutine and call of the current thread. @start: low bits of the start of the process. */
static __noinline int go_fill(struct sonde_ident *id, const struct sonde_go_layout *l, __u32 tgid, __u32 start,
			      bool learns)
{
	__u64 g = go_g(l);
	struct sonde_goroutine who = { .tgid = tgid, .start = start };
	const __u8 *mark = go_mark(tgid);

	who.goid = id->goid = go_number(&g, l);
	if (who.goid && mark && *mark == SONDE_GO_MARK_SERVES)
		go_call(id, &who, go_word(g, l->parent), learns);
	return 0;
}

/* Fills the goroutine of the current thread, and the call that it serves, if its process runs a Go program. */
static __always_inline void ident_go(struct sonde_ident *id, __u32 tgid, __u64 start_ns, bool learns)
{
	const struct sonde_go_layout *l = go_layout(tgid);

	if (l)
		go_fill(id, l, tgid, (__u32)start_ns, learns);
}

#endif
