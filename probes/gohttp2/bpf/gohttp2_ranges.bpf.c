// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Bytes of frames in the TCP stream, at the Framer that every transport has. A frame that was read ends where the
 * program has read to (copied_seq), less the bytes that a bufio.Reader still holds. A frame about to be written
 * begins where the program has written to (write_seq), plus the bytes that a buffer in front of the socket holds.
 *
 * The programs stand apart from those of gohttp2.bpf.c: without ranges none of this is loaded.
 *
 * Known only where the Framer's reader is a connection of package net, or a bufio.Reader or gRPC's own reader on one:
 * through TLS and other wrappers the stream has other bytes than the frames.
 */
#define PREEMPT_UNIT ranges
#include "bpf/ident.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_conns.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#define FRAME_HEAD 9	/* bytes of a frame's header: RFC 9113, 4.1 */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_connection_sock___range {
	void *icsk_ulp_ops;
};

struct sock___range {
	__u16 sk_protocol;
	struct socket *sk_socket;
};

struct tcp_sock___range {
	struct inet_connection_sock___range inet_conn;
	__u32 copied_seq, write_seq;
};

#pragma clang attribute pop

/* Where a writer keeps the number of bytes that it holds. */
enum pending { PENDING_UNKNOWN, PENDING_AT, PENDING_BEHIND };

struct gohttp2_framer {
	__u64 reader;	/* object behind Framer.r */
	__u64 held;	/* the reader with a buffer: the object, 0 = none */
	__u64 pending;	/* address of the count, or of the pointer to a bufio.Writer */
	__u64 sk;	/* kernel address: compared and read, never trusted */
	__u32 ports, netns;
	__u32 kind;	/* enum pending */
	__u16 held_r, held_w;
};

/* Framers whose bytes are those of the stream. */
MAP(gohttp2_plain_framers, LRU_HASH, 4096, struct gohttp2_object, struct gohttp2_framer);

/* The TCP socket of the connection in @c, which must be of package net itself. */
static __always_inline struct sock *plain_sock(const struct gohttp2_layout *l, const struct gohttp2_iface *c)
{
	struct gohttp2_type_key key = conn_key(l, iface_type(c));
	const struct gohttp2_conn_type *t = bpf_map_lookup_elem(&gohttp2_conn_types, &key);
	struct sock *sk;
	__s32 fd = -1;
	__u64 netfd;

	if (!t || t->how[0] != GOHTTP2_CONN_FD)
		return NULL;
	netfd = word_at(c->data, t->off[0]);
	if (!netfd || read_user(&fd, sizeof(fd), netfd + l->sysfd) || fd < 0)
		return NULL;
	sk = task_file_sock(fd);
	if (!sk || BPF_CORE_READ((struct sock___range *)sk, sk_protocol) != IPPROTO_TCP ||
	    BPF_CORE_READ((struct tcp_sock___range *)sk, inet_conn.icsk_ulp_ops))
		return NULL;
	return sk;
}

static __always_inline void find_pending(struct gohttp2_framer *f, const struct gohttp2_layout *l,
					 const struct gohttp2_iface *w)
{
	__u64 type = iface_type(w);
	__u16 off = GOHTTP2_NO_OFF;

	f->kind = PENDING_AT;
	if (type && type == l->bufw_type) {
		off = l->bufw_offset;
	} else if (type && type == l->buffered_type) {
		off = l->buffered_bw;
		f->kind = PENDING_BEHIND;
	} else if (type && type == l->writer_type) {
		off = l->writer_n;
	}
	if (off == GOHTTP2_NO_OFF)
		f->kind = PENDING_UNKNOWN;
	f->pending = w->data + off;
}

static __always_inline bool sock_in_use(struct gohttp2_scratch *s, const struct gohttp2_framer *f)
{
	struct sock___range *sk = (void *)f->sk;

	return read_sock(s, sk) && sock_ports(s) == f->ports && BPF_CORE_READ(sk, sk_socket);
}

/* @r: the Framer's reader, then the connection that it reads. False: not known. */
static __always_inline bool find_held(struct gohttp2_framer *f, const struct gohttp2_layout *l,
				      struct gohttp2_iface *r, const struct gohttp2_iface *w)
{
	__u64 type = iface_type(r), at;

	if (!type)
		return false;
	if (type == l->reader_type) {
		f->held_r = l->reader_r;
		f->held_w = l->reader_w;
		at = l->reader_rd == GOHTTP2_NO_OFF ? 0 : r->data + l->reader_rd;
	} else if (type == l->ready_type) { /* it has a function for the socket; gRPC's writer has the same one */
		f->held_r = l->ready_r;
		f->held_w = l->ready_w;
		at = l->bufw_conn == GOHTTP2_NO_OFF || iface_type(w) != l->bufw_type ? 0 : w->data + l->bufw_conn;
	} else {
		return true;
	}
	f->held = r->data;
	return at && f->held_r != GOHTTP2_NO_OFF && f->held_w != GOHTTP2_NO_OFF && !read_user(r, sizeof(*r), at);
}

static __always_inline bool learn_framer(struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u64 framer,
					 struct gohttp2_framer *ret)
{
	struct gohttp2_iface r, w;

	if (l->framer_r == GOHTTP2_NO_OFF || l->framer_w == GOHTTP2_NO_OFF ||
	    read_user(&r, sizeof(r), framer + l->framer_r) || read_user(&w, sizeof(w), framer + l->framer_w))
		return false;
	*ret = (struct gohttp2_framer){ .reader = r.data };
	if (!find_held(ret, l, &r, &w))
		return false;
	ret->sk = (__u64)plain_sock(l, &r);
	if (!ret->sk || !read_sock(s, (void *)ret->sk))
		return false;
	ret->ports = sock_ports(s);
	ret->netns = BPF_CORE_READ((const struct net *)SOCK(s, __u64, skc_net), ns.inum);
	find_pending(ret, l, &w);
	return true;
}

/* Fills s->sock. NULL: the bytes of the Framer are not those of the stream. */
static __always_inline bool find_framer(struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u64 framer,
					struct gohttp2_framer *ret)
{
	struct gohttp2_object key = object_at(s, l, framer);
	const struct gohttp2_framer *known = bpf_map_lookup_elem(&gohttp2_plain_framers, &key);

	if (known) {
		*ret = *known;
		if (ret->reader == word_at(framer, l->framer_r + 8) && sock_in_use(s, ret))
			return true;
	}
	if (!learn_framer(s, l, framer, ret))
		return false;
	bpf_map_update_elem(&gohttp2_plain_framers, &key, ret, BPF_ANY);
	return true;
}

/* Bytes that @f's writer holds. Negative: not known. */
static __always_inline long bytes_pending(const struct gohttp2_framer *f, const struct gohttp2_layout *l)
{
	__u64 at = f->pending, n = 0;

	if (f->kind == PENDING_BEHIND) {
		if (read_user(&at, sizeof(at), at))
			return -1;
		if (!at)
			return 0;
		at += l->writer_n;
	}
	if (f->kind == PENDING_UNKNOWN || read_user(&n, sizeof(n), at))
		return -1;
	return (__u32)n;
}

/* Bytes that @f's reader holds. Negative: not known. */
static __always_inline long bytes_held(const struct gohttp2_framer *f)
{
	__u64 r = 0, w = 0;

	if (!f->held)
		return 0;
	if (read_user(&r, sizeof(r), f->held + f->held_r) || read_user(&w, sizeof(w), f->held + f->held_w))
		return -1;
	return w < r ? -1 : (long)(__u32)(w - r);
}

/* A frame at @site: bytes with its header, stream, kind. */
struct framed {
	__u32 len, stream;
	__u8 type;
	bool head_only;	/* its payload is still to be read */
};

static __always_inline bool frame_sent(const struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u32 site,
				       __u64 framer, struct framed *ret)
{
	struct gohttp2_string wbuf;
	__u8 head[16];	/* FRAME_HEAD of them */

	if (site == GOHTTP2_WRITE_DATA) {
		ret->stream = (__u32)arg(s, l, site, 1);
		ret->len = bytes_of_pieces(arg(s, l, site, 3), arg(s, l, site, 4)) + FRAME_HEAD;
		return true;
	}
	if (l->framer_wbuf == GOHTTP2_NO_OFF || read_user(&wbuf, sizeof(wbuf), framer + l->framer_wbuf) ||
	    wbuf.len < FRAME_HEAD || read_user(head, FRAME_HEAD, wbuf.ptr))
		return false;
	ret->len = (__u32)wbuf.len;
	ret->type = head[3];
	ret->stream = (__u32)head[5] << 24 | (__u32)head[6] << 16 | (__u32)head[7] << 8 | head[8];
	return true;
}

/* checkFrameOrder() has the frame, read whole, or by value its header. */
static __always_inline bool frame_read(const struct gohttp2_scratch *s, const struct gohttp2_layout *l,
				       struct framed *ret)
{
	__u64 frame;

	if (l->args[GOHTTP2_FRAME_ORDER][5] != GOHTTP2_ARG_NONE) {
		ret->type = (__u8)arg(s, l, GOHTTP2_FRAME_ORDER, 2);
		ret->len = (__u32)arg(s, l, GOHTTP2_FRAME_ORDER, 4) + FRAME_HEAD;
		ret->stream = (__u32)arg(s, l, GOHTTP2_FRAME_ORDER, 5);
		ret->head_only = true;
		return true;
	}
	frame = arg(s, l, GOHTTP2_FRAME_ORDER, 2);
	ret->len = u32_at(frame, l->frame_length) + FRAME_HEAD;
	ret->stream = u32_at(frame, l->frame_stream);
	ret->head_only = false;
	return frame && l->frame_length != GOHTTP2_NO_OFF && l->frame_stream != GOHTTP2_NO_OFF;
}

static __always_inline void send_range(struct gohttp2_range_rec *r, const struct gohttp2_scratch *s)
{
	struct sonde_ledger *l = ledger_row(GOHTTP2_CLASS_RANGE);

	if (!l)
		return;
	rec_init_keys(&r->hdr, l, GOHTTP2_REC_RANGE, sizeof(*r), GOHTTP2_CLASS_RANGE | SONDE_RF_IDENT | SONDE_RF_FACT,
		      s->who.tgid, s->who.tid, s->who.start_ns);
	rec_output_fact(l, LANE_BULK, r, sizeof(*r));
}

/* A frame was read, or is about to be written. */
static __always_inline void on_frame(struct gohttp2_scratch *s, const struct gohttp2_layout *l, __u32 site)
{
	bool sent = site != GOHTTP2_FRAME_ORDER;
	struct gohttp2_range_rec r = {};
	const struct tcp_sock___range *tp;
	__u64 framer = arg(s, l, site, 0);
	struct gohttp2_framer f;
	struct framed fr = {};
	long extra;

	if (site == GOHTTP2_WRITE_DATA)
		framer = word_at(framer, l->framer_fr);
	if (!framer || !(sent ? frame_sent(s, l, site, framer, &fr) : frame_read(s, l, &fr)) ||
	    !find_framer(s, l, framer, &f))
		return;
	extra = sent ? bytes_pending(&f, l) : bytes_held(&f);
	r.id.sock = SOCK(s, __u64, skc_cookie);
	if (extra < 0 || !r.id.sock)
		return;
	tp = (void *)f.sk;
	if (sent)
		r.id.seq = BPF_CORE_READ(tp, write_seq) + extra;
	else
		r.id.seq = BPF_CORE_READ(tp, copied_seq) - extra - (fr.head_only ? FRAME_HEAD : fr.len);
	r.id.seq_len = fr.len;
	r.id.netns = f.netns;
	r.id.flags = sent ? SONDE_ID_F_TX : SONDE_ID_F_RX;
	r.stream = fr.stream & 0x7fffffff;
	r.frame = fr.type;
	send_range(&r, s);
}

static __always_inline void on_hit(struct bpf_user_regs *regs, struct gohttp2_layout *l, __u32 site,
				   const struct task_struct *task)
{
	struct gohttp2_scratch *s = my_scratch();

	if (!s || is_too_early(regs, l, site) || !is_selected(l, task->tgid))
		return;
	s->who.tgid = task->tgid;
	s->who.tid = task->pid;
	s->who.start_ns = start_of(l, task);
	take_regs(&s->regs, regs);
	on_frame(s, l, site);
}

static __always_inline int hit(struct bpf_user_regs *regs)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct gohttp2_layout *l = layout_at(task->tgid, cookie);
	__u32 site = cookie & GOHTTP2_COOKIE_SITE;

	if (!l || (site != GOHTTP2_FRAME_ORDER && site != GOHTTP2_END_WRITE && site != GOHTTP2_WRITE_DATA))
		return 0;
	if (preempt_disable) {
		preempt_disable();
		on_hit(regs, l, site, task);
		preempt_enable();
		return 0;
	}
	on_hit(regs, l, site, task);
	return 0;
}

PROGRAM("uprobe.multi", gohttp2_range_multi, hit(regs), struct bpf_user_regs *regs)
PROGRAM("uprobe", gohttp2_range_single, hit(regs), struct bpf_user_regs *regs)
