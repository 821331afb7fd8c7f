/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Frames whose headers are those of a frame before them. Strings that lie at the same places are the same until the
 * program's garbage collector ends a cycle (gohttp2_string_cache.bpf.h says why), and those that a program sends are
 * if they are literals. So of a frame whose names and values lie where those of another one did, as far as they are
 * looked at, what was made of that one is copied whole: mostly a request for the same method on the same connection,
 * and trailers.
 *
 * What came in vain twice is kept: a header that differs in each request would have it written each time. What was
 * kept before the last of those cycles is made anew at once. For each CPU its own: nothing else may run on it
 * meanwhile (gohttp2_state.bpf.h).
 */
#ifndef GOHTTP2_HEADER_CACHE_BPF_H
#define GOHTTP2_HEADER_CACHE_BPF_H

#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#define AGAIN_HEADERS 12
#define AGAIN_BYTES 256		/* of fields */
#define AGAIN_SLOTS 32		/* a power of two */

struct gohttp2_header_cache {
	__u64 print;		/* of the headers below, 0 = there are none */
	__u64 missed;		/* of what was looked for here last, in vain */
	__u64 epoch;
	__u32 tgid, wanted;
	__u32 n, len;		/* headers; bytes of fields */
	struct gohttp2_hf hf[AGAIN_HEADERS];
	__u8 data[AGAIN_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, AGAIN_SLOTS);
	__type(key, __u32);
	__type(value, struct gohttp2_header_cache);
} gohttp2_header_cache SEC(".maps");

/*
 * May the headers of this frame, in s->hf, be those of another? Where preemption cannot be switched off they never
 * are, and the verifier need not look at what follows.
 */
static __always_inline bool may_repeat(const struct gohttp2_scratch *s, __u32 n)
{
	return bpf_preempt_disable && s->epoch && s->fields.ptr && !s->off && n <= AGAIN_HEADERS &&
	       !(s->rec.flags & GOHTTP2_F_WEB);
}

/* All bits for a header that is looked at, by the length of its name, else none. */
static __always_inline __u64 looked_at(const struct gohttp2_scratch *s, __u64 len)
{
	return -(s->lengths >> (len & 63) & !(len >> 6));
}

/*
 * How many headers there are, for a loop: out of memory, since the verifier learns it at each end of the loop and
 * then looks at what follows once for each.
 */
static __always_inline __u32 loop_headers(const struct gohttp2_scratch *s)
{
	return *(const volatile __u16 *)&s->rec.n_fields;
}

/* Where the values lie, in one number: never 0. */
static __always_inline __u64 print_of(const struct gohttp2_scratch *s)
{
	__u32 n = loop_headers(s);
	__u64 print = s->rec.conn;

	for (__u32 i = 0; i < AGAIN_HEADERS && i < n; i++)
		print = print * 0x9e3779b97f4a7c15ull + (s->hf[i].value.ptr & looked_at(s, s->hf[i].name.len));
	return print | 1;
}

static __always_inline struct gohttp2_header_cache *again_at(__u64 print)
{
	__u32 slot = print >> 32 & (AGAIN_SLOTS - 1);

	return bpf_map_lookup_elem(&gohttp2_header_cache, &slot);
}

static __always_inline bool same_places(const struct gohttp2_scratch *s, const struct gohttp2_hf *a)
{
	__u32 n = loop_headers(s);
	const struct gohttp2_hf *b = s->hf;
	__u64 differ = 0;

	for (__u32 i = 0; i < AGAIN_HEADERS && i < n; i++)
		differ |= (a[i].name.len ^ b[i].name.len) |
			  (looked_at(s, a[i].name.len) & ((a[i].name.ptr ^ b[i].name.ptr) |
			   (a[i].value.ptr ^ b[i].value.ptr) | (a[i].value.len ^ b[i].value.len)));
	return !differ;
}

/* Are the fields of the frame known? */
static __always_inline bool is_again(const struct gohttp2_scratch *s, const struct gohttp2_header_cache *a,
				     __u64 print, __u32 n)
{
	return a->print == print && a->epoch == s->epoch && a->tgid == s->tgid && a->wanted == s->wanted &&
	       a->n == n && same_places(s, a->hf);
}

static __always_inline void copy_fields(struct gohttp2_scratch *s, const struct gohttp2_header_cache *a)
{
	for (__u32 i = 0; i < AGAIN_BYTES / 8 && i * 8 < a->len; i++)
		((__u64 *)s->data)[i] = ((const __u64 *)a->data)[i];
	s->off = a->len;
}

static __always_inline void keep_fields(const struct gohttp2_scratch *s, struct gohttp2_header_cache *a, __u64 print,
					__u32 n)
{
	if (!s->lasts || s->off > AGAIN_BYTES)
		return;
	if (a->missed != print && a->print != print) {
		a->missed = print;
		return;
	}
	a->print = print;
	a->epoch = s->epoch;
	a->tgid = s->tgid;
	a->wanted = s->wanted;
	a->n = n;
	a->len = s->off;
	__builtin_memcpy(a->hf, s->hf, sizeof(a->hf));
	__builtin_memcpy(a->data, s->data, sizeof(a->data));
}

#endif
