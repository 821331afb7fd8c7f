/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Layout of an mmap ring (bpf/plain.bpf.h): a head, the data, and slack for the rest of a record that starts before
 * the end of the data.
 */
#ifndef SONDE_PLAIN_WIRE_H
#define SONDE_PLAIN_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define SONDE_PLAIN_HEAD 4096	/* bytes before the data */
#define SONDE_PLAIN_SLACK 4096	/* bytes after the data */
#define SONDE_PLAIN_REC 8	/* header of each record: its length, 0 */
#define SONDE_PLAIN_MOST 2048	/* limit of a record with its header, bytes */

/* Each side writes its own cache line. */
struct sonde_plain_head {
	__u64 cons;		/* written by the reader */
	__u64 pad1[15];
	__u64 prod;
	__u64 woken;		/* consumer position at the last wake-up, + 1; 0 = never */
	__u64 pad2[14];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_plain_head) == 256, "sonde_plain_head is shared memory");
_Static_assert(SONDE_PLAIN_MOST <= SONDE_PLAIN_SLACK, "a record that begins at the end fits");
#endif

#endif
