/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's state: its connections and its recording. The other parts (instances, subscriptions, content,
 * captures, Cilium's clients) have structs of their own and point to the parts that they use; this header is for the
 * files that join them: agent.c, connections, limits per user, verbs, metrics, recording.
 */
#ifndef AGENT_AGENT_STATE_H
#define AGENT_AGENT_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/access/agent_content.h"
#include "agent/access/agent_rights.h"
#include "agent/agent_capture.h"
#include "agent/agent_cilium.h"
#include "agent/agent_conf.h"
#include "agent/agent_hold.h"
#include "agent/agent_inst.h"
#include "agent/agent_server.h"
#include "agent/metrics/agent_measure.h"
#include "agent/record/record_process.h"
#include "agent/shared_subscription.h"
#include "base/buf.h"
#include "base/err.h"
#include "ipc/listen.h"
#include "loop/coop.h"
#include "sonde/wire.h"

/* ---- connections ---- */

struct agent_sub {
	bool on;
	uint32_t mask;				     /* 1u << instance; bit 0 (proc) once it is on */
	struct shared_subscription *shared;	     /* NULL until the instances run */
	struct shared_count base[SONDE_INSTANCES];   /* counts of @shared when this client joined */
	struct sonde_ledger ledger[SONDE_INSTANCES]; /* the kernel's at that time */
	uint64_t lost[SONDE_INSTANCES];		     /* records lost in the client's queue */
	pid_t excluded;				     /* the client's own process; 0 = none */
};

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

/* ---- recording ---- */

struct agent_record {
	struct worker *worker;		/* owned; NULL = agent.conf has no recording, or the process ended */
	int fd;				/* owned; requests and replies */
	struct loop_source *io;
	struct record_process_opts opts;
	struct agent_conn *conn;	/* its connection; NULL = none */
	/* agent_conn_answer() */
	void (*answer)(struct agent_conn *c, int result, const struct err *err, struct buf *text);
	struct agent_conn *asker;	/* client that waits for a reply; NULL = none */
	struct buf words;		/* subscription of `record`; empty = none */
	bool waits;			/* a reply is due */
	bool configured;
	bool rested, ended;		/* logged */
	struct record_process_report report;
};

/* ---- the whole ---- */

struct agent_totals {
	uint64_t connections, refused, disconnected; /* since the start */
	char last_disconnected[160];		     /* pid and reason */
};

/* Last reply to a verb: readers that ask too often get it again. */
struct agent_reply {
	struct buf text;
	uint64_t since_ns;
	unsigned n;
};

struct agent {
	struct loop *loop;
	struct agent_conf conf;
	struct pipeline *pipeline;
	struct agent_rights rights;
	struct broadcast *broadcast;
	struct vmsplice_sender *vmsplice_sender;
	struct sock_dir *dir; /* NULL = sockets passed by systemd */
	bool restore_failed;  /* a removed socket could not be restored */
	struct listener *read, *control;
	gid_t gid;		 /* group of the read socket; 0 = root only */
	struct agent_http *http; /* NULL = no metrics */
	struct agent_conn *conns;
	unsigned n_conns;
	struct agent_totals totals;
	uint64_t start_ns;
	uint32_t netns;
	struct agent_insts insts;
	struct shared_subscriptions subscriptions;
	struct agent_content content;
	struct agent_captures captures;
	struct agent_cilium cilium;
	struct agent_record record;
	struct agent_server page, hubble;
	char hubble_path[PATH_MAX]; /* of its socket */
	struct agent_measure measure;
	struct agent_holds holds;
	struct agent_lag lag;
	struct agent_reply status, counters;
	struct {
		int fd;
		uint64_t since_ns;
	} cost; /* the kernel's run-time statistics; fd -1 = off */
};

#endif
