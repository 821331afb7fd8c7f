/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The layout of a plain ring (bpf/plain.bpf.h), for both sides: a head, the data, and slack into which the last
 * record before the end runs on.
 */
#ifndef SONDE_PLAIN_WIRE_H
#define SONDE_PLAIN_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define SONDE_PLAIN_HEAD 4096	/* bytes before the data */
#define SONDE_PLAIN_SLACK 4096	/* bytes behind it */
#define SONDE_PLAIN_REC 8	/* bytes before each record: its length, 0 */
#define SONDE_PLAIN_MOST 2048	/* bytes of a record and what is before it */

/* Each side writes its own cache line. */
struct sonde_plain_head {
	__u64 cons;		/* written by the reader */
	__u64 pad1[15];
	__u64 prod;
	__u64 woken;		/* where the reader stood when it was last woken, + 1; 0 = never */
	__u64 pad2[14];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_plain_head) == 256, "sonde_plain_head is shared memory");
_Static_assert(SONDE_PLAIN_MOST <= SONDE_PLAIN_SLACK, "a record that begins at the end fits");
#endif

#endif
