/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Destinations of sockets at the hooks where services are translated.
 */
#ifndef NET_SOCK_WIRE_H
#define NET_SOCK_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define NET_EV_SOCK SONDE_EV(2, 17)

#define NET_CLASS_SOCK 6	/* row of the ledger */

/* System call of the process. Append only; 0 = unknown (other datapaths do not report it). */
#define NET_SOCK_CONNECT 1
#define NET_SOCK_SENDMSG 2
#define NET_SOCK_RECVMSG 3
#define NET_SOCK_GETPEERNAME 4
#define NET_SOCK__MAX 5

/* hdr: the calling process. */
struct net_sock_rec {
	struct sonde_rec hdr;
	struct sonde_ident id;
	__u64 cookie, cgroup_id;
	__u8 addr[16];		/* network order; IPv4 in the first four bytes */
	__u16 port;		/* host order */
	__u8 hook;		/* NET_SOCK_* */
	__u8 point;		/* enum sonde_sock_point: include/sonde/notify_wire.h */
	__u8 family;		/* SONDE_IPV4, SONDE_IPV6 */
	__u8 proto;		/* IPPROTO_* */
	__u8 pad[2];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_sock_rec) == 64 + 80, "net_sock_rec is ABI");
#endif

#endif
