/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of a process's connections: which bytes became calls, which did not, and why.
 */
#ifndef CMD_RPC_CLASSES_H
#define CMD_RPC_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct rpc_classes;
struct rpc_program;
struct rpc_sockets;

/* Of process @pid. 0 or -ENOMEM. */
int rpc_classes_new(uint32_t pid, struct rpc_classes **ret);
void rpc_classes_free(struct rpc_classes *c); /* NULL is fine */

/* A sink that takes records and events; its context is the struct rpc_classes. */
extern const struct sink_ops rpc_classes_sink;

/*
 * Once, behind the last event of a live run: the connections before and after it, and facts of the program. Explains
 * TLS and connections without a record. 0 or -ENOMEM.
 */
int rpc_classes_add_host(struct rpc_classes *c, const struct rpc_sockets *before, const struct rpc_sockets *after,
			 const struct rpc_program *program);

/* A row per class, most calls first; @json: an object per row. 0 or -ENOMEM. */
int rpc_classes_print(const struct rpc_classes *c, bool json, struct buf *out);

#endif
