/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of the call probe: bytes that processes send and receive on sockets of interest. The decoder finds requests
 * and responses in them.
 */
#ifndef CALL_WIRE_H
#define CALL_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/owner_wire.h"
#include "sonde/wire.h"

#define CALL_REC_CONN SONDE_EV(PROBE_ID, 1)	/* who uses a connection; before its first bytes */
#define CALL_REC_DATA SONDE_EV(PROBE_ID, 2)	/* an operation on it */
#define CALL_REC_ORDER SONDE_EV(PROBE_ID, 3)	/* event of the decoder, never a record */

/* Ledger classes. */
#define CALL_CLASS_SOCKET 0	/* socket I/O: process context, not preempted */
#define CALL_CLASS_TLS 1	/* functions of TLS libraries: process context, preemption off */

/* Directions, as the process sees them. */
#define CALL_RX 0
#define CALL_TX 1

#define CALL_HEAD_BYTES 1024	/* kept of a turn, by default */
#define CALL_HEAD_MIN 64
#define CALL_HEAD_MAX 16384	/* also of one operation */
#define CALL_TAIL_BYTES 256	/* kept of an operation's end where the status stands there: databases */

/* Protocols by their first bytes: a guess of the kernel that the decoder confirms. Bits of rodata call_kinds. */
enum call_guess_protocol {
	CALL_GUESS_NONE,
#define CALL_GUESS(protocol, name) CALL_GUESS_##protocol,
#include "probes/call/call_guess.def"
	CALL_GUESS__MAX,
};

/* Where the bytes were taken. */
#define CALL_SOURCE_SOCKET 0
#define CALL_SOURCE_OPENSSL 1
#define CALL_SOURCE_GNUTLS 2
#define CALL_SOURCE_GOTLS 3
#define CALL_SOURCE__MAX 4

/* How the socket of plain text was found; 0 = no TLS. Append. */
#define CALL_TLS_BY_NESTED 1
#define CALL_TLS_BY_RANDOM 2
#define CALL_TLS_BY_KEPT 3
#define CALL_TLS_BY_DESCRIPTOR 4	/* the connection's object holds it */

#define CALL_CONN_MIDSTREAM 1	/* bytes went over it before the first record */

/*
 * The process in the header uses the connection from now on. Sent again when another process does, and when the
 * previous record was lost.
 */
struct call_conn_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u64 cookie;		/* of the socket: the connection's number */
	__u64 peer_cookie;	/* of the other end; AF_UNIX only, 0 = unknown */
	__u64 bytes[2];		/* CALL_RX, CALL_TX: counted so far */
	__u8 family;		/* AF_UNIX is 1; else SONDE_IPV4, SONDE_IPV6 */
	__u8 proto;		/* IPPROTO_*; 0 = AF_UNIX */
	__u8 guess;		/* CALL_GUESS_* */
	__u8 source;		/* CALL_SOURCE_* */
	__u8 flags;		/* CALL_CONN_* */
	__u8 pad[3];
	__u16 lport, rport;	/* host order */
	__u32 pad2;
	__u8 laddr[16], raddr[16]; /* network order; IPv4 in the first four bytes */
};

#define CALL_F_TURN 1	/* the operation before it on this connection went in the other direction */
#define CALL_F_FAULT 2	/* the memory could not be read */
#define CALL_F_NO_REGS 4	/* the buffer is unknown: sendfile, io_uring, 32-bit programs */
#define CALL_F_END 8	/* end of the stream in this direction; size is 0 */
#define CALL_F_QUEUE 16	/* rtt_us is the time from the arrival of the first byte to the operation */

/* One operation, or its tail: header, then the kept bytes. Offsets give the length of each hole. */
struct call_data_rec {
	struct sonde_rec hdr;	/* process and thread that called; time after the copy */
	__u64 cookie;
	__u64 offset;		/* of its first byte in its direction, since the probe counts */
	__u32 size;		/* bytes of the operation */
	__u32 rtt_us;		/* smoothed round-trip time, TCP; 0 = unknown */
	__u16 kept;		/* bytes after the struct */
	__u8 dir;		/* CALL_RX, CALL_TX */
	__u8 flags;		/* CALL_F_* */
	__u8 guess;		/* CALL_GUESS_* */
	__u8 source;		/* CALL_SOURCE_* */
	__u8 tls_by;		/* how the socket of plain text was found: CALL_TLS_BY_* */
	__u8 losses;		/* runs of lost records so far, of all CPUs: the last byte of their number */
};

/* ---- not in records ---- */

/* Orders of user space by cookie (map call_orders), read at starts of turns. */
#define CALL_ORDER_WIDE 1	/* keep operations whole, up to CALL_HEAD_MAX */
#define CALL_ORDER_IGNORE 2

#define CALL_PORTS 16	/* of rodata call_ports */

#ifndef __cplusplus
_Static_assert(sizeof(struct call_conn_rec) == 40 + 64 + 32 + 8 + 8 + 32, "call_conn_rec is ABI");
_Static_assert(sizeof(struct call_data_rec) == 40 + 16 + 8 + 8, "call_data_rec is ABI");
#endif

#endif
