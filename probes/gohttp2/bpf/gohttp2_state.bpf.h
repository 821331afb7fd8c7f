/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What all programs of this probe share: the layouts of processes, the record under work, the counters of what went
 * wrong.
 *
 * The record lies in scratch memory of the CPU, so nothing else may run in between: preemption is off
 * (gohttp2.bpf.c). Its next byte is in that memory and not in a register, so that all ways through a step look alike
 * to the verifier.
 */
#ifndef GOHTTP2_STATE_BPF_H
#define GOHTTP2_STATE_BPF_H

#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/words.bpf.h"
#include "probes/gohttp2/gohttp2_sites.h"
#include "probes/gohttp2/gohttp2_wire.h"

#include <bpf/bpf_core_read.h>

#define HF_BYTES 40		/* hpack.HeaderField: two strings and a bool, in every release */
#define HF_MAX 64		/* headers of a frame that are looked at */
#define PIECES 2		/* of a DATA frame that are looked at: gRPC's own five bytes, what follows them */
#define SPAN_BYTES 256		/* of an object, to have several of its members at once; a power of two */
#define META_FRONT 48		/* of a size class of Go: that of HeadersFrame and MetaHeadersFrame */
#define FRAME_BYTES 16		/* of a frame's own header; a power of two */
#define SOCK_BYTES 144		/* of struct sock_common: all that is looked at, on any kernel */
#define DATA_BYTES 8192		/* of fields in one record; a power of two */
#define VALUE_BYTES 2048	/* most of one value; likewise */

UNIT_SHARED const volatile bool gohttp2_debug = false;
UNIT_SHARED const volatile __u32 gohttp2_value_bytes = 512; /* of one header value, at most VALUE_BYTES - 1 */
UNIT_SHARED const volatile __u32 gohttp2_payload = 0;	/* of each DATA frame, likewise */
UNIT_SHARED const volatile bool gohttp2_data = false;	/* DATA frames are watched */
UNIT_SHARED const volatile __u64 gohttp2_lengths = 0;	/* bit n: a header in gohttp2_names has a name of n bytes */

/* Since 6.11: on older kernels that preempt, two frames at once on one CPU could spoil one another. */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;

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

struct gohttp2_groups {			/* of a map, not looked at yet */
	__u64 at;			/* the next one */
	__u64 row, left;		/* the one in the row, and how many stand behind it */
	__u64 old, half;		/* another row of them, and how many stand behind its first */
};

struct gohttp2_scratch {
	__u64 regs[GOHTTP2_REGS]; /* integer arguments, in their order */
	__u64 sp, g;
	struct gohttp2_string fields;	/* array of headers of this frame; without ptr they are in hf already */
	__u64 lengths;			/* bit n: names of n bytes are looked at */
	__u32 wanted;			/* bit n: enum gohttp2_header n is */
	__u32 tgid, tid;
	__u64 start_ns;			/* of the process */
	__u64 epoch;			/* of what is kept (gohttp2_string_cache.bpf.h), 0: nothing is */
	__u8 frame[FRAME_BYTES], span[SPAN_BYTES], sock[SOCK_BYTES];
	__u8 group[328]; /* of a map (gohttp2_map.bpf.h) */
	struct gohttp2_groups groups;
	struct gohttp2_slice pieces[PIECES]; /* of payload, where they are in the program */
	__u32 payload;			/* bytes of it that are still wanted */
	__u32 off;			/* next byte of data */
	__u32 from;			/* first byte of the record, from that of rec */
	__u32 lasts;  /* what was found in this frame holds for the next (gohttp2_header_cache.bpf.h) */
	__s32 header; /* at hand: enum gohttp2_header */
	struct gohttp2_name name __attribute__((aligned(8)));
	struct gohttp2_hf hf[HF_MAX];
	struct gohttp2_frame_rec rec;
	__u8 data[DATA_BYTES + VALUE_BYTES + 64] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gohttp2_scratch);
} gohttp2_scratch UNIT_SHARED SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);	/* programs times files; room is taken as it is used */
	__type(key, struct gohttp2_key);
	__type(value, struct gohttp2_layout);
} gohttp2_layouts UNIT_SHARED SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct gohttp2_name);
	__type(value, struct gohttp2_name_val);
} gohttp2_names UNIT_SHARED SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GOHTTP2_SITES);
	__type(key, __u32);
	__type(value, __u64);
} gohttp2_misses UNIT_SHARED SEC(".maps");

static __always_inline void gohttp2_tell(__u32 site)
{
	__u64 *n = bpf_map_lookup_elem(&gohttp2_misses, &site);

	if (n)
		(*n)++;
}

/* Each name stands at one place only: its file and line are those of this line. */
#define TELL(name) \
	do { \
		gohttp2_tell(GOHTTP2_SITE_##name); \
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

/* What the current process has at the place that was hit; NULL = it is none of ours. */
static __always_inline struct gohttp2_layout *layout_at(__u32 tgid, __u64 cookie)
{
	struct gohttp2_key key = { .tgid = tgid, .module = cookie >> GOHTTP2_COOKIE_SHIFT };

	return bpf_map_lookup_elem(&gohttp2_layouts, &key);
}

/* Was the process asked for? Its number is looked up once: what is selected never changes. */
static __always_inline bool is_selected(struct gohttp2_layout *l, __u32 tgid)
{
	if (!l->selected)
		l->selected = select_pid(tgid) ? GOHTTP2_SELECTED_YES : GOHTTP2_SELECTED_NO;
	if (l->selected != GOHTTP2_SELECTED_YES || is_excluded(tgid))
		return false;
	return select_comm_and_cgroup() && select_tree(tgid);
}

/* ---- memory of the program ---- */

static __always_inline long read_user(void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (void *)addr);
}

/* The word at @base + @off, 0 when there is none. */
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
 * Members of one object by one read, which costs as much as reading any of them: from @off up to and with the word
 * at @last. span_word() then has the words, all a multiple of 8 behind @off. False when they lie too far apart, or
 * cannot be read.
 */
static __always_inline bool read_span(struct gohttp2_scratch *s, __u64 base, __u16 off, __u16 last)
{
	__u32 far = (__u32)last - off;

	if (!base || off == GOHTTP2_NO_OFF || last == GOHTTP2_NO_OFF || last < off || far & 7)
		return false;
	barrier_var(far); /* what is checked is what is used, also to verifiers before 6.2 */
	if (far > SPAN_BYTES - 8)
		return false;
	return !read_user(s->span, far + 8, base + off);
}

/* @far: bytes behind the first member. */
static __always_inline __u64 span_word(const struct gohttp2_scratch *s, __u32 far)
{
	barrier_var(far);
	return u64_in(&s->span[far & (SPAN_BYTES - 8)]);
}

/* ---- loops ---- */

enum bpf_func_id___loop { BPF_FUNC_loop___loop = 181 };	/* 5.17 */

/* What turns of bpf_loop() work on. A verifier looks at one of them, of a loop in the program at each. */
struct walk {
	struct gohttp2_scratch *s;
	struct gohttp2_layout *l;
};

static __always_inline bool loops_there(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___loop, BPF_FUNC_loop___loop);
}

/* ---- arguments ---- */

#if defined(__TARGET_ARCH_x86)

#define RESTART_FLAGS 0x41	/* CF | ZF: jbe is taken */

static __always_inline void take_regs(struct gohttp2_scratch *s, const struct bpf_user_regs *r)
{
	s->regs[0] = r->ax;
	s->regs[1] = r->bx;
	s->regs[2] = r->cx;
	s->regs[3] = r->di;
	s->regs[4] = r->si;
	s->regs[5] = r->r8;
	s->regs[6] = r->r9;
	s->regs[7] = r->r10;
	s->regs[8] = r->r11;
	s->sp = r->sp;
	s->g = r->r14;
}

static __always_inline bool restarts(const struct bpf_user_regs *r)
{
	return r->flags & RESTART_FLAGS;
}

#elif defined(__TARGET_ARCH_arm64)

#define PSTATE_C (1ull << 29)
#define PSTATE_Z (1ull << 30)

static __always_inline void take_regs(struct gohttp2_scratch *s, const struct bpf_user_regs *r)
{
#pragma unroll
	for (int i = 0; i < GOHTTP2_REGS; i++)
		s->regs[i] = r->regs[i];
	s->sp = r->sp;
	s->g = r->regs[28];
}

static __always_inline bool restarts(const struct bpf_user_regs *r)
{
	return !(r->pstate & PSTATE_C) || r->pstate & PSTATE_Z;
}

#endif

/* The stack grows, or another goroutine gets its turn, and the function starts anew: this is no call yet. */
static __always_inline bool is_too_early(const struct bpf_user_regs *regs, const struct gohttp2_layout *l,
					 __u32 place)
{
	return l->restarts >> place & 1 && restarts(regs);
}

/* Argument @i of @place; of narrow ones the upper bytes are garbage. 0 when the program has none. */
static __always_inline __u64 arg(const struct gohttp2_scratch *s, const struct gohttp2_layout *l,
				 enum gohttp2_place place, __u32 i)
{
	__u64 at = place;
	__u64 v = 0;
	__u8 where;

	barrier_var(at); /* what is checked is what is used, also to verifiers before 6.2 */
	if (at >= GOHTTP2_PLACE__MAX)
		return 0;
	where = l->args[at][i];
	if (where == GOHTTP2_ARG_NONE)
		return 0;
	if (!(where & GOHTTP2_ARG_STACK))
		return s->regs[where & (GOHTTP2_REGS - 1)];
	if (read_user(&v, sizeof(v), s->sp + (where & ~GOHTTP2_ARG_STACK & 0xff) * 4))
		TELL(args);
	return v;
}

#endif
