// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records of a walk through an operation, and copies of its first buffers.
 */
#include "probes/call/bpf/call_walk.bpf.h"

int call_walk_record(struct call_room *room)
{
	struct call_walk *w = &room->walk;
	struct call_data_rec *r = &room->rec;
	struct sonde_ledger *l = ledger_seen(w->class);
	__u32 kept = w->kept;

	if (!l || kept > CALL_HEAD_MAX)
		return 0;
	r->hdr.len = sizeof(*r) + kept;
	r->hdr.seq = l->seq + 1;
	r->offset = w->offset + w->from;
	r->size = w->at - w->from;
	r->kept = kept;
	call_output(l, r, sizeof(*r) + kept);
	r->flags = 0;
	r->rtt_us = 0;
	w->from = w->at;
	w->kept = 0;
	return 0;
}

int call_walk_keep(struct call_room *room, __u32 n)
{
	struct call_walk *w = &room->walk;
	__u32 kept;

	if (w->at != w->from + w->kept || w->kept >= CALL_HEAD_MAX)
		call_walk_record(room);
	kept = w->kept;
	if (kept > CALL_HEAD_MAX)
		return 0;
	if (n > CALL_HEAD_MAX - kept)
		n = CALL_HEAD_MAX - kept;
	barrier_var(n);		/* the verifier (6.1) must see the bound beside its use */
	if (n > CALL_HEAD_MAX || bpf_probe_read_user(room->bytes + kept, n, (void *)w->addr))
		return 0;
	w->kept = kept + n;
	return n;
}

#define SEGMENTS_MAX 1024 /* of an operation: UIO_MAXIOV of include/uapi/linux/uio.h */

struct gather {
	__u8 *to;
	__u64 iov, n_iov;	/* buffers to come */
	__u32 most, done;
};

static __always_inline bool gather_buffer(struct gather *g, const struct call_iovec *v)
{
	__u32 done = g->done, n = g->most - done;

	if (done >= g->most || done > CALL_HEAD_MAX)
		return false;
	if (v->len < n)
		n = v->len;
	barrier_var(n);
	if (n > CALL_HEAD_MAX || bpf_probe_read_user(g->to + done, n, (void *)v->base))
		return false;
	g->done = done + n;
	return true;
}

static long gather_step(__u32 i, void *ctx)
{
	struct gather *g = ctx;
	struct call_iovec v;

	return i >= g->n_iov || g->done >= g->most ||
	       bpf_probe_read_user(&v, sizeof(v), (void *)(g->iov + i * sizeof(v))) || !gather_buffer(g, &v);
}

/* A head and its content: one look at the array. */
static __always_inline bool gather_pair(struct gather *g)
{
	struct call_iovec v[2];

	return g->n_iov == 2 && !bpf_probe_read_user(v, sizeof(v), (void *)g->iov) &&
	       (!gather_buffer(g, &v[0]) || !gather_buffer(g, &v[1]) || true);
}

__u32 call_walk_gather(const struct call_user_bytes *b, __u8 *to, __u32 most)
{
	struct gather g = { .to = to, .iov = b->base, .n_iov = b->n_iov, .most = most };

	if (!to || most > CALL_HEAD_MAX)
		return 0;
	if (!gather_pair(&g))
		bpf_loop(SEGMENTS_MAX, gather_step, &g, 0);
	return g.done;
}
