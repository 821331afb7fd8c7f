/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection of a record, and the size of its operation: for counts of bytes that became calls or did not.
 */
#ifndef CALL_SEEN_H
#define CALL_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_rec;

struct call_seen {
	uint64_t cookie;      /* of the socket */
	uint64_t bytes;	      /* of the operation; 0 = the record says who uses the connection */
	const char *protocol; /* by its first bytes; "" = unknown */
	const char *source;   /* of the bytes, as rpc.source has it; "" = unknown */
	bool blind;	      /* the kernel did not say where the bytes are: sendfile, io_uring, 32-bit programs */
	bool plain;	      /* the plain text of TLS; else the bytes of the socket */
	bool midstream;	      /* bytes went over it before the first record */
};

/* False if @r, a validated record, is another probe's, or invalid. */
bool call_seen_of(const struct sonde_rec *r, struct call_seen *ret);

#endif
