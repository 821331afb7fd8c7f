/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* The record of a frame, out of scratch memory into a ring. */
#ifndef GORPC_SEND_BPF_H
#define GORPC_SEND_BPF_H

#include "bpf/plain.bpf.h"
#include "probes/gorpc/gorpc_state.bpf.h"

#define SHORT_BYTES (1024 - sizeof(struct gorpc_frame_rec)) /* of fields, in a record that is copied here */
_Static_assert(sizeof(struct gorpc_frame_rec) + SHORT_BYTES + SONDE_PLAIN_REC <= SONDE_PLAIN_MOST, "fits");
#define BLOCK_BYTES 64

/*
 * Where nothing comes between two hits on a CPU, short records go where no call into the kernel is needed. What is
 * copied behind the record's end is older memory of the scratch, and the next record's place.
 */
static __always_inline int send_short(struct gorpc_scratch *s, struct sonde_ledger *l, __u32 len)
{
	const __u32 most = sizeof(s->rec) + SHORT_BYTES;
	struct sonde_plain_head *plain;
	void *room = plain_reserve(&plain, l);

	if (!room)
		return -1;
	for (__u32 i = 0; i + BLOCK_BYTES <= most && i < len; i += BLOCK_BYTES)
		__builtin_memcpy(room + i, (void *)&s->rec + i, BLOCK_BYTES);
	plain_submit(plain, l, room, len);
	return 0;
}

static __always_inline void send(struct gorpc_scratch *s, struct sonde_ledger *l)
{
	__u32 len = s->off;
	int r;

	if (len > DATA_BYTES)
		len = DATA_BYTES;
	s->rec.fields_len = len;
	rec_init_keys(&s->rec.hdr, l, GORPC_REC_FRAME, sizeof(s->rec) + len, GORPC_CLASS_CALL, s->tgid, s->tid,
		      s->start_ns);
	barrier_var(len);
	if (plain_there() && bpf_preempt_disable && len <= SHORT_BYTES)
		r = send_short(s, l, sizeof(s->rec) + len);
	else
		r = rec_output(l, LANE_BULK, &s->rec, sizeof(s->rec) + len);
	if (r)
		TELL(ring);
}

#endif
