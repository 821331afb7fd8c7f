/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watched connections by the cookie of their socket and the source of their bytes. Bounded: the least recently
 * used goes beyond the limit.
 */
#ifndef CALL_SOCKETS_H
#define CALL_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "call/call_conn.h"
#include "event/event.h"
#include "probes/call/call_wire.h"

#define CALL_SOCKETS_MAX 65536u

struct call_socket_key {
	uint64_t cookie;
	uint32_t source, pad;	/* CALL_SOURCE_* */
};

/* Addresses of one end, for the look-up of the other. */
struct call_socket_ends {
	struct conn conn;	/* from this end to the other */
	uint32_t netns, pad;
};

struct call_socket {
	struct list lru;	/* oldest use first */
	struct call_socket_key key;
	struct call_conn *conn;	/* owned; its user is this struct */
	struct call_socket_ends ends; /* conn.proto 0 = unknown */
	/* the process that used it last */
	uint64_t start_ns, image, cgroup_id;
	uint32_t tgid;
	uint16_t instance;
	bool unix_socket;
	bool midstream;
	bool has_base[2];	/* CALL_RX, CALL_TX */
	uint64_t base[2];	/* offset of the first byte that counts */
	uint64_t peer_cookie;	/* AF_UNIX; 0 = unknown */
	uint64_t rtt_ns;
	uint64_t queue_ns;	/* of its last turn of received bytes: until they were read; 0 = unknown */
	bool wide, ignored;	/* reported to the live half */
	bool left;		/* its calls are shown by another decoder */
	bool closed;		/* ends with the next record */
	uint8_t source, tls_by;	/* of its last bytes: CALL_SOURCE_*, CALL_TLS_BY_* */
};

struct call_sockets {
	struct map by_key, by_ends;	/* -> struct call_socket * */
	struct list lru;
	bool ready;
};

void call_sockets_init(struct call_sockets *t);
/* All of them are removed before. */
void call_sockets_fini(struct call_sockets *t);

/* NULL if unknown. */
struct call_socket *call_sockets_find(const struct call_sockets *t, uint64_t cookie, uint32_t source);
/* A new one without a connection; NULL without memory. */
struct call_socket *call_sockets_add(struct call_sockets *t, uint64_t cookie, uint32_t source);
/* Sets its addresses. */
void call_sockets_set_ends(struct call_sockets *t, struct call_socket *s, const struct call_socket_ends *ends);
/* The socket at the other end of the connection, if it is watched, too. */
struct call_socket *call_sockets_peer(const struct call_sockets *t, const struct call_socket *s);
/* Frees @s with its connection. */
void call_sockets_remove(struct call_sockets *t, struct call_socket *s);
/* The least recently used if the table is full, else NULL. */
struct call_socket *call_sockets_surplus(const struct call_sockets *t);
/* Memory of the table, without connections. */
size_t call_sockets_bytes(const struct call_sockets *t);

#endif
