/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of sonde rpc.
 */
#ifndef CMD_RPC_H
#define CMD_RPC_H

#include <stdbool.h>

struct rpc_explain {
	bool json, layout;
};

/*
 * Says on stdout what can be watched of the Go program @what, a process by its number or a file, and why not the
 * rest. Exit status of the command.
 */
int rpc_explain(const struct rpc_explain *conf, const char *what);

#endif
