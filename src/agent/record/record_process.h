/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process behind the agent's recording: a client of the agent that writes what it receives to a store. Disks may
 * take seconds and fill up, and compression takes time; all of this happens here, so the agent's loop never waits.
 *
 * It has the agent's user without capabilities. Requests and replies are messages over a SOCK_SEQPACKET socket,
 * records come by the agent's protocol over another one.
 */
#ifndef AGENT_RECORD_PROCESS_H
#define AGENT_RECORD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/record/record_opts.h"

#define RECORD_PROCESS_WORDS_MAX 4096	/* of a request */
#define RECORD_PROCESS_TEXT_MAX 512	/* of a reply */
#define RECORD_PROCESS_NAME_MAX 64	/* of a dump */

enum record_process_kind {
	RECORD_PROCESS_START,	/* words: a subscription */
	RECORD_PROCESS_STOP,
	RECORD_PROCESS_DUMP,	/* last_ns; words: a name, may be empty. The reply is the path of the dump. */
	RECORD_PROCESS__MAX,
};

struct record_process_request {
	uint32_t kind;
	uint32_t len;		/* of words */
	uint64_t last_ns;
	char words[RECORD_PROCESS_WORDS_MAX];
};

struct record_process_report {
	uint64_t records, stored_bytes, segments;
	uint64_t lost;		/* left out for lack of room, or another error of the disk */
	uint64_t dumps;
	int32_t error;		/* the last one, 0 = none was */
	bool writing;
	bool resting;		/* the disk is full */
};

/* A report once a second, or a reply. */
struct record_process_message {
	bool is_reply;
	int32_t code;		/* of a reply: 0 or -errno */
	struct record_process_report report;
	char text[RECORD_PROCESS_TEXT_MAX];
};

/* A worker_fn (worker/worker.h); @ctx is a struct record_process_opts. Returns when the agent closes its sockets. */
int record_process_run(void *ctx, int in_fd, int out_fd);

#endif
