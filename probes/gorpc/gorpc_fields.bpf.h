/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The headers of a frame: those that were asked for are copied at once, for the array that holds them is used again
 * when the function returns. Most are told apart by the length of their name alone, those that are always looked for
 * without a map. Values of secrets stay where they are.
 */
#ifndef GORPC_FIELDS_BPF_H
#define GORPC_FIELDS_BPF_H

#include "probes/gorpc/gorpc_state.bpf.h"

static __always_inline __u32 capped(__u64 n, __u32 max)
{
	return n > max ? max : (__u32)n;
}

/* Appends one field: @name_len bytes of s->name, then the value. */
static __noinline int add_value(struct gorpc_scratch *s, __u32 header, __u32 name_len, __u64 ptr, __u64 len)
{
	struct gorpc_field *f;
	__u32 off, take = capped(len, gorpc_value_bytes);

	off = s->off;
	if (off > DATA_BYTES - VALUE_BYTES - 64) {
		TELL(header_room);
		return 0;
	}
	barrier_var(off); /* a bound that verifiers before 6.2 see too */
	off &= DATA_BYTES - 1;
	f = (void *)&s->data[off];
	f->header = header;
	f->flags = take < len ? GORPC_FIELD_CUT : 0;
	f->name_len = 0;
	f->pad = 0;
	f->full_len = capped(len, 65535);
	off += sizeof(*f);
	if (header == GORPC_H_OTHER) {
		f->name_len = name_len;
		__builtin_memcpy(&s->data[off], s->name.name, sizeof(s->name.name));
		off += name_len & (GORPC_NAME_BYTES * 2 - 1);
	}
	if (!ptr) {
		f->flags = GORPC_FIELD_SECRET;
		take = 0;
	}
	take &= VALUE_BYTES - 1;
	if (take && bpf_probe_read_user(&s->data[off & (DATA_BYTES - 1)], take, (void *)ptr)) {
		f->flags |= GORPC_FIELD_FAULT;
		take = 0;
		TELL(header_value);
	}
	f->value_len = take;
	s->off = off + take;
	return 0;
}

#define NAME(text, number) | 1ull << (sizeof(text) - 1)
static const __u64 known_lengths = 0
#include "probes/gorpc/gorpc_names.def"
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

/* GORPC_H_OTHER: none of those that are always looked for. @n: zero behind the name. */
static __always_inline __u32 known_header(const union name_words *n)
{
	return
#define NAME(text, number) same_name(n, (union name_words){ text }) ? GORPC_H_##number :
#include "probes/gorpc/gorpc_names.def"
#undef NAME
		GORPC_H_OTHER;
}

/* One whose name is in the map: somebody asked for it. */
static __always_inline void take_other(struct gorpc_scratch *s, const struct gorpc_hf *hf)
{
	const struct gorpc_name_val *want;
	__u64 len = hf->name.len;

	__builtin_memset(&s->name, 0, sizeof(s->name));
	barrier_var(len);
	if (len > GORPC_NAME_BYTES)
		return;
	if (bpf_probe_read_user(s->name.name, len, (void *)hf->name.ptr)) {
		TELL(header_name);
		return;
	}
	want = bpf_map_lookup_elem(&gorpc_names, &s->name);
	if (want)
		add_value(s, want->header, len, want->secret ? 0 : hf->value.ptr, hf->value.len);
}

/* Header @i of the frame. */
static __noinline int take_field(struct gorpc_scratch *s, __u32 i)
{
	union name_words name = { "" };
	struct gorpc_hf *hf;
	__u32 header;
	__u64 len;

	if (i >= HF_MAX)
		return 0;
	hf = &s->hf[i];
	len = hf->name.len;
	if (len == 0 || len > GORPC_NAME_BYTES || !(s->lengths >> len & 1))
		return 0;
	barrier_var(len);
	if (len <= sizeof(name) && known_lengths >> len & 1) {
		if (bpf_probe_read_user(&name, len, (void *)hf->name.ptr)) {
			TELL(header_known);
			return 0;
		}
		header = known_header(&name);
		if (header != GORPC_H_OTHER)
			return add_value(s, header, 0, hf->value.ptr, hf->value.len);
	}
	if (gorpc_lengths >> hf->name.len & 1)
		take_other(s, hf);
	return 0;
}

/* Of gRPC's requests, all are POST: the length that ":method" and ":scheme" share is not even looked at. */
static __always_inline __u64 wanted_lengths(const struct gorpc_frame_rec *r)
{
	bool sent = r->flags & GORPC_F_SENT, request = sent == (r->side == GORPC_SIDE_CLIENT);
	__u64 known = known_lengths;

	if (request && !(r->flags & GORPC_F_WEB))
		known &= ~(1ull << (sizeof(":method") - 1));
	return known | gorpc_lengths;
}

/*
 * The headers of the frame, s->fields. What leads here only says where they are: one place that reads them is a fifth
 * of the verifier's work.
 */
static __always_inline void take_fields(struct gorpc_scratch *s)
{
	__u64 n = s->fields.len;
	__u32 have = capped(n, HF_MAX);

	s->rec.n_fields = capped(n, 65535);
	if (n > HF_MAX) {
		s->rec.flags |= GORPC_F_MORE_FIELDS;
		TELL(header_count);
	}
	s->lengths = wanted_lengths(&s->rec);
	barrier_var(have); /* verifiers before 6.2 forget the bound of what comes from a wider one */
	if (!have || have > HF_MAX)
		return;
	if (bpf_probe_read_user(s->hf, have * HF_BYTES, (void *)s->fields.ptr)) {
		TELL(fields);
		return;
	}
	for (__u32 i = 0; i < HF_MAX; i++) {
		if (i >= have)
			break;
		take_field(s, i);
	}
}

#endif
