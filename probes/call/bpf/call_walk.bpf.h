/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A walk through the bytes of an operation, buffer by buffer: some are kept, in records, the others passed over.
 */
#ifndef CALL_WALK_BPF_H
#define CALL_WALK_BPF_H

#include "bpf/kernel.h"
#include "bpf/ring.bpf.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* An operation on the way through its messages; positions are bytes of the operation. */
struct call_walk {
	__u64 offset;		/* of its first byte in its direction */
	__u64 iov, n_iov;	/* buffers to come */
	__u64 addr;		/* of the next byte */
	__u32 left;		/* bytes of its buffer */
	__u32 size, dir, class;	/* class: CALL_CLASS_* */
	__u32 at;		/* next byte */
	__u32 from;		/* first byte of the record under construction */
	__u32 kept;		/* bytes in the room */
};

/* Of 6.2: older kernels lack the sockets' tracepoints, and the verifier of 6.1 refuses the walk. */
enum bpf_func_id___walk { BPF_FUNC_cgrp_storage_get___walk = 210 };
#define call_can_walk() bpf_core_enum_value_exists(enum bpf_func_id___walk, BPF_FUNC_cgrp_storage_get___walk)

/* False behind the operation and its last buffer. */
static __always_inline bool call_walk_next(struct call_walk *w)
{
	struct call_iovec v;

	if (w->at == w->size || !w->n_iov || bpf_probe_read_user(&v, sizeof(v), (void *)w->iov))
		return false;
	w->iov += sizeof(v);
	w->n_iov--;
	w->addr = v.base;
	w->left = v.len < w->size ? v.len : w->size;
	return true;
}

static __always_inline void call_walk_begin(struct call_walk *w, const struct call_user_bytes *b)
{
	w->at = w->from = w->kept = 0;
	w->iov = w->addr = b->base;
	w->n_iov = b->n_iov;
	w->left = b->n_iov ? 0 : w->size;
	if (b->n_iov)
		call_walk_next(w);
}

/* Bytes to come of the current buffer. */
static __always_inline __u32 call_walk_bytes(const struct call_walk *w)
{
	__u32 n = w->size - w->at;

	return n < w->left ? n : w->left;
}

/* Passes over @n bytes of the buffer. False if there are none. */
static __always_inline bool call_walk_pass(struct call_walk *w, __u32 n)
{
	w->at += n;
	w->addr += n;
	w->left -= n;
	return n;
}

struct call_room {
	struct call_walk walk;
	struct call_data_rec rec;
	__u8 bytes[2 * CALL_HEAD_MAX];	/* the second half for the verifier */
};

UNIT_SHARED volatile __u32 call_losses = 0;	/* runs of lost records */
UNIT_SHARED volatile __u32 call_loses = 0;	/* such a run goes on: no record was sent since */

/*
 * Sends a record of @len bytes. If it is lost, the thread's next one has another number of losses than its last one:
 * runs are counted, not records, of which 256 would look like none.
 */
static __always_inline void call_output(struct sonde_ledger *l, struct call_data_rec *r, __u32 len)
{
	r->losses = call_losses;
	if (rec_output(l, LANE_BULK, r, len) >= 0) {
		if (call_loses)
			call_loses = 0;
	} else if (!call_loses) {
		call_loses = 1;
		__sync_fetch_and_add(&call_losses, 1);
	}
}

#endif
