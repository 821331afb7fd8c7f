/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client connections: socket, session, request in progress, subscription. agent_send.h has their output. */
#ifndef AGENT_AGENT_CONN_H
#define AGENT_AGENT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent_sub.h"
#include "base/buf.h"
#include "base/err.h"
#include "ipc/listen.h"
#include "loop/coop.h"

struct agent;
struct broadcast_sub;
struct loop_source;
struct session;

/*
 * A request that loads, attaches or detaches. It runs as a job on the pipeline's second thread; the connection is not
 * freed meanwhile.
 */
struct agent_job {
	struct coop_job job;
	uint16_t type;	    /* PROTO_SUBSCRIBE, PROTO_STOP or PROTO_CALL */
	struct buf payload; /* of the request's frame */
	size_t verb_off;    /* PROTO_CALL: offset of the verb in the payload */
	int result;
	struct err err;
	struct buf text; /* PROTO_CALL: reply */
};

struct agent_conn {
	struct agent *a;
	struct agent_conn *prev, *next;
	int fd;
	struct loop_source *io;
	struct peer peer;
	unsigned number; /* lowest free number on connect */
	uint32_t rights; /* PROTO_RIGHT_* */
	uint32_t viewer; /* agent_content_viewer() */
	struct session *session;
	struct agent_job request;
	struct broadcast_sub *queue;
	struct agent_sub sub;
	int passed_fd;	   /* last descriptor received on a control socket; -1 = none */
	bool own;	   /* the agent's recorder: a stalled disk does not disconnect it */
	bool later;	   /* the verb answers by agent_conn_answer() */
	bool send_blocked; /* the socket is full */
	bool dying;	   /* closes once the queue is empty */
	bool gone;	   /* to be freed */
	uint64_t since_ns; /* connected */
	uint64_t heard_ns; /* last bytes received, or end of its stream */
	uint64_t moved_ns; /* last bytes sent, or queue empty */
	uint64_t dead_ns;  /* deadline of a dying connection */
};

/* Takes over @fd. A client that may not connect gets the reason and is closed. */
void agent_conn_new(struct agent *a, int fd, uint32_t rights);
/* The result of a verb that answers later, with @err on failure and the text of its reply. */
void agent_conn_answer(struct agent_conn *c, int result, const struct err *err, struct buf *text);
/* Frees it now, or after its running request. */
void agent_conn_free(struct agent_conn *c);
/* Applies the time limits (greeting, stall, idle); may set @gone. */
void agent_conn_tick(struct agent_conn *c, uint64_t now_ns);

#endif
