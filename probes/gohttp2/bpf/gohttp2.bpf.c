// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * HTTP/2 frames of Go programs, probed where gRPC's transport and net/http read and write them. One BPF program
 * serves all probe sites: the attach cookie identifies the site, a map holds the layout of each process. Processes
 * without a layout are ignored.
 *
 * The programs neither write to the process nor place return probes on its stack, and never block it.
 *
 * Headers that a server or client of net/http or x/net sends are walked in the Go map that holds them (runtime/map.go
 * up to Go 1.23, internal/runtime/maps since): trailers of gRPC, headers that describe a request, those that --header
 * names; of several values the first. The head of the map is assumed, the layout of its groups comes from the file.
 */
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/plain.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_conns.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_fields.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_serve.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_string_cache.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* ---- a hit ---- */

struct hit {
	struct gohttp2_scratch *s;
	struct gohttp2_layout *l;
	const struct gohttp2_near *near; /* origin that the record of a request lacks; NULL = none */
	__u64 map;		/* of headers to walk, by s->lengths; 0 = headers are an array */
	bool not_ours;
};

/* ---- connections ---- */

/* Reads the key of a connection: the object behind the net.Conn at @addr. */
static __always_inline bool take_key(struct hit *h, __u64 addr, struct gohttp2_iface *ret)
{
	if (!addr || read_user(ret, sizeof(*ret), addr) || !ret->data) {
		MISS(conn);
		return false;
	}
	h->s->rec.conn = ret->data;
	return true;
}

static __always_inline __u64 member(__u64 base, __u16 off)
{
	return base && off != GOHTTP2_NO_OFF ? base + off : 0;
}

/* Address of a loopyWriter's net.Conn: its own since 1.54, before that in the buffered writer. */
static __always_inline __u64 loopy_conn(const struct gohttp2_layout *l, __u64 loopy)
{
	if (l->loopy_conn != GOHTTP2_NO_OFF)
		return member(loopy, l->loopy_conn);
	return member(word_at(word_at(loopy, l->loopy_framer), l->framer_writer), l->bufw_conn);
}

static __always_inline void take_goroutine(struct hit *h)
{
	struct gohttp2_frame_rec *r = &h->s->rec;
	__u64 g = h->s->regs.g;

	if (h->l->goid == GOHTTP2_NO_OFF)
		return;
	if (read_span(h->s, g, h->l->goid, h->l->parent_goid)) {
		r->goid = span_word(h->s, 0);
		r->parent_goid = span_word(h->s, (__u32)h->l->parent_goid - h->l->goid);
		return;
	}
	if (!g || read_user(&r->goid, sizeof(r->goid), g + h->l->goid))
		MISS(goroutine);
	r->parent_goid = word_at(g, h->l->parent_goid);
}

/* Fills the origin of a request and caches its connection under @addr until probe site @close. */
static __always_inline void take_origin(struct hit *h, const struct gohttp2_iface *conn, __u64 addr,
					enum gohttp2_site close)
{
	take_goroutine(h);
	remember(h->s, h->l, addr, take_conn(h->s, h->l, conn), close);
}

/* ---- frames ---- */

/* Takes stream and flags from a frame header. */
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

/* Reads the frame header at once: FrameHeader has 12 bytes and frames are larger. */
static __always_inline bool take_frame(struct hit *h, __u64 addr)
{
	if (addr && !read_user(h->s->frame, FRAME_BYTES, addr) && take_head(h, h->s->frame))
		return true;
	MISS(frame);
	return false;
}

/*
 * A MetaHeadersFrame starts with *HeadersFrame, then the slice of fields. Both are allocated in sequence from one
 * size class, so the HeadersFrame mostly lies right before it: one read covers both.
 */
static __always_inline bool take_meta(struct hit *h, __u64 frame)
{
	__u16 fields = h->l->meta_fields;
	__u32 front = META_FRONT;

	if (fields > SPAN_BYTES - META_FRONT - 16 || !frame ||
	    !read_span(h->s, frame - META_FRONT, 0, fields + META_FRONT + 8)) {
		front = 0;
		if (!read_span(h->s, frame, 0, fields == GOHTTP2_NO_OFF ? fields : fields + 8)) {
			MISS(meta);
			return false;
		}
	}
	h->s->fields.ptr = span_word(h->s, front + fields);
	h->s->fields.len = span_word(h->s, front + fields + 8);
	if (front && span_word(h->s, front) == frame - META_FRONT && take_head(h, h->s->span))
		return true;
	return take_frame(h, span_word(h->s, front));
}

/* ---- headers in a Go map ---- */

#define MAP_GROUPS 16		/* groups read at most: up to 128 entries */
#define MAP_SLOTS 8
#define BUCKET_BYTES 336	/* eight marks, keys (strings), values (slices), pointer to the next bucket */
#define PAGE_LEAST 4096		/* smallest page, bytes; others are multiples */
#define BUCKET_NEXT 328		/* offset; the size of a group since Go 1.24 */
#define TABLE_GROUPS 16		/* offset in a table: its groups, their number - 1 */
#define LENGTH_OF(name) (1ull << (sizeof(name) - 1))
#define OLDEST_MARK 5		/* lowest mark of a used slot: runtime/map.go, minTopHash */

/* Head of a map of either kind. */
struct go_map {
	__u64 count;
	__u64 bits;		/* up to Go 1.23: flags, log2 of the number of buckets */
	__u64 entries;
	__u64 more;		/* up to Go 1.23: old buckets while the map grows; since: tables */
};

/* Finds the groups of the map at @addr. */
static __always_inline bool find_groups(const struct gohttp2_layout *l, __u64 addr, struct gohttp2_groups *ret)
{
	struct go_map m;
	__u64 table = 0;

	if (read_user(&m, sizeof(m), addr))
		return false;
	ret->old = 0;
	if (l->map_kind == GOHTTP2_MAP_BUCKETS) {
		ret->left = (1ull << (m.bits >> 8 & 31)) - 1;
		ret->old = m.more;
	} else if (m.more) { /* one table, until it is full */
		if (read_user(&table, sizeof(table), m.entries) ||
		    read_user(&m.entries, 2 * sizeof(__u64), table + TABLE_GROUPS))
			return false;
		ret->left = m.more;
	} else {
		ret->left = 0;
	}
	ret->at = ret->row = m.entries;
	ret->half = ret->left / 2;
	return true;
}

static __always_inline bool in_use(const struct gohttp2_layout *l, __u8 mark)
{
	return l->map_kind == GOHTTP2_MAP_BUCKETS ? mark >= OLDEST_MARK : !(mark & 0x80);
}

/* Adds a header to the frame: name and first value of the list. */
static __noinline int add_entry(struct gohttp2_scratch *s, const struct gohttp2_string *key,
				const struct gohttp2_string *list)
{
	struct gohttp2_hf *hf = &s->hf[s->fields.len & (HF_MAX - 1)];

	if (!list->len || s->fields.len >= HF_MAX)
		return 0;
	hf->name = *key;
	if (read_user(&hf->value, sizeof(hf->value), list->ptr))
		MISS(map_value);
	else
		s->fields.len++;
	return 0;
}

/* Adds the selected entries of the group in s->group. */
static __always_inline void take_group(struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	bool pairs = l->map_kind == GOHTTP2_MAP_PAIRS;

	/* unrolled: clang enters the loop in its middle, which verifiers before 6.2 reject */
#pragma unroll
	for (__u32 i = 0; i < MAP_SLOTS; i++) {
		const struct gohttp2_string *key = (void *)&s->group[8 + i * (pairs ? 40 : 16)];
		const struct gohttp2_string *list = (void *)&s->group[pairs ? 24 + i * 40 : 136 + i * 24];

		if (in_use(l, s->group[i]) && key->len <= GOHTTP2_NAME_BYTES && s->lengths >> key->len & 1)
			add_entry(s, key, list);
	}
}

/*
 * Reads the group at @addr. Its last slots may lie on a page that the program never touched, which reads as a fault:
 * zero marks are free slots of a bucket; groups since Go 1.24 are always written.
 */
static __always_inline bool read_group(struct gohttp2_scratch *s, __u64 addr, bool buckets)
{
	__u32 here = PAGE_LEAST - (addr & (PAGE_LEAST - 1));

	if (!read_user(s->group, BUCKET_NEXT, addr))
		return true;
	__builtin_memset(s->group, 0, BUCKET_NEXT);
	barrier_var(here);
	if ((here < BUCKET_NEXT && !read_user(s->group, here, addr)) || buckets)
		return true;
	MISS(map_group);
	return false;
}

/* Reads the current group of s->groups and advances. False after the last. */
static __noinline int next_group(struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	struct gohttp2_groups *g = &s->groups;
	bool buckets = l->map_kind == GOHTTP2_MAP_BUCKETS;
	__u64 next = 0;

	if (!g->at || !read_group(s, g->at, buckets))
		return 0;
	if (buckets)
		next = word_at(g->at, BUCKET_NEXT);
	if (!next && g->left) {
		g->left--;
		next = g->row += buckets ? BUCKET_BYTES : BUCKET_NEXT;
	} else if (!next && g->old) {
		next = g->row = g->old;
		g->left = g->half;
		g->old = 0;
	}
	g->at = next;
	return 1;
}

/* Body of bpf_loop(). */
static long walk_group(__u32 i, struct walk *w)
{
	if (!next_group(w->s, w->l))
		return 1;
	take_group(w->s, w->l);
	return 0;
}

/* Lengths of selected names of a response with HTTP status @code; trailers have none and carry gRPC's status. */
static __always_inline __u64 lengths_of_response(const struct gohttp2_scratch *s, __u32 code)
{
	__u64 lengths = code >= 200 ? gohttp2_lengths : 0;

	if (!code || s->rec.flags & GOHTTP2_F_END_STREAM)
		lengths |= LENGTH_OF("grpc-status") | LENGTH_OF("grpc-message");
	return lengths;
}

/* The same of a request. Pseudo-headers are not in the map. */
static __always_inline __u64 lengths_of_request(void)
{
	return gohttp2_lengths | LENGTH_OF("traceparent") | LENGTH_OF("user-agent") | LENGTH_OF("content-type") |
	       LENGTH_OF("grpc-timeout");
}

/* Reads the headers of @map whose names have a length in s->lengths. */
static __always_inline void take_map(struct gohttp2_scratch *s, struct gohttp2_layout *l, __u64 map)
{
	struct walk w = { s, l };

	if (!l->map_kind || !s->lengths)
		return;
	s->fields.ptr = 0;
	if (!find_groups(l, map, &s->groups)) {
		MISS(map);
		return;
	}
	if (loops_there())
		bpf_loop(MAP_GROUPS, walk_group, &w, 0);
}

/* ---- headers of gRPC's transport ---- */

static __always_inline void keep_loopy(const struct gohttp2_scratch *s, struct gohttp2_text *t, __u64 loopy,
				       __u64 side, const struct gohttp2_iface *conn)
{
	if (!t)
		return;
	t->words[0] = side;
	t->words[1] = conn->itab;
	t->words[2] = conn->data;
	name_text(t, s, loopy, TEXT_OF_LOOPY);
}

/* Key and side of a loopyWriter: one read since gRPC 1.54, where it has its own connection. */
static __always_inline bool take_loopy(struct hit *h, __u64 loopy, struct gohttp2_iface *conn, __u64 *side)
{
	__u16 side_off = h->l->loopy_side, conn_off = h->l->loopy_conn;
	__u32 far = (__u32)conn_off - side_off;
	struct gohttp2_text *t = h->s->who.epoch ? text_at(loopy) : NULL;

	if (t && is_text(t, &h->s->who, loopy, TEXT_OF_LOOPY)) {
		*side = t->words[0];
		conn->itab = t->words[1];
		conn->data = h->s->rec.conn = t->words[2];
		return true;
	}
	if (conn_off < GOHTTP2_NO_OFF - 8 && read_span(h->s, loopy, side_off, conn_off + 8)) {
		*side = span_word(h->s, 0);
		conn->itab = span_word(h->s, far);
		conn->data = h->s->rec.conn = span_word(h->s, far + 8);
		if (conn->data) {
			keep_loopy(h->s, t, loopy, *side, conn);
			return true;
		}
	}
	if (!take_key(h, loopy_conn(h->l, loopy), conn))
		return false;
	if (!read_user(side, sizeof(*side), loopy + side_off))
		return true;
	MISS(side);
	return false;
}

static __always_inline bool on_loopy(struct hit *h)
{
	__u64 loopy = arg(h->s, h->l, GOHTTP2_LOOPY_HEADERS, 0);
	struct gohttp2_frame_rec *r = &h->s->rec;
	struct gohttp2_iface conn;
	__u64 side = 0;

	if (!take_loopy(h, loopy, &conn, &side))
		return false;
	r->what = GOHTTP2_WHAT_HEADERS;
	r->side = side ? GOHTTP2_SIDE_SERVER : GOHTTP2_SIDE_CLIENT;
	r->flags |= GOHTTP2_F_SENT;
	r->stream = (__u32)arg(h->s, h->l, GOHTTP2_LOOPY_HEADERS, 1);
	if (arg(h->s, h->l, GOHTTP2_LOOPY_HEADERS, 2) & 0xff)
		r->flags |= GOHTTP2_F_END_STREAM;
	if (!side && !recall(h->s, h->l, conn.data))
		take_origin(h, &conn, conn.data, GOHTTP2_CLIENT_CLOSE);
	if (!side && gohttp2_serving)
		request_written(h->s, arg(h->s, h->l, GOHTTP2_LOOPY_HEADERS, 3));
	h->s->fields.ptr = arg(h->s, h->l, GOHTTP2_LOOPY_HEADERS, 3);
	h->s->fields.len = arg(h->s, h->l, GOHTTP2_LOOPY_HEADERS, 4);
	return true;
}

static __always_inline bool on_server_headers(struct hit *h)
{
	__u64 t = arg(h->s, h->l, GOHTTP2_SERVER_HEADERS, 0);
	struct gohttp2_iface conn;

	h->s->rec.what = GOHTTP2_WHAT_HEADERS;
	h->s->rec.side = GOHTTP2_SIDE_SERVER;
	h->near = nearby(h->s, h->l, t);
	if (!h->near && !recall(h->s, h->l, t)) {
		if (!take_key(h, member(t, h->l->server_conn), &conn))
			return false;
		take_origin(h, &conn, t, GOHTTP2_SERVER_CLOSE);
	}
	return take_meta(h, arg(h->s, h->l, GOHTTP2_SERVER_HEADERS, 1));
}

static __always_inline bool on_client_headers(struct hit *h)
{
	struct gohttp2_iface conn;

	h->s->rec.what = GOHTTP2_WHAT_HEADERS;
	h->s->rec.side = GOHTTP2_SIDE_CLIENT;
	if (gohttp2_serving)
		is_shared(h->s, word_at(h->s->regs.g, h->l->goid));
	if (!take_key(h, member(arg(h->s, h->l, GOHTTP2_CLIENT_HEADERS, 0), h->l->client_conn), &conn))
		return false;
	return take_meta(h, arg(h->s, h->l, GOHTTP2_CLIENT_HEADERS, 1));
}

/* ---- DATA, resets ---- */

/*
 * Payload of a received frame, at offset @data: a slice, or since gRPC 1.77 a mem.Buffer. That is either a
 * SliceBuffer, which is a slice, or a pooled buffer, whose slice is its second member; the frame's length identifies
 * which.
 */
static __always_inline void take_payload(struct hit *h, __u64 frame, __u16 data, bool boxed)
{
	struct gohttp2_iface box;
	__u64 words[3];

	if (!gohttp2_payload || !h->s->rec.bytes || data == GOHTTP2_NO_OFF)
		return;
	frame += data;
	if (boxed && !read_user(&box, sizeof(box), frame))
		frame = box.data;
	if (read_user(words, sizeof(words), frame)) {
		MISS(payload_place);
		return;
	}
	if (boxed && words[1] != h->s->rec.bytes) {
		words[0] = words[1];
		words[1] = words[2];
	}
	if (words[1] <= h->s->rec.bytes)
		h->s->pieces[0] = (struct gohttp2_slice){ words[0], words[1] };
	else
		MISS(payload_slice);
}

static __always_inline bool on_data(struct hit *h, enum gohttp2_site site, __u8 side, __u64 conn_addr)
{
	__u64 frame = arg(h->s, h->l, site, 1);
	struct gohttp2_iface conn;

	h->s->rec.what = GOHTTP2_WHAT_DATA;
	h->s->rec.side = side;
	if (!take_key(h, conn_addr, &conn) || !take_frame(h, frame))
		return false;
	h->s->rec.bytes = u32_at(frame, h->l->frame_length);
	take_payload(h, frame, h->l->grpc_data, h->l->data_boxed);
	return true;
}

static __always_inline bool on_reset(struct hit *h, enum gohttp2_site site, __u8 side, __u64 conn_addr)
{
	__u64 frame = arg(h->s, h->l, site, 1);
	struct gohttp2_iface conn;

	h->s->rec.what = GOHTTP2_WHAT_RESET;
	h->s->rec.side = side;
	if (!take_key(h, conn_addr, &conn) || !take_frame(h, frame))
		return false;
	h->s->rec.flags &= ~GOHTTP2_F_END_STREAM;
	h->s->rec.code = u32_at(frame, h->l->reset_code);
	return true;
}

/* Key of the connection that gRPC's Framer writes to, through a buffered writer. */
static __always_inline bool framer_key(struct hit *h, __u64 framer)
{
	struct gohttp2_iface w, conn;

	if (!framer || h->l->framer_w == GOHTTP2_NO_OFF || read_user(&w, sizeof(w), framer + h->l->framer_w)) {
		MISS(framer);
		return false;
	}
	if (h->l->bufw_type ? iface_type(&w) != h->l->bufw_type : h->l->bufw_conn == GOHTTP2_NO_OFF) {
		h->not_ours = true;	/* net/http's or x/net's */
		return false;
	}
	return take_key(h, member(w.data, h->l->bufw_conn), &conn);
}

static __always_inline bool on_write_reset(struct hit *h)
{
	struct gohttp2_frame_rec *r = &h->s->rec;

	r->what = GOHTTP2_WHAT_RESET;
	r->flags |= GOHTTP2_F_SENT;
	r->stream = (__u32)arg(h->s, h->l, GOHTTP2_WRITE_RESET, 1);
	r->code = (__u32)arg(h->s, h->l, GOHTTP2_WRITE_RESET, 2);
	return framer_key(h, arg(h->s, h->l, GOHTTP2_WRITE_RESET, 0));
}

/* The same for DATA sent by net/http or x/net. Connections are known from their first request on. */
static __always_inline bool web_framer_key(struct hit *h, __u64 framer)
{
	const struct gohttp2_web_conn *c = h->not_ours ? conn_of_framer(h->s, h->l, framer) : NULL;

	if (!c)
		return false;
	h->s->rec.conn = c->conn;
	h->s->rec.side = c->side;
	h->s->rec.flags |= GOHTTP2_F_WEB;
	return true;
}

static __always_inline bool on_framer_data(struct hit *h)
{
	__u64 framer = arg(h->s, h->l, GOHTTP2_FRAMER_DATA, 0);
	struct gohttp2_frame_rec *r = &h->s->rec;

	r->what = GOHTTP2_WHAT_DATA;
	r->flags |= GOHTTP2_F_SENT;
	r->stream = (__u32)arg(h->s, h->l, GOHTTP2_FRAMER_DATA, 1);
	if (arg(h->s, h->l, GOHTTP2_FRAMER_DATA, 2) & 0xff)
		r->flags |= GOHTTP2_F_END_STREAM;
	r->bytes = (__u32)arg(h->s, h->l, GOHTTP2_FRAMER_DATA, 4);
	if (!framer_key(h, framer) && !web_framer_key(h, framer))
		return false;
	h->s->pieces[0] = (struct gohttp2_slice){ arg(h->s, h->l, GOHTTP2_FRAMER_DATA, 3), r->bytes };
	return true;
}

/* Since gRPC 1.77: several pieces, each a slice. */
static __always_inline bool on_write_data(struct hit *h)
{
	__u64 framer = arg(h->s, h->l, GOHTTP2_WRITE_DATA, 0), pieces = arg(h->s, h->l, GOHTTP2_WRITE_DATA, 3);
	__u64 n = arg(h->s, h->l, GOHTTP2_WRITE_DATA, 4);
	struct gohttp2_frame_rec *r = &h->s->rec;
	struct gohttp2_iface conn;

	r->what = GOHTTP2_WHAT_DATA;
	r->flags |= GOHTTP2_F_SENT;
	r->stream = (__u32)arg(h->s, h->l, GOHTTP2_WRITE_DATA, 1);
	if (arg(h->s, h->l, GOHTTP2_WRITE_DATA, 2) & 0xff)
		r->flags |= GOHTTP2_F_END_STREAM;
	r->bytes = bytes_of_pieces(pieces, n);
	if (gohttp2_payload && read_user(h->s->pieces, sizeof(h->s->pieces[0]) * (n < PIECES ? 1 : PIECES), pieces))
		MISS(payload_pieces);
	return take_key(h, member(word_at(framer, h->l->framer_writer), h->l->bufw_conn), &conn);
}

/* ---- net/http and x/net/http2: the key is their connection object ---- */

static __always_inline void web(struct hit *h, __u64 object, __u8 side, __u8 what)
{
	h->s->rec.conn = object;
	h->s->rec.side = side;
	h->s->rec.what = what;
	h->s->rec.flags |= GOHTTP2_F_WEB;
}

static __always_inline void web_origin(struct hit *h, __u64 object, __u16 conn_off)
{
	struct gohttp2_iface conn;

	take_goroutine(h);
	if (!object || conn_off == GOHTTP2_NO_OFF || read_user(&conn, sizeof(conn), object + conn_off))
		MISS(conn_web);
	else
		take_conn(h->s, h->l, &conn);
}

static __always_inline bool on_web_headers(struct hit *h)
{
	__u64 sc = arg(h->s, h->l, GOHTTP2_WEB_HEADERS, 0);

	web(h, sc, GOHTTP2_SIDE_SERVER, GOHTTP2_WHAT_HEADERS);
	web_origin(h, sc, h->l->sc_conn);
	if (gohttp2_data)
		remember_framer(h->s, h->l, word_at(sc, h->l->sc_framer));
	return sc && take_meta(h, arg(h->s, h->l, GOHTTP2_WEB_HEADERS, 1));
}

static __always_inline bool on_web_response(struct hit *h)
{
	__u64 w = arg(h->s, h->l, GOHTTP2_WEB_RESPONSE, 0), sc = arg(h->s, h->l, GOHTTP2_WEB_RESPONSE, 1);
	struct gohttp2_frame_rec *r = &h->s->rec;

	web(h, sc, GOHTTP2_SIDE_SERVER, GOHTTP2_WHAT_HEADERS);
	r->flags |= GOHTTP2_F_SENT;
	r->stream = u32_at(w, h->l->res_stream);
	r->code = u32_at(w, h->l->res_code);
	if (word_at(w, h->l->res_end) & 0xff)
		r->flags |= GOHTTP2_F_END_STREAM;
	h->s->lengths = lengths_of_response(h->s, r->code);
	h->map = word_at(w, h->l->res_h);
	return sc && r->stream;
}

static __always_inline bool on_web_done(struct hit *h)
{
	__u64 sc = arg(h->s, h->l, GOHTTP2_WEB_DONE, 0);

	web(h, sc, GOHTTP2_SIDE_SERVER, GOHTTP2_WHAT_DONE);
	h->s->rec.stream = u32_at(arg(h->s, h->l, GOHTTP2_WEB_DONE, 1), h->l->st_id);
	if (gohttp2_serving)
		stream_ends(h->s, sc, h->s->rec.stream);
	return sc && h->s->rec.stream;
}

static __always_inline void add_string(struct gohttp2_scratch *s, __u32 header, __u64 addr)
{
	struct gohttp2_string text = { 0 };

	if (addr && !read_user(&text, sizeof(text), addr) && text.len)
		add_value(s, header, 0, text.ptr, text.len);
}

static __always_inline bool on_webc_request(struct hit *h)
{
	__u64 cs = arg(h->s, h->l, GOHTTP2_WEBC_REQUEST, 0), req = arg(h->s, h->l, GOHTTP2_WEBC_REQUEST, 1);
	__u64 cc = word_at(cs, h->l->cs_cc), url = word_at(req, h->l->req_url);
	struct gohttp2_string host = { 0 };

	web(h, cc, GOHTTP2_SIDE_CLIENT, GOHTTP2_WHAT_HEADERS);
	h->s->rec.flags |= GOHTTP2_F_SENT;
	h->s->rec.stream = u32_at(cs, h->l->cs_id);
	if (!cc || !h->s->rec.stream) {
		MISS(request);
		return false;
	}
	web_origin(h, cc, h->l->cc_conn);
	if (gohttp2_data)
		remember_framer(h->s, h->l, word_at(cc, h->l->cc_framer));
	add_string(h->s, GOHTTP2_H_METHOD, member(req, h->l->req_method));
	add_string(h->s, GOHTTP2_H_PATH, member(url, h->l->url_path));
	if (h->l->req_host != GOHTTP2_NO_OFF)
		read_user(&host, sizeof(host), req + h->l->req_host);
	if (host.len)
		add_value(h->s, GOHTTP2_H_AUTHORITY, 0, host.ptr, host.len);
	else
		add_string(h->s, GOHTTP2_H_AUTHORITY, member(url, h->l->url_host));
	h->s->lengths = lengths_of_request();
	h->map = word_at(req, h->l->req_header);
	return true;
}

static __always_inline bool on_webc_headers(struct hit *h)
{
	__u64 cc = word_at(arg(h->s, h->l, GOHTTP2_WEBC_HEADERS, 0), h->l->rl_cc);

	web(h, cc, GOHTTP2_SIDE_CLIENT, GOHTTP2_WHAT_HEADERS);
	if (gohttp2_serving)
		is_shared(h->s, word_at(h->s->regs.g, h->l->goid));
	return cc && take_meta(h, arg(h->s, h->l, GOHTTP2_WEBC_HEADERS, 1));
}

static __always_inline bool on_webc_done(struct hit *h)
{
	__u64 cc = arg(h->s, h->l, GOHTTP2_WEBC_DONE, 0);

	web(h, cc, GOHTTP2_SIDE_CLIENT, GOHTTP2_WHAT_DONE);
	h->s->rec.stream = (__u32)arg(h->s, h->l, GOHTTP2_WEBC_DONE, 1);
	return cc && h->s->rec.stream;
}

/* A frame received by net/http's client or server with connection object @conn. */
static __always_inline bool on_web_frame(struct hit *h, enum gohttp2_site site, __u8 side, __u8 what, __u64 conn)
{
	__u64 frame = arg(h->s, h->l, site, 1);

	web(h, conn, side, what);
	if (!conn || !take_frame(h, frame))
		return false;
	if (what == GOHTTP2_WHAT_DATA) {
		h->s->rec.bytes = u32_at(frame, h->l->frame_length);
		take_payload(h, frame, h->l->web_data, false);
	} else {
		h->s->rec.code = u32_at(frame, h->l->reset_code);
	}
	return true;
}

static __always_inline bool on_close(struct hit *h, enum gohttp2_site site, __u8 side, __u16 conn_off)
{
	__u64 t = arg(h->s, h->l, site, 0);
	struct gohttp2_iface conn;

	h->s->rec.what = GOHTTP2_WHAT_CONN_END;
	h->s->rec.side = side;
	if (side == GOHTTP2_SIDE_SERVER)
		forget_conn(h->s, h->l, t);
	if (!take_key(h, member(t, conn_off), &conn))
		return false;
	if (side == GOHTTP2_SIDE_CLIENT)
		forget_conn(h->s, h->l, conn.data);
	return true;
}

/* ---- client calls that fail before they are sent ---- */

struct begun_key {
	__u64 g;
	__u32 tgid, pad;
};

struct begun {
	struct gohttp2_string method;	/* in the program */
	__u64 ts_ns;
};

/* The call that a goroutine makes: it cannot make two at once. Successful calls leave theirs to the next one. */
MAP(gohttp2_begun, LRU_HASH, 8192, struct begun_key, struct begun);

static __always_inline void on_call(struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	struct begun_key key = { .g = s->regs.g, .tgid = s->who.tgid };
	struct begun b = { .method = { arg(s, l, GOHTTP2_CALL, 0), arg(s, l, GOHTTP2_CALL, 1) },
			   .ts_ns = bpf_ktime_get_boot_ns() };

	bpf_map_update_elem(&gohttp2_begun, &key, &b, BPF_ANY);
}

#define STATUS_UNKNOWN 2	/* of gRPC: an error without a status */

/* Status and message of an error: *status.Error points to the message, or to a struct that does. */
static __always_inline void take_status(struct hit *h, const struct gohttp2_iface *err)
{
	const struct gohttp2_layout *l = h->l;
	__u64 status = 0;

	h->s->rec.code = STATUS_UNKNOWN;
	if (iface_type(err) != l->status_type || !l->status_type)
		return;
	if (l->error_e != GOHTTP2_NO_OFF)
		status = word_at(err->data, l->error_e);
	else
		status = word_at(word_at(err->data, l->error_s), l->status_s);
	if (!status || l->status_code == GOHTTP2_NO_OFF)
		return;
	h->s->rec.code = u32_at(status, l->status_code);
	add_string(h->s, GOHTTP2_H_GRPC_MESSAGE, member(status, l->status_message));
}

/* False for a call that did not fail. */
static __always_inline bool on_call_failed(struct hit *h)
{
	struct begun_key key = { .g = h->s->regs.g, .tgid = h->s->who.tgid };
	struct gohttp2_frame_rec *r = &h->s->rec;
	struct gohttp2_iface err = { arg(h->s, h->l, GOHTTP2_CALL_FAILED, 0),
				     arg(h->s, h->l, GOHTTP2_CALL_FAILED, 1) };
	struct begun *b = err.itab ? bpf_map_lookup_elem(&gohttp2_begun, &key) : NULL;

	h->not_ours = !b;
	if (!b)
		return false;
	r->what = GOHTTP2_WHAT_UNSENT;
	r->side = GOHTTP2_SIDE_CLIENT;
	r->flags = GOHTTP2_F_SENT;
	r->conn = b->ts_ns;
	take_goroutine(h);
	add_value(h->s, GOHTTP2_H_PATH, 0, b->method.ptr, b->method.len);
	take_status(h, &err);
	return true;
}

/* ---- one hit ---- */

static __always_inline bool on_transport(struct hit *h, enum gohttp2_site site)
{
	const struct gohttp2_layout *l = h->l;
	__u64 t = arg(h->s, l, site, 0);

	switch (site) {
	case GOHTTP2_LOOPY_HEADERS: return on_loopy(h);
	case GOHTTP2_SERVER_HEADERS: return on_server_headers(h);
	case GOHTTP2_CLIENT_HEADERS: return on_client_headers(h);
	case GOHTTP2_SERVER_RESET: return on_reset(h, site, GOHTTP2_SIDE_SERVER, member(t, l->server_conn));
	case GOHTTP2_CLIENT_RESET: return on_reset(h, site, GOHTTP2_SIDE_CLIENT, member(t, l->client_conn));
	case GOHTTP2_WRITE_RESET: return on_write_reset(h);
	case GOHTTP2_SERVER_CLOSE: return on_close(h, site, GOHTTP2_SIDE_SERVER, l->server_conn);
	case GOHTTP2_CLIENT_CLOSE: return on_close(h, site, GOHTTP2_SIDE_CLIENT, l->client_conn);
	case GOHTTP2_SERVER_DATA: return on_data(h, site, GOHTTP2_SIDE_SERVER, member(t, l->server_conn));
	case GOHTTP2_CLIENT_DATA: return on_data(h, site, GOHTTP2_SIDE_CLIENT, member(t, l->client_conn));
	case GOHTTP2_FRAMER_DATA: return on_framer_data(h);
	case GOHTTP2_WRITE_DATA: return on_write_data(h);
	case GOHTTP2_CALL_FAILED: return on_call_failed(h);
	default:
		return false;
	}
}

static __always_inline bool on_web(struct hit *h, enum gohttp2_site site)
{
	const struct gohttp2_layout *l = h->l;
	__u64 first = arg(h->s, l, site, 0);

	switch (site) {
	case GOHTTP2_WEB_HEADERS: return on_web_headers(h);
	case GOHTTP2_WEB_RESPONSE: return on_web_response(h);
	case GOHTTP2_WEB_DONE: return on_web_done(h);
	case GOHTTP2_WEBC_REQUEST: return on_webc_request(h);
	case GOHTTP2_WEBC_HEADERS: return on_webc_headers(h);
	case GOHTTP2_WEBC_DONE: return on_webc_done(h);
	case GOHTTP2_WEB_DATA: return on_web_frame(h, site, GOHTTP2_SIDE_SERVER, GOHTTP2_WHAT_DATA, first);
	case GOHTTP2_WEB_RESET: return on_web_frame(h, site, GOHTTP2_SIDE_SERVER, GOHTTP2_WHAT_RESET, first);
	case GOHTTP2_WEBC_DATA:
		return on_web_frame(h, site, GOHTTP2_SIDE_CLIENT, GOHTTP2_WHAT_DATA, word_at(first, l->rl_cc));
	case GOHTTP2_WEBC_RESET:
		return on_web_frame(h, site, GOHTTP2_SIDE_CLIENT, GOHTTP2_WHAT_RESET, word_at(first, l->rl_cc));
	default:
		MISS(no_place);
		return false;
	}
}

/* A handler begins or ends, or a request is made. No frame. */
static __always_inline void on_serve(const struct hit *h, enum gohttp2_site site)
{
	const struct gohttp2_layout *l = h->l;
	__u64 t = arg(h->s, l, site, 0), stream = arg(h->s, l, site, 1);

	if (site == GOHTTP2_CLIENT_FIELDS) {
		request_made(h->s, l, t);
	} else if (site == GOHTTP2_SERVED) {
		handler_ends(h->s, l);
	} else if (site == GOHTTP2_SERVE) {
		if (l->server_stream != GOHTTP2_NO_OFF)
			stream = word_at(stream, l->server_stream);
		handler_begins(h->s, l, word_at(member(t, l->server_conn), sizeof(__u64)),
			       u32_at(stream, l->stream_id));
	} else {
		stream = word_at(word_at(stream, l->rw_state), l->state_stream);
		handler_begins(h->s, l, t, u32_at(stream, l->st_id));
	}
}

/* Reads what a hit has into scratch memory, without the headers of an array. False: counted, no record. */
static __noinline bool read_hit(struct bpf_user_regs *regs, struct gohttp2_layout *layout, __u32 site,
				struct sonde_ledger *l, const struct gohttp2_near **ret_near)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct hit h = { .s = my_scratch(), .l = layout };

	if (!h.s) {
		MISS(scratch);
		rec_lost(l, SONDE_LOST_COPY);
		return false;
	}
	h.s->who = (struct gohttp2_who){
		.tgid = task->tgid,
		.tid = task->pid,
		.start_ns = start_of(layout, task),
		.epoch = preempt_disable ? epoch_of(layout) : 0,
	};
	take_regs(&h.s->regs, regs);
	if (site == GOHTTP2_CALL) {
		on_call(h.s, layout);
		rec_filtered(l);
		return false;
	}
	if (site >= GOHTTP2_SERVE) {
		if (gohttp2_serving)
			on_serve(&h, site);
		rec_filtered(l);
		return false;
	}
	__builtin_memset(&h.s->rec, 0, sizeof(h.s->rec));
	h.s->rec.fd = -1;
	h.s->caller = 0;
	h.s->off = 0;
	h.s->fields.len = 0;
	if (gohttp2_payload)
		__builtin_memset(h.s->pieces, 0, sizeof(h.s->pieces));
	if (site >= GOHTTP2_WEB_FIRST && site < GOHTTP2_CALL ? on_web(&h, site) : on_transport(&h, site)) {
		if (gohttp2_payload && h.s->rec.what == GOHTTP2_WHAT_DATA)
			take_pieces(h.s);
		if (h.map)
			take_map(h.s, layout, h.map);
		*ret_near = h.near;
		return true;
	}
	if (h.not_ours)
		rec_filtered(l);
	else
		rec_lost(l, SONDE_LOST_COPY);
	return false;
}

/*
 * A hit that the shortcut of gohttp2_send_repeat() does not serve. Two calls one after the other: a frame more in
 * each of the verifier's states takes 6 MiB.
 */
static __always_inline void on_any(struct bpf_user_regs *regs, struct gohttp2_layout *layout, __u32 site,
				   struct sonde_ledger *l)
{
	const struct gohttp2_near *near = NULL;
	struct gohttp2_scratch *s;

	if (!read_hit(regs, layout, site, l, &near))
		return;
	s = my_scratch();
	if (s)
		gohttp2_send(s, layout, near, l, preempt_disable != NULL);
}

/* Ledger: a restarting function, a site that is only counted, and a process not selected count as filtered. */
static __always_inline void on_hit(struct bpf_user_regs *regs, struct gohttp2_layout *layout,
				   const struct task_struct *task, __u32 site)
{
	struct sonde_ledger *l = ledger_seen(GOHTTP2_CLASS_CALL);

	if (!l)
		return;
	if (is_too_early(regs, layout, site) || site == GOHTTP2_FRAME_ORDER || site == GOHTTP2_WRITE_FIELD ||
	    !is_selected(layout, task->tgid)) {
		rec_filtered(l);
		return;
	}
	if (preempt_disable && plain_there() && site <= GOHTTP2_SERVER_HEADERS &&
	    gohttp2_send_repeat(regs, layout, task, site, l))
		return;
	on_any(regs, layout, site, l);
}

const volatile bool gohttp2_never = false;

#define TAIL_CALL 12	/* BPF_FUNC_tail_call */

/*
 * A tail call, even if it is never made, keeps the program on the kernel's stack, which is in the cache. Since 6.13
 * others have a stack per CPU, which is not, and which a hit shares with the hit that it preempted.
 */
static __always_inline void take_kernel_stack(void)
{
	if (gohttp2_never)
		asm volatile("call %[tail_call]" ::[tail_call] "i"(TAIL_CALL)
			     : "r0", "r1", "r2", "r3", "r4", "r5");
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_uprobe___go {
	__u64 cookie;
};

struct bpf_uprobe_multi_run_ctx___go {
	struct bpf_uprobe___go *uprobe;
};

struct task_struct___run {
	void *bpf_ctx;
};

#pragma clang attribute pop

/* As bpf_get_attach_cookie(), by loads where the kernel has these types. @multi: a constant. */
static __always_inline __u64 cookie_of(struct bpf_user_regs *regs, const struct task_struct *task, bool multi)
{
	const struct bpf_uprobe_multi_run_ctx___go *run;

	if (!multi || !HAS_TYPE(bpf_uprobe_multi_run_ctx) ||
	    !bpf_core_field_exists(struct task_struct___run, bpf_ctx) ||
	    !bpf_core_field_exists(struct bpf_uprobe_multi_run_ctx___go, uprobe) ||
	    !bpf_core_field_exists(struct bpf_uprobe___go, cookie))
		return bpf_get_attach_cookie(regs);
	task = TYPED(task, task_struct);
	run = TYPED(((const struct task_struct___run *)task)->bpf_ctx, bpf_uprobe_multi_run_ctx);
	return run->uprobe->cookie;
}

static __always_inline int hit(struct bpf_user_regs *regs, bool multi)
{
	/* direct loads: kernels that can attach this program have typed tasks */
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = cookie_of(regs, task, multi);
	struct gohttp2_layout *layout = layout_at(task->tgid, cookie);
	__u32 site = cookie & GOHTTP2_COOKIE_SITE;

	take_kernel_stack();
	if (!layout || site >= GOHTTP2_SITE__MAX)
		return 0;
	if (site == GOHTTP2_COLLECTED)
		return collected(layout);
	if (preempt_disable)
		preempt_disable();
	on_hit(regs, layout, task, site);
	if (preempt_disable)
		preempt_enable();
	return 0;
}

PROGRAM("uprobe.multi", gohttp2_multi, hit(regs, true), struct bpf_user_regs *regs)
PROGRAM("uprobe", gohttp2_single, hit(regs, false), struct bpf_user_regs *regs)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
