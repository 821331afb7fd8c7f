/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* One hit of a place: whose connection, which frame. What all places need. */
#ifndef GOHTTP2_HIT_BPF_H
#define GOHTTP2_HIT_BPF_H

#include "probes/gohttp2/bpf/gohttp2_conns.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

struct hit {
	struct gohttp2_scratch *s;
	struct gohttp2_layout *l;
	const struct gohttp2_near *near; /* of a request: has what is not in the record yet, NULL = nothing */
	__u64 map;		/* of headers, 0 = they are no map; s->lengths says which of them are looked at */
	bool not_ours;
};

/* ---- connections ---- */

/* The key of a connection is the object behind the net.Conn at @addr. */
static __always_inline bool take_key(struct hit *h, __u64 addr, struct gohttp2_iface *ret)
{
	if (!addr || read_user(ret, sizeof(*ret), addr) || !ret->data) {
		TELL(conn);
		return false;
	}
	h->s->rec.conn = ret->data;
	return true;
}

static __always_inline __u64 member(__u64 base, __u16 off)
{
	return base && off != GOHTTP2_NO_OFF ? base + off : 0;
}

/* Where a loopyWriter's net.Conn is: its own since 1.54, before that the buffered writer's. */
static __always_inline __u64 loopy_conn(const struct gohttp2_layout *l, __u64 loopy)
{
	if (l->loopy_conn != GOHTTP2_NO_OFF)
		return member(loopy, l->loopy_conn);
	return member(word_at(word_at(loopy, l->loopy_framer), l->framer_writer), l->bufw_conn);
}

static __always_inline void take_goroutine(struct hit *h)
{
	struct gohttp2_frame_rec *r = &h->s->rec;
	__u64 g = h->s->g;

	if (h->l->goid == GOHTTP2_NO_OFF)
		return;
	if (read_span(h->s, g, h->l->goid, h->l->parent_goid)) {
		r->goid = span_word(h->s, 0);
		r->parent_goid = span_word(h->s, (__u32)h->l->parent_goid - h->l->goid);
		return;
	}
	if (!g || read_user(&r->goid, sizeof(r->goid), g + h->l->goid))
		TELL(goroutine);
	r->parent_goid = word_at(g, h->l->parent_goid);
}

/* What belongs to the beginning of a call; the connection is remembered until @close as what @addr points to. */
static __always_inline void take_origin(struct hit *h, const struct gohttp2_iface *conn, __u64 addr,
					enum gohttp2_place close)
{
	take_goroutine(h);
	remember(h->s, h->l, addr, take_conn(h->s, h->l, conn), close);
}

/* ---- frames ---- */

/* A frame's own header, @head: stream and flags. */
static __always_inline bool take_head(struct hit *h, const __u8 *head)
{
	__u32 flags_off = h->l->frame_flags, stream_off = h->l->frame_stream;
	struct gohttp2_frame_rec *r = &h->s->rec;

	if (flags_off >= FRAME_BYTES || stream_off > FRAME_BYTES - 4)
		return false;
	barrier_var(flags_off);
	barrier_var(stream_off);
	r->stream = u32_in(&head[stream_off & (FRAME_BYTES - 4)]);
	if (head[flags_off & (FRAME_BYTES - 1)] & 1)	/* END_STREAM, RFC 9113 6.1 and 6.2 */
		r->flags |= GOHTTP2_F_END_STREAM;
	return true;
}

/* All of it at once: FrameHeader has 12 bytes and frames are larger. */
static __always_inline bool take_frame(struct hit *h, __u64 addr)
{
	if (addr && !read_user(h->s->frame, FRAME_BYTES, addr) && take_head(h, h->s->frame))
		return true;
	TELL(frame);
	return false;
}

/*
 * A MetaHeadersFrame: *HeadersFrame first, then the slice of fields. Both are of one size class and made one after
 * the other, so mostly the HeadersFrame lies right in front of it.
 */
static __always_inline bool take_meta(struct hit *h, __u64 frame)
{
	__u16 fields = h->l->meta_fields;
	__u32 front = META_FRONT;

	if (fields > SPAN_BYTES - META_FRONT - 16 || !frame ||
	    !read_span(h->s, frame - META_FRONT, 0, fields + META_FRONT + 8)) {
		front = 0;
		if (!read_span(h->s, frame, 0, fields == GOHTTP2_NO_OFF ? fields : fields + 8)) {
			TELL(meta);
			return false;
		}
	}
	h->s->fields.ptr = span_word(h->s, front + fields);
	h->s->fields.len = span_word(h->s, front + fields + 8);
	if (front && span_word(h->s, front) == frame - META_FRONT && take_head(h, h->s->span))
		return true;
	return take_frame(h, span_word(h->s, front));
}

#endif
