/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TCP connections of a process with the bytes that went over them, by sock_diag(7).
 */
#ifndef CMD_RPC_SOCKETS_H
#define CMD_RPC_SOCKETS_H

#include <stdint.h>

#include "base/vec.h"

struct rpc_socket {
	uint64_t cookie, inode;
	uint64_t bytes; /* in both directions, since it was opened */
};

struct rpc_sockets {
	VEC(struct rpc_socket) all; /* by cookie */
};

/* Connections of @pid in its network namespace; listening sockets are left out. *ret is zeroed before. 0 or -errno.
 */
int rpc_sockets_read(uint32_t pid, struct rpc_sockets *ret);
void rpc_sockets_fini(struct rpc_sockets *s);

const struct rpc_socket *rpc_sockets_find(const struct rpc_sockets *s, uint64_t cookie); /* NULL = none */

#endif
