/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run of sonde ui: a stream into memory (src/ui), the server beside it, both without rights.
 */
#ifndef CMD_UI_RUN_H
#define CMD_UI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/record/record_sets.h"
#include "cmd/run/run.h"

struct cmd_words;

#define UI_SET "normal"	/* probes of a live page, unless others are named */

struct ui_conf {
	struct run_conf run;	/* read, follow, agent, where, since_ns, until_ns */
	const char *listen, *host, *folder;
	struct opt_strv set;
	struct record_sets sets;	/* of a live run */
	uint64_t memory_bytes;
	bool check;
	/* A page of an agent that made the sockets (ui_keep.h); 0, NULL and false otherwise. */
	int client_fd;			/* connected to the agent; taken over */
	int listen_fd;			/* listens at @listen; taken over */
	const struct ui_token *token;
	bool content;			/* the agent shows content of all users */
};

/* Runs until a signal. Returns an exit status. */
int ui_run(struct ui_conf *c, const struct cmd_words *w);

#endif
