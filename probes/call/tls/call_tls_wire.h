/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Terms of the programs at TLS libraries and of their live half. None of it is in records.
 */
#ifndef CALL_TLS_WIRE_H
#define CALL_TLS_WIRE_H

/* Functions. The low byte of an attach cookie. */
#define CALL_TLS_NO_BYTES 1	/* handshake, peek: socket I/O, bytes of no interest */
#define CALL_TLS_READ 2		/* (object, buffer, size): returns bytes */
#define CALL_TLS_WRITE 3
#define CALL_TLS_READ_EX 4	/* (object, buffer, size, size_t *done): returns 1 */
#define CALL_TLS_WRITE_EX 5
#define CALL_TLS_FN__MAX 6

/* The rest of the cookie: offsets in the object, + 1; 0 = unknown. */
#define CALL_TLS_LIB_SHIFT 8	/* 8 bits: CALL_SOURCE_* */
#define CALL_TLS_RANDOM_SHIFT 16	/* 16 bits: the client random */

/* How the socket of an object was found. Equal to enum call_event_tls_by. */
#define CALL_TLS_BY_NESTED 1
#define CALL_TLS_BY_RANDOM 2
#define CALL_TLS_BY_KEPT 3

/* Counters (map call_tls_counts). */
#define CALL_TLS_N_KNOWN 0	/* operations with bytes whose socket is known */
#define CALL_TLS_N_UNKNOWN 1	/* not: left out */
#define CALL_TLS_N_CONTRADICTED 2	/* the nested socket and the client random disagree: left out */
#define CALL_TLS_N__MAX 3

#endif
