/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The flight recorder's memory: an array of slots that user space maps, a ring for each CPU and direction. A packet
 * overwrites the oldest slot of its ring, without locks.
 */
#ifndef NET_RECORDER_WIRE_H
#define NET_RECORDER_WIRE_H

#include "sonde/wire.h"

#define NET_EV_DUMP SONDE_EV(2, 5) /* the kept records follow, oldest first */

/* Rings: CPU * NET_RECORDER_DIRS + (0 in, 1 out). Two, because an incoming packet may interrupt an outgoing one. */
#define NET_RECORDER_DIRS 2

/* Number of packets that a ring has taken, in a cache line of its own. The next one goes to slot n % slots. */
struct net_recorder_pos {
	__u64 n;
	__u64 pad[7];
};

struct net_slot {
	__u64 seq;		/* number of the packet in its ring, from 1; 0 = empty, or being written */
	__u64 ts_ns;		/* CLOCK_BOOTTIME */
	__u64 cookie;		/* of the packet's socket; 0 = it has none */
	__u32 netns;		/* inode */
	__u32 ifindex;
	__u32 orig_len, cap_len;	/* on the wire; in data */
	__u32 mark, hash;
	__u16 link;		/* SONDE_LINK_ETHERNET or SONDE_LINK_RAW */
	__u16 flags;		/* SONDE_RF_* */
	__u32 pad;
	__u8 data[];
};

/* Cause of a dump. Append only. */
#define NET_RECORDER_DUMP_SIGNAL 1
#define NET_RECORDER_DUMP_COMMAND 2
#define NET_RECORDER_DUMP_EVENT 3
#define NET_RECORDER_DUMP__MAX 4

#define NET_RECORDER_DUMP_TEXT 128

/* The header of a dump. hdr.ts_ns: of its trigger. */
struct net_recorder_dump_rec {
	struct sonde_rec hdr;
	__u64 from_ns, to_ns;	/* the requested time span, both ends inclusive */
	__u64 held_from_ns;	/* nothing was overwritten from here on; from_ns if complete */
	__u64 packets, drops;	/* that follow */
	__u64 torn;		/* slots overwritten while they were read */
	__u32 number;		/* of the dump, from 1 */
	__u8 by;		/* NET_RECORDER_DUMP_* */
	__u8 pad[3];
	char on[NET_RECORDER_DUMP_TEXT]; /* the condition, NUL-terminated; "" for signals and commands */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_slot) == 56, "net_slot is shared with BPF");
_Static_assert(sizeof(struct net_recorder_pos) == 64, "a cache line");
_Static_assert(sizeof(struct net_recorder_dump_rec) == 40 + 48 + 8 + NET_RECORDER_DUMP_TEXT,
	       "net_recorder_dump_rec is ABI");
#endif

#endif
