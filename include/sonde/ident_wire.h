/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The identity block: who and what an event is about. It lies directly behind struct sonde_rec in records whose
 * header has SONDE_RF_IDENT; records of older versions lack flag and block. BPF programs fill it from the kernel's
 * own objects at the event. 0 = unknown in each member: an identity is never guessed.
 */
#ifndef SONDE_IDENT_WIRE_H
#define SONDE_IDENT_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Source of an answer. Append only; the names are in src/event/common.c. */
#define SONDE_HOW_UNKNOWN 0	/* no source answered */
#define SONDE_HOW_STORAGE 1	/* storage of the socket: its last user, or its creator */
#define SONDE_HOW_SKB 2		/* socket of the packet (skb->sk) */
#define SONDE_HOW_TUPLE 3	/* socket that sends on exactly this tuple of this namespace */
#define SONDE_HOW_CONNTRACK 4	/* the same, through the translation of connection tracking */
#define SONDE_HOW_LOOKUP 5	/* the kernel's look-up of the receiving socket */
#define SONDE_HOW_DATA_READY 6	/* socket that the kernel woke for this packet (sk_data_ready) */
#define SONDE_HOW_LISTENER 7	/* listening socket: the connection is not accepted yet */
#define SONDE_HOW_SNAPSHOT 8	/* state that existed before the start */
#define SONDE_HOW_LATE 9	/* completed by a later record */
#define SONDE_HOW_GROUP 10	/* one of several sockets, unknown which: no process is named */
#define SONDE_HOW_DERIVED 11	/* derived from system calls of a capture without identity */
#define SONDE_HOW_EVICTED 12	/* the socket was evicted from a full table: no process is named */
#define SONDE_HOW_BYTES 13	/* bytes of the TCP stream that belong to frames of the call */
#define SONDE_HOW__MAX 14

#define SONDE_ID_F_TX 1			/* seq and seq_len count the bytes that this socket sends */
#define SONDE_ID_F_RX 2			/* ... that it receives */
#define SONDE_ID_F_SHARED_RANGE 4	/* several threads use the stream at once: the range is approximate */
#define SONDE_ID_F_SHARED_OWNER 8	/* several processes use the socket: the owner is the last user */
#define SONDE_ID_F_PEEK 16		/* read with MSG_PEEK: no range */

/* `sock` of a socket without a cookie (AF_UNIX and others): this bit and the inode in sockfs. */
#define SONDE_ID_SOCK_INODE (1ULL << 63)

struct sonde_ident {
	__u64 image;		/* number of the executable image of the process; a new one at each exec */
	__u64 cgroup_id;	/* cgroup v2 */
	__u64 goid;		/* goroutine; 0 = not a Go program, or unreadable */
	__u64 call;		/* number of the RPC that the goroutine serves; 0 = none known */
	__u64 file;		/* number of the open file; 0 = the event has no descriptor */
	__u64 sock;		/* socket cookie, or SONDE_ID_SOCK_INODE | inode; 0 = no socket */
	__u32 netns;		/* inode of the network namespace */
	__u32 seq, seq_len;	/* first byte in the TCP stream (its sequence number), length in bytes */
	__u8 owner_how;		/* SONDE_HOW_*: source of tgid and start_ns; 0 = the current task */
	__u8 file_how, call_how;
	__u8 flags;		/* SONDE_ID_F_* */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_ident) == 64, "sonde_ident is ABI");
#endif

#endif
