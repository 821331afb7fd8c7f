/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of TCP streams by the RPC that they belong to: frames as a range of sequence numbers and a stream, streams as
 * the number of a call. Packets and calls of the socket are joined by the bytes that they carry.
 */
#ifndef STATE_STATE_RANGE_H
#define STATE_STATE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct state;

struct state_range {
	uint64_t cookie;	/* of the socket */
	uint32_t seq, len;	/* first byte, bytes */
	bool sent;		/* by this socket; else received */
};

struct state_range_answer {
	uint64_t call;	/* of all frames with a byte in the range; 0 = none, several, or not known */
	bool several;	/* frames of several calls */
	bool whole;	/* nothing is to come: each byte is of a known frame, and no stream is newer than any call */
};

/* A frame of @stream; 0 = of the connection itself. 0 or -ENOMEM. */
int state_range_add(struct state *s, const struct state_range *r, uint32_t stream);

/* @stream of the socket carries the call. 0 or -ENOMEM. */
int state_range_set_call(struct state *s, uint64_t cookie, uint32_t stream, uint64_t call);

/* Is any frame of the socket known? */
bool state_range_has(const struct state *s, uint64_t cookie);

/* 0, or -ENOENT if no frame of the socket is known. */
int state_range_find(struct state *s, const struct state_range *r, struct state_range_answer *ret);

#endif
