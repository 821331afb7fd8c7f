/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store of the agent's recording, for the process that writes it.
 */
#ifndef AGENT_RECORD_OPTS_H
#define AGENT_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store_dir.h"

/* In the memory of both processes since the fork. */
struct record_process_opts {
	int client_fd;		/* the agent's protocol */
	int request_fd;		/* requests, replies, reports */
	const char *dir;	/* path of the store */
	mode_t mode;		/* of its files */
	gid_t group;		/* with mode 0640 */
	struct store_limits limits;
	uint64_t segment_bytes;
	uint64_t keep_ns;	/* a flight recorder: only dumps are written; 0 = all is */
	bool (*is_state)(void *ctx, uint16_t type);	/* store_writer_opts.is_state */
	void *ctx;
};

#endif
