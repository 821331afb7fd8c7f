/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Terms of the programs at TLS libraries and of their live half. None of it is in records.
 */
#ifndef CALL_TLS_WIRE_H
#define CALL_TLS_WIRE_H

#include "sonde/wire.h"

/* Functions. The low byte of an attach cookie. */
#define CALL_TLS_NO_BYTES 1	/* handshake, peek: socket I/O, bytes of no interest */
#define CALL_TLS_READ 2		/* (object, buffer, size): returns bytes */
#define CALL_TLS_WRITE 3
#define CALL_TLS_READ_EX 4	/* (object, buffer, size, size_t *done): returns 1 */
#define CALL_TLS_WRITE_EX 5
#define CALL_TLS_GO_READ 6	/* of crypto/tls: (connection, slice) */
#define CALL_TLS_GO_WRITE 7
#define CALL_TLS_GO_READ_END 8	/* their return instructions: results are bytes and error */
#define CALL_TLS_GO_WRITE_END 9
#define CALL_TLS_FN__MAX 10

/* The rest of the cookie: offsets in the object, + 1; 0 = unknown. */
#define CALL_TLS_LIB_SHIFT 8	/* 8 bits: CALL_SOURCE_* */
#define CALL_TLS_RANDOM_SHIFT 16	/* 16 bits: the client random */
#define CALL_TLS_POINTER_SHIFT 32	/* 16 bits: a pointer that the random is relative to; 0 = to the object */

/* The same of Go. */
#define CALL_TLS_GO_MODULE_SHIFT 16	/* 16 bits: number of the program */
#define CALL_TLS_GO_ADDR_SHIFT 32	/* of the site, as linked */

/* A Go program: offsets of the connection inside a TLS connection, and of the descriptor in a net.netFD. */
struct call_tls_go_program {
	__u32 conn, sysfd;
};

/* Types with the methods of net.Conn: descriptors as linked. */
struct call_tls_go_key {
	__u64 type, module;
};

/* How the next connection is reached; equal to enum gobin_conn_how. */
#define CALL_TLS_GO_FD 1
#define CALL_TLS_GO_IFACE 2
#define CALL_TLS_GO_POINTER 3
#define CALL_TLS_GO_MAYBE 4

#define CALL_TLS_GO_WAYS 3
struct call_tls_go_type {
	__u64 inner[CALL_TLS_GO_WAYS];	/* of a pointer: descriptor of its type */
	__u16 off[CALL_TLS_GO_WAYS];
	__u8 how[CALL_TLS_GO_WAYS];	/* 0 = no more ways */
	__u8 direct;			/* an interface holds the struct, not a pointer to it */
	__u8 pad[6];
};

/* Counters (map call_tls_counts). */
#define CALL_TLS_N_KNOWN 0	/* operations with bytes whose socket is known */
#define CALL_TLS_N_UNKNOWN 1	/* not: left out */
#define CALL_TLS_N_CONTRADICTED 2	/* the nested socket and the client random disagree: left out */
#define CALL_TLS_N__MAX 3

#endif
