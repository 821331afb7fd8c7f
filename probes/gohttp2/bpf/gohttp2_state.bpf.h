/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * State that the programs of this probe share: layouts of processes, the record being built, counters of misses.
 *
 * The record is built in scratch memory of the CPU, so no other hit may interrupt: preemption is off (gohttp2.bpf.c).
 * The offset of its next byte is kept in that memory rather than in a register, so that the verifier sees one state
 * after each step.
 */
#ifndef GOHTTP2_STATE_BPF_H
#define GOHTTP2_STATE_BPF_H

#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/preempt.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/typed.bpf.h"
#include "bpf/words.bpf.h"
#include "probes/gohttp2/gohttp2_miss_numbers.h"
#include "probes/gohttp2/gohttp2_wire.h"

#include <bpf/bpf_core_read.h>

#define HF_BYTES 40		/* hpack.HeaderField: two strings and a bool, in every release */
#define HF_MAX 64		/* headers of a frame that are read */
#define PIECES 2		/* of a DATA frame that are read: gRPC's five-byte prefix, then the message */
#define SPAN_BYTES 256		/* of an object, for several members by one read; a power of two */
#define META_FRONT 48		/* Go's size class of HeadersFrame and MetaHeadersFrame */
#define FRAME_BYTES 16		/* of a frame's header; a power of two */
#define SOCK_BYTES 144		/* of struct sock_common: covers every member read, on any kernel */
#define DATA_BYTES 8192		/* of fields in one record; a power of two */
#define VALUE_BYTES 2048	/* of one value at most; a power of two */

UNIT_SHARED const volatile bool gohttp2_debug = false;
UNIT_SHARED const volatile __u32 gohttp2_value_bytes = 512; /* of one header value, at most VALUE_BYTES - 1 */
UNIT_SHARED const volatile __u32 gohttp2_payload = 0;	/* of each DATA frame, at most VALUE_BYTES - 1 */
UNIT_SHARED const volatile bool gohttp2_data = false;	/* DATA frames are watched */
UNIT_SHARED const volatile __u64 gohttp2_lengths = 0;	/* bit n: a header in gohttp2_names has a name of n bytes */

#define log_debug(...) \
	do { \
		if (gohttp2_debug) \
			bpf_printk(__VA_ARGS__); \
	} while (0)

struct gohttp2_string {
	__u64 ptr, len;
};

struct gohttp2_slice {
	__u64 ptr, len, cap;
};

struct gohttp2_hf {
	struct gohttp2_string name, value;
	__u64 sensitive;
};

struct gohttp2_groups {			/* of a map, still to be read */
	__u64 at;			/* next group */
	__u64 row, left;		/* current group of the row, groups after it */
	__u64 old, half;		/* second row of groups, groups after its first */
};

struct gohttp2_regs {
	__u64 arg[GOHTTP2_REGS]; /* integer arguments, in their order */
	__u64 sp, g;
};

struct gohttp2_who {
	__u32 tgid, tid;
	__u64 start_ns;		/* of the process */
	__u64 epoch;		/* of the string cache (gohttp2_string_cache.bpf.h); 0 = do not cache */
};

struct gohttp2_scratch {
	struct gohttp2_regs regs;
	struct gohttp2_who who;
	struct gohttp2_string fields;	/* headers of this frame; ptr 0: already in hf */
	__u64 lengths;			/* bit n: names of n bytes are selected */
	__u32 selected;			/* bit n: enum gohttp2_header n is selected */
	__u64 conn, conn_type, conn_itab; /* being unwrapped: object, dynamic type, itab or 0 */
	__u64 caller;			/* call that the goroutine of a client's request serves; 0 = none */
	__u32 caller_how, pad;		/* SONDE_HOW_* */
	__u8 frame[FRAME_BYTES], span[SPAN_BYTES], sock[SOCK_BYTES];
	__u8 group[328]; /* of a map */
	struct gohttp2_groups groups;
	struct gohttp2_slice pieces[PIECES]; /* of payload, in the program's memory */
	__u32 payload;			/* bytes of it still to copy */
	__u32 off;			/* next byte of data */
	__u32 from;			/* first byte of the record, relative to rec */
	__u32 lasts;  /* the fields of this frame may be cached for a later one */
	__s32 header; /* current header: enum gohttp2_header */
	struct gohttp2_name name __attribute__((aligned(8)));
	struct gohttp2_hf hf[HF_MAX];
	struct gohttp2_frame_rec rec;
	__u8 data[DATA_BYTES + VALUE_BYTES + 64] __attribute__((aligned(8)));
};

UNIT_MAP(gohttp2_scratch, PERCPU_ARRAY, 1, __u32, struct gohttp2_scratch);

/* Programs times files; allocated on use. */
UNIT_MAP_FLAGS(gohttp2_layouts, HASH, BPF_F_NO_PREALLOC, 65536, struct gohttp2_key, struct gohttp2_layout);

UNIT_MAP(gohttp2_names, HASH, 64, struct gohttp2_name, struct gohttp2_name_val);

UNIT_MAP(gohttp2_misses, PERCPU_ARRAY, GOHTTP2_MISSES, __u32, __u64);

static __always_inline void count_miss(__u32 site)
{
	__u64 *n = bpf_map_lookup_elem(&gohttp2_misses, &site);

	if (n)
		(*n)++;
}

/* Each name occurs once: its file and line identify the miss. */
#define MISS(name) \
	do { \
		count_miss(GOHTTP2_MISS_##name); \
		log_debug("gohttp2: " #name " in %d", (int)(bpf_get_current_pid_tgid() >> 32)); \
	} while (0)

static __always_inline struct gohttp2_scratch *my_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&gohttp2_scratch, &zero);
}

static __always_inline __u32 slot_of(__u64 ptr)
{
	return ptr * 0x9e3779b97f4a7c15ull >> 32;
}

/* ---- processes ---- */

/* Layout of the module that was hit in the current process; NULL = not watched. */
static __always_inline struct gohttp2_layout *layout_at(__u32 tgid, __u64 cookie)
{
	struct gohttp2_key key = { .tgid = tgid, .module = cookie >> GOHTTP2_COOKIE_SHIFT };

	return bpf_map_lookup_elem(&gohttp2_layouts, &key);
}

/* A function of its own: callers have little stack. */
static __noinline bool is_selected_by_group(void)
{
	return select_groups();
}

/* Is the process selected? The pid set never changes, so each layout asks once. */
static __always_inline bool is_selected(struct gohttp2_layout *l, __u32 tgid)
{
	if (!l->selected)
		l->selected = select_pid(tgid) ? GOHTTP2_SELECTED_YES : GOHTTP2_SELECTED_NO;
	if (l->selected != GOHTTP2_SELECTED_YES || is_excluded(tgid))
		return false;
	return (!(sonde_select_comms || sonde_select_cgroups || sonde_select_netns) || is_selected_by_group()) &&
	       select_tree(tgid);
}

/* Start time of the process, read once per layout. */
static __always_inline __u64 start_of(struct gohttp2_layout *l, const struct task_struct *task)
{
	if (!l->start_ns)
		l->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	return l->start_ns;
}

/* ---- memory of the program ---- */

static __always_inline long read_user(void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (void *)addr);
}

/* The word at @base + @off; 0 for a null base or an unknown offset. */
static __always_inline __u64 word_at(__u64 base, __u16 off)
{
	__u64 v = 0;

	if (base && off != GOHTTP2_NO_OFF)
		read_user(&v, sizeof(v), base + off);
	return v;
}

static __always_inline __u32 u32_at(__u64 base, __u16 off)
{
	__u32 v = 0;

	if (base && off != GOHTTP2_NO_OFF)
		read_user(&v, sizeof(v), base + off);
	return v;
}

/*
 * Reads several members of an object at once, from @off through the word at @last, for the cost of one. span_word()
 * returns the words, which lie at multiples of 8 after @off. False if they are too far apart or unreadable.
 */
static __always_inline bool read_span(struct gohttp2_scratch *s, __u64 base, __u16 off, __u16 last)
{
	__u32 far = (__u32)last - off;

	if (!base || off == GOHTTP2_NO_OFF || last == GOHTTP2_NO_OFF || last < off || far & 7)
		return false;
	barrier_var(far); /* verifiers before 6.2: check and use the same register */
	if (far > SPAN_BYTES - 8)
		return false;
	return !read_user(s->span, far + 8, base + off);
}

/* @far: distance from the first member, bytes. */
static __always_inline __u64 span_word(const struct gohttp2_scratch *s, __u32 far)
{
	barrier_var(far);
	return u64_in(&s->span[far & (SPAN_BYTES - 8)]);
}

/* ---- loops ---- */

enum bpf_func_id___loop { BPF_FUNC_loop___loop = 181 };	/* 5.17 */

/* Context of bpf_loop(). The verifier checks its body once, that of a plain loop at every iteration. */
struct walk {
	struct gohttp2_scratch *s;
	struct gohttp2_layout *l;
};

static __always_inline bool loops_there(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___loop, BPF_FUNC_loop___loop);
}

/* ---- pieces of a DATA frame ---- */

#define PIECES_MAX 64		/* of a frame */

struct pieces {
	__u64 at;		/* the array */
	__u64 bytes;
};

static long add_piece(__u32 i, struct pieces *p)
{
	p->bytes += (__u32)word_at(p->at + i * sizeof(struct gohttp2_slice), offsetof(struct gohttp2_slice, len));
	return 0;
}

static __always_inline __u32 bytes_of_pieces(__u64 at, __u64 n)
{
	struct pieces p = { .at = at };

	if (n > PIECES_MAX)
		n = PIECES_MAX;
	if (loops_there())
		bpf_loop(n, add_piece, &p, 0);
	else
		for (__u32 i = 0; i < PIECES_MAX && i < n; i++)
			add_piece(i, &p);
	return (__u32)p.bytes;
}

/* ---- arguments ---- */

#if defined(__TARGET_ARCH_x86)

#define RESTART_FLAGS 0x41	/* CF | ZF: jbe is taken */

static __always_inline void take_regs(struct gohttp2_regs *to, const struct bpf_user_regs *r)
{
	to->arg[0] = r->ax;
	to->arg[1] = r->bx;
	to->arg[2] = r->cx;
	to->arg[3] = r->di;
	to->arg[4] = r->si;
	to->arg[5] = r->r8;
	to->arg[6] = r->r9;
	to->arg[7] = r->r10;
	to->arg[8] = r->r11;
	to->sp = r->sp;
	to->g = r->r14;
}

static __always_inline bool restarts(const struct bpf_user_regs *r)
{
	return r->flags & RESTART_FLAGS;
}

#elif defined(__TARGET_ARCH_arm64)

#define PSTATE_C (1ull << 29)
#define PSTATE_Z (1ull << 30)

static __always_inline void take_regs(struct gohttp2_regs *to, const struct bpf_user_regs *r)
{
#pragma unroll
	for (int i = 0; i < GOHTTP2_REGS; i++)
		to->arg[i] = r->regs[i];
	to->sp = r->sp;
	to->g = r->regs[28];
}

static __always_inline bool restarts(const struct bpf_user_regs *r)
{
	return !(r->pstate & PSTATE_C) || r->pstate & PSTATE_Z;
}

#endif

/* The function is about to restart, after growing the stack or yielding: not a call yet. */
static __always_inline bool is_too_early(const struct bpf_user_regs *regs, const struct gohttp2_layout *l,
					 __u32 site)
{
	return l->restarts >> site & 1 && restarts(regs);
}

/* Argument @i at @site; 0 if the program has none. The upper bytes of narrow arguments are garbage. */
static __always_inline __u64 arg_in(const struct gohttp2_regs *r, const struct gohttp2_layout *l,
				    enum gohttp2_site site, __u32 i)
{
	__u64 at = site;
	__u64 v = 0;
	__u8 where;

	barrier_var(at); /* verifiers before 6.2: check and use the same register */
	if (at >= GOHTTP2_SITE__MAX)
		return 0;
	where = l->args[at][i];
	if (where == GOHTTP2_ARG_NONE)
		return 0;
	if (!(where & GOHTTP2_ARG_STACK))
		return r->arg[where & (GOHTTP2_REGS - 1)];
	if (read_user(&v, sizeof(v), r->sp + (where & ~GOHTTP2_ARG_STACK & 0xff) * 4))
		MISS(args);
	return v;
}

static __always_inline __u64 arg(const struct gohttp2_scratch *s, const struct gohttp2_layout *l,
				 enum gohttp2_site site, __u32 i)
{
	return arg_in(&s->regs, l, site, i);
}

#endif
