/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of sonde rpc.
 */
#ifndef CMD_RPC_H
#define CMD_RPC_H

#include <stdbool.h>

struct rpc_explain {
	bool json, layout;
	bool any;	/* print nothing about a program of another language */
};

/*
 * Prints which rules apply to the Go program @what, a pid or a file, and why others do not. Returns the exit status
 * of the command.
 */
int rpc_explain(const struct rpc_explain *conf, const char *what);

#endif
