/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's state. Each part (instances, subscriptions, content, captures, Cilium's clients) has its own struct
 * and points to the parts it uses; this header is for the files that join them: agent.c, connections, limits per
 * user, verbs, metrics.
 */
#ifndef AGENT_AGENT_STATE_H
#define AGENT_AGENT_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent.h"
#include "agent/agent_capture.h"
#include "agent/agent_cilium.h"
#include "agent/access/agent_content.h"
#include "agent/agent_hold.h"
#include "agent/agent_inst.h"
#include "agent/agent_server.h"
#include "agent/metrics/agent_measure.h"
#include "agent/metrics/agent_metrics.h"
#include "agent/access/agent_rights.h"
#include "agent/record/agent_record.h"
#include "agent/shared_subscription.h"
#include "base/buf.h"

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
