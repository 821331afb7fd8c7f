/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Cache of immutable memory of programs: values of received headers, which HPACK returns as the same string while
 * they are in its table, and the connection of a loopyWriter. Go does not modify this memory and does not reuse it
 * before the garbage collector has found it dead, so an entry is valid until the next GC cycle ends. That end is
 * probed (GOHTTP2_COLLECTED); without that probe nothing is cached.
 *
 * Per CPU, so it relies on preemption being off (gohttp2_state.bpf.h).
 */
#ifndef GOHTTP2_STRING_CACHE_BPF_H
#define GOHTTP2_STRING_CACHE_BPF_H

#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#define TEXT_BYTES 128		/* of a cached value; a power of two */
#define TEXT_SLOTS 128		/* a power of two */
#define TEXT_OF_LOOPY (~0u)	/* in place of a length: words of a loopyWriter */

struct gohttp2_text {
	__u64 addr, epoch;	/* address in the program, GC epoch */
	__u32 tgid, len;
	__u64 words[TEXT_BYTES / 8];
};

/* One map element holds all slots: its look-up always touches the same cache lines. */
struct gohttp2_string_cache {
	struct gohttp2_text slot[TEXT_SLOTS];
};

UNIT_MAP(gohttp2_string_cache, PERCPU_ARRAY, 1, __u32, struct gohttp2_string_cache);

/* Memory of the process is not reused while the epoch stays the same. 0 = unknown. */
static __always_inline __u64 epoch_of(const struct gohttp2_layout *l)
{
	return bpf_preempt_disable && l->collected ? (__u64)l->born << 32 | l->collected : 0;
}

static __always_inline struct gohttp2_text *text_at(__u64 addr)
{
	__u32 zero = 0;
	struct gohttp2_string_cache *all = bpf_map_lookup_elem(&gohttp2_string_cache, &zero);

	return all ? &all->slot[slot_of(addr) & (TEXT_SLOTS - 1)] : NULL;
}

static __always_inline bool is_text(const struct gohttp2_text *t, const struct gohttp2_scratch *s, __u64 addr,
				    __u32 len)
{
	return t->addr == addr && t->len == len && t->epoch == s->epoch && t->tgid == s->tgid;
}

static __always_inline void name_text(struct gohttp2_text *t, const struct gohttp2_scratch *s, __u64 addr, __u32 len)
{
	t->addr = addr;
	t->epoch = s->epoch;
	t->tgid = s->tgid;
	t->len = len;
}

/* Copies the value at @addr, @len <= TEXT_BYTES bytes, to s->data[@off]. Bytes after it become garbage. */
static __always_inline bool copy_text(struct gohttp2_scratch *s, __u32 off, __u64 addr, __u32 len)
{
	struct gohttp2_text *t = text_at(addr);
	__u32 take;

	if (!t)
		return false;
	if (!is_text(t, s, addr, len)) {
		take = len;
		barrier_var(take); /* verifiers before 6.2 lose bounds of spilled registers */
		t->epoch = 0;
		if (read_user(t->words, take & (TEXT_BYTES - 1), addr))
			return false;
		name_text(t, s, addr, len);
	}
	off &= DATA_BYTES - 1;
	for (__u32 i = 0; i < TEXT_BYTES / 8 && i * 8 < len; i++)
		put_u64(&s->data[off + i * 8], t->words[i]);
	return true;
}

/* Runs with the world stopped: all threads of the program are paused. */
static __always_inline int collected(struct gohttp2_layout *l)
{
	if (!++l->collected)
		l->collected = 1;
	return 0;
}

#endif
