/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Headers of a frame. Selected ones are copied at once, since the program reuses the array when the function returns.
 * The length of the name alone rules out most headers; those always selected need no map look-up. Values of secrets
 * are not copied. Payload of a DATA frame is a header without a name and is never cached: programs reuse its memory.
 *
 * Header cache: strings at the same addresses are equal until the GC cycle ends (gohttp2_string_cache.bpf.h), and
 * literals that a program sends always are. If the selected names and values of a frame lie where those of an earlier
 * frame did, its fields are copied as a block: mostly repeated requests of a method on one connection, and trailers.
 * An entry is written at the second miss with the same addresses, so that headers that differ in each request do not
 * evict it; entries of an older epoch are rebuilt at once. Per CPU, with preemption off (gohttp2_state.bpf.h).
 */
#ifndef GOHTTP2_FIELDS_BPF_H
#define GOHTTP2_FIELDS_BPF_H

#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_string_cache.bpf.h"

/* ---- one header ---- */

static __always_inline __u32 capped(__u64 n, __u32 max)
{
	return n > max ? max : (__u32)n;
}

/* May the value be cached? Received values are immutable; sent ones may lie in memory that the program modifies. */
static __always_inline bool is_kept(const struct gohttp2_scratch *s, __u32 header, __u32 len)
{
	if (s->rec.flags & (GOHTTP2_F_SENT | GOHTTP2_F_WEB))
		return false;
	return s->who.epoch && header != GOHTTP2_H_OTHER && len < TEXT_BYTES;
}

/* Appends one field: @name_len bytes of s->name, then the value. */
static __noinline int add_value(struct gohttp2_scratch *s, __u32 header, __u32 name_len, __u64 ptr, __u64 len)
{
	struct gohttp2_field *f;
	__u32 off, take = capped(len, gohttp2_value_bytes);

	off = s->off;
	if (off > DATA_BYTES - VALUE_BYTES - 64) {
		s->lasts = 0;
		MISS(header_room);
		return 0;
	}
	barrier_var(off); /* verifiers before 6.2: bound the register that is used */
	off &= DATA_BYTES - 1;
	f = (void *)&s->data[off];
	f->header = header;
	f->flags = take < len ? GOHTTP2_FIELD_CUT : 0;
	f->name_len = 0;
	f->pad = 0;
	f->full_len = capped(len, 65535);
	off += sizeof(*f);
	if (header == GOHTTP2_H_OTHER) {
		f->name_len = name_len;
		__builtin_memcpy(&s->data[off], s->name.name, sizeof(s->name.name));
		off += name_len & (GOHTTP2_NAME_BYTES * 2 - 1);
	}
	if (!ptr) {
		f->flags = GOHTTP2_FIELD_SECRET;
		take = 0;
	}
	take &= VALUE_BYTES - 1;
	if (take && is_kept(s, header, take) && copy_text(s, off, ptr, take)) {
		f->value_len = take;
		s->off = off + take;
		return 0;
	}
	if (take && bpf_probe_read_user(&s->data[off & (DATA_BYTES - 1)], take, (void *)ptr)) {
		f->flags |= GOHTTP2_FIELD_FAULT;
		take = 0;
		s->lasts = 0;
		MISS(header_value);
	}
	f->value_len = take;
	s->off = off + take;
	return 0;
}

#define NAME(text, number) | 1ull << (sizeof(text) - 1)
static const __u64 known_lengths = 0
#include "probes/gohttp2/gohttp2_names.def"
	;
#undef NAME

union name_words {
	char text[16];
	__u64 w[2];
};

static __always_inline bool same_name(const union name_words *a, union name_words b)
{
	return a->w[0] == b.w[0] && a->w[1] == b.w[1];
}

/* ASCII to lower case. Names in frames are lower case, those of net/http's headers are not. */
static __always_inline __u64 lower(__u64 w)
{
	const __u64 ones = 0x0101010101010101ull, low = w & 0x7f * ones;
	__u64 upper = (low + (0x80 - 'A') * ones) ^ (low + (0x7f - 'Z') * ones);

	return w | (upper & ~w & 0x80 * ones) >> 2;
}

/* Number of a header that is always selected, else GOHTTP2_H_OTHER. @n: padded with zeros. */
static __always_inline __u32 known_header(const union name_words *n)
{
	return
#define NAME(text, number) same_name(n, (union name_words){ text }) ? GOHTTP2_H_##number:
#include "probes/gohttp2/gohttp2_names.def"
#undef NAME
		GOHTTP2_H_OTHER;
}

/* A header that --header names: looked up in the map. */
static __always_inline void take_other(struct gohttp2_scratch *s, const struct gohttp2_hf *hf)
{
	const struct gohttp2_name_val *want;
	__u64 len = hf->name.len;

	__builtin_memset(&s->name, 0, sizeof(s->name));
	barrier_var(len);
	if (len > GOHTTP2_NAME_BYTES)
		return;
	if (bpf_probe_read_user(s->name.name, len, (void *)hf->name.ptr)) {
		s->lasts = 0;
		MISS(header_name);
		return;
	}
#pragma unroll
	for (int i = 0; i < GOHTTP2_NAME_BYTES / 8; i++)
		((__u64 *)s->name.name)[i] = lower(((__u64 *)s->name.name)[i]);
	want = bpf_map_lookup_elem(&gohttp2_names, &s->name);
	if (want)
		add_value(s, want->header, len, want->secret ? 0 : hf->value.ptr, hf->value.len);
}

/*
 * Names that are literals lie in read-only memory and are read once. The result is one word of the layout, so that
 * it is either complete or absent; the number stored is enum gohttp2_header + 1.
 */
static __always_inline bool is_literal(const struct gohttp2_layout *l, __u64 ptr, __u64 len)
{
	return ptr >= l->fixed_lo && ptr < l->fixed_hi && len <= l->fixed_hi - ptr;
}

/* Number of the header with this name, GOHTTP2_H_OTHER if not always selected; -1 = unreadable. */
static __always_inline int header_of(struct gohttp2_layout *l, const struct gohttp2_string *s)
{
	__u64 ptr = s->ptr, len = s->len, *known = &l->names[slot_of(ptr) & (GOHTTP2_LEARNT - 1)], k = *known;
	union name_words name = { "" };
	__u32 header;

	if (k >> 8 == (ptr << 8 | len))
		return (int)(k & 0xff) - 1;
	barrier_var(len);
	if (len > sizeof(name) || bpf_probe_read_user(&name, len, (void *)ptr))
		return -1;
	name.w[0] = lower(name.w[0]);
	name.w[1] = lower(name.w[1]);
	header = known_header(&name);
	if (is_literal(l, ptr, len) && !(ptr >> 48))
		*known = ptr << 16 | len << 8 | (header + 1);
	return header;
}

/*
 * Adds a literal value of one to three bytes, such as most statuses, and reads it once: one word of the layout holds
 * its address, length and bytes.
 */
static __noinline int add_short(struct gohttp2_scratch *s, struct gohttp2_layout *l, __u32 header, __u64 ptr,
				__u64 len)
{
	__u64 *known = &l->values[slot_of(ptr) & (GOHTTP2_LEARNT_VALUES - 1)], k = *known;
	__u64 name = (ptr - l->fixed_lo) << 8 | len;
	struct gohttp2_field *f;
	__u32 off, bytes = 0;

	if (k >> 24 != name) {
		if (bpf_probe_read_user(&bytes, len & 3, (void *)ptr))
			return add_value(s, header, 0, ptr, len);
		*known = k = name << 24 | bytes;
	}
	off = s->off;
	if (off > DATA_BYTES - VALUE_BYTES - 64) {
		s->lasts = 0;
		MISS(header_room_short);
		return 0;
	}
	barrier_var(off);
	off &= DATA_BYTES - 1;
	f = (void *)&s->data[off];
	*f = (struct gohttp2_field){ .header = header, .value_len = len, .full_len = len };
	*(__u32 *)&s->data[off + sizeof(*f)] = k & 0xffffff;
	s->off = off + sizeof(*f) + (len & 3);
	return 0;
}

static __always_inline int add_known(struct gohttp2_scratch *s, struct gohttp2_layout *l, __u32 header,
				     const struct gohttp2_string *v)
{
	bool narrow = !((l->fixed_hi - l->fixed_lo) >> 32);

	if (v->len - 1 < 3 && v->len <= gohttp2_value_bytes && narrow && is_literal(l, v->ptr, v->len))
		return add_short(s, l, header, v->ptr, v->len);
	return add_value(s, header, 0, v->ptr, v->len);
}

static __always_inline bool is_request_of(__u8 side, __u8 flags)
{
	bool sent = flags & GOHTTP2_F_SENT;

	return sent == (side == GOHTTP2_SIDE_CLIENT);
}

static __always_inline bool is_request(const struct gohttp2_frame_rec *r)
{
	return is_request_of(r->side, r->flags);
}

/* A map of trailers also holds the headers, which were sent before. */
static __always_inline bool is_map_of_trailers(const struct gohttp2_scratch *s)
{
	return !s->fields.ptr && !s->rec.code && !is_request(&s->rec);
}

/* Is the string immutable? Received strings are until the next epoch. */
static __always_inline bool is_lasting(const struct gohttp2_scratch *s, const struct gohttp2_layout *l,
				       const struct gohttp2_string *v)
{
	return !(s->rec.flags & GOHTTP2_F_SENT) || !v->len || is_literal(l, v->ptr, v->len);
}

/* Adds a header whose name has a selected length. */
static __always_inline int take_field(struct gohttp2_scratch *s, struct gohttp2_layout *l,
				      const struct gohttp2_hf *hf)
{
	__u64 len = hf->name.len;

	if (!is_lasting(s, l, &hf->name) || !is_lasting(s, l, &hf->value))
		s->lasts = 0;
	if (len <= sizeof(union name_words) && known_lengths >> len & 1) {
		int header = header_of(l, &hf->name);

		if (header < 0) {
			s->lasts = 0;
			MISS(header_known);
			return 0;
		}
		s->header = header;	/* else the verifier explores each of a dozen values */
		barrier();
		header = s->header;
		if (header != GOHTTP2_H_OTHER && s->selected >> (header & 31) & 1)
			return add_known(s, l, header, &hf->value);
	}
	if (gohttp2_lengths >> hf->name.len & 1 && !is_map_of_trailers(s))
		take_other(s, hf);
	return 0;
}

/* ---- the header cache ---- */

/*
 * May the headers in s->hf be cached? Not where preemption cannot be disabled (@alone); the verifier then skips the
 * cache.
 */
static __always_inline bool may_repeat(const struct gohttp2_scratch *s, __u32 n, bool alone)
{
	return alone && s->who.epoch && s->fields.ptr && !s->off && n <= AGAIN_HEADERS &&
	       !(s->rec.flags & GOHTTP2_F_WEB);
}

/* Headers of a frame, to be compared with those in the cache. */
struct places {
	const struct gohttp2_hf *hf;
	__u64 conn;
	__u64 lengths;		/* of selected names */
	__u32 n;
	__u32 selected;
};

/*
 * All bits set if the @i-th header is selected, else none. Without a branch, so that loops may have a constant number
 * of steps, beyond the last header.
 */
static __always_inline __u64 looked_at(const struct places *p, __u32 i)
{
	return -(p->lengths >> (p->hf[i].name.len & 63) & 1) & -(__u64)((i - p->n) >> 31);
}

/* Fingerprint of the addresses of the selected values; never 0. @most: a constant, at least p->n. */
static __always_inline __u64 print_of(const struct places *p, __u32 most)
{
	__u64 print = p->conn;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < most; i++) {
		print += (p->hf[i].value.ptr & looked_at(p, i)) << i;
		barrier(); /* else clang keeps what it reads */
	}
	return print * 0x9e3779b97f4a7c15ull | 1;
}

static __always_inline struct gohttp2_header_cache *again_in(struct gohttp2_cpu *cpu, __u64 print)
{
	if (!cpu)
		return NULL;
	barrier_var(cpu);	/* else clang 19 adds before it compares, which the verifier refuses */
	return &cpu->again[print >> 32 & (AGAIN_SLOTS - 1)];
}

static __always_inline bool same_places(const struct places *p, const struct gohttp2_hf *a, __u32 most)
{
	const struct gohttp2_hf *b = p->hf;
	__u64 differ = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < most; i++) {
		differ |= ((a[i].name.len ^ b[i].name.len) & -(__u64)((i - p->n) >> 31)) |
			  (looked_at(p, i) & ((a[i].name.ptr ^ b[i].name.ptr) |
			   (a[i].value.ptr ^ b[i].value.ptr) | (a[i].value.len ^ b[i].value.len)));
		barrier();
	}
	return !differ;
}

/* Does the entry hold the fields of this frame? */
static __always_inline bool is_again(const struct places *p, const struct gohttp2_who *who,
				     const struct gohttp2_header_cache *a, __u64 print, __u32 most)
{
	return a->print == print && a->epoch == who->epoch && a->tgid == who->tgid && a->selected == p->selected &&
	       a->n == p->n && same_places(p, a->hf, most);
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
	a->epoch = s->who.epoch;
	a->tgid = s->who.tgid;
	a->selected = s->selected;
	a->n = n;
	a->len = s->off;
	__builtin_memcpy(a->hf, s->hf, sizeof(a->hf));
	__builtin_memcpy(a->data, s->data, sizeof(a->data));
}

/* ---- payload ---- */

/* Body of the loop below. */
static long take_piece(__u32 i, struct walk *w)
{
	struct gohttp2_scratch *s = w->s;
	const struct gohttp2_slice *p = &s->pieces[i & (PIECES - 1)];
	__u32 off = s->off, take = capped(p->len, s->payload);
	struct gohttp2_field *f;

	if (!p->len || off > DATA_BYTES - VALUE_BYTES - 64)
		return 0;
	barrier_var(off);
	off &= DATA_BYTES - 1;
	f = (void *)&s->data[off];
	*f = (struct gohttp2_field){
		.header = GOHTTP2_H_PAYLOAD,
		.flags = take < p->len ? GOHTTP2_FIELD_CUT : 0,
		.full_len = capped(p->len, 65535),
	};
	off += sizeof(*f);
	take &= VALUE_BYTES - 1;
	if (take && bpf_probe_read_user(&s->data[off & (DATA_BYTES - 1)], take, (void *)p->ptr)) {
		f->flags |= GOHTTP2_FIELD_FAULT;
		take = 0;
		MISS(payload);
	}
	f->value_len = take;
	s->payload -= take;
	s->off = off + take;
	return 0;
}

static __always_inline void take_pieces(struct gohttp2_scratch *s)
{
	struct walk w = { .s = s };

	s->payload = gohttp2_payload;
	if (loops_there())
		bpf_loop(PIECES, take_piece, &w, 0);
	else
		for (__u32 i = 0; i < PIECES; i++)
			take_piece(i, &w);
}

/* ---- all headers of a frame ---- */

/*
 * Response headers of gRPC's server of which none is selected. Their status is always 200 (PROTOCOL-HTTP2.md,
 * "Responses").
 */
static __always_inline bool is_plain_response(__u8 side, __u8 flags)
{
	return side == GOHTTP2_SIDE_SERVER &&
	       (flags & (GOHTTP2_F_SENT | GOHTTP2_F_WEB | GOHTTP2_F_END_STREAM)) == GOHTTP2_F_SENT &&
	       !gohttp2_lengths;
}

/* gRPC's transport sends POST requests only, and its responses have the content-type of the request. */
static __always_inline __u32 selected_headers(__u8 side, __u8 flags)
{
	if (flags & GOHTTP2_F_WEB)
		return ~0u;
	if (is_request_of(side, flags))
		return ~(1u << GOHTTP2_H_METHOD);
	return flags & GOHTTP2_F_SENT ? ~(1u << GOHTTP2_H_CONTENT_TYPE) : ~0u;
}

/* Without ":method", names of its length need not be read; ":scheme" is never selected. */
static __always_inline __u64 selected_lengths(__u32 selected)
{
	__u64 known = known_lengths;

	if (!(selected & 1u << GOHTTP2_H_METHOD))
		known &= ~(1ull << (sizeof(":method") - 1));
	return known | gohttp2_lengths;
}

/* Body of the loop below. */
static long take_nth(__u32 i, struct walk *w)
{
	const struct gohttp2_hf *hf = &w->s->hf[i & (HF_MAX - 1)];
	__u64 len = hf->name.len;

	if (len <= GOHTTP2_NAME_BYTES && w->s->lengths >> len & 1)
		take_field(w->s, w->l, hf);
	return 0;
}

static __always_inline void walk_fields(struct gohttp2_scratch *s, struct gohttp2_layout *l, __u32 have)
{
	struct walk w = { s, l };

	if (loops_there())
		bpf_loop(have, take_nth, &w, 0);
	else
		for (__u32 i = 0; i < HF_MAX && i < have; i++)
			take_nth(i, &w);
}

/*
 * Reads the headers of the frame, s->fields, for every probe site: one reader is a fifth of the verifier's work.
 * Returns the cache entry that holds the fields, or NULL if they are in s->data.
 */
static __always_inline const struct gohttp2_header_cache *take_fields(struct gohttp2_scratch *s,
								      struct gohttp2_layout *l, bool alone)
{
	struct gohttp2_header_cache *again = NULL;
	struct places p = { .hf = s->hf, .conn = s->rec.conn };
	__u64 print = 0, n = s->fields.len;
	__u32 have = capped(n, HF_MAX);

	s->rec.n_fields = capped(n, 65535);
	if (n > HF_MAX) {
		s->rec.flags |= GOHTTP2_F_MORE_FIELDS;
		MISS(header_count);
	}
	if (is_plain_response(s->rec.side, s->rec.flags)) {
		s->rec.code = 200;
		return NULL;
	}
	s->selected = selected_headers(s->rec.side, s->rec.flags);
	if (s->fields.ptr)
		s->lengths = selected_lengths(s->selected);
	barrier_var(have); /* verifiers before 6.2 lose bounds when a register is narrowed */
	if (!have || have > HF_MAX)
		return NULL;
	if (s->fields.ptr && bpf_probe_read_user(s->hf, have * HF_BYTES, (void *)s->fields.ptr)) {
		MISS(fields);
		return NULL;
	}
	if (may_repeat(s, have, alone)) {
		p.n = have;
		p.lengths = s->lengths;
		p.selected = s->selected;
		print = print_of(&p, AGAIN_HEADERS);
		again = again_in(my_cpu(), print);
		if (again)
			fetch(again, sizeof(*again));
	}
	if (again && is_again(&p, &s->who, again, print, AGAIN_HEADERS))
		return again;
	s->lasts = 1;
	walk_fields(s, l, have);
	if (again)
		keep_fields(s, again, print, have);
	return NULL;
}

#endif
