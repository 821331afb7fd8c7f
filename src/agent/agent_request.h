/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parsed subscription request: the KEY=VALUE strings of a SUBSCRIBE frame or of the verbs attach and capture
 * (doc/protocol.md).
 */
#ifndef AGENT_AGENT_REQUEST_H
#define AGENT_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"
#include "base/vec.h"

struct proto_frame;

/* One probe of the request. Strings point into agent_request.text. */
struct probe_request {
	const struct probe_ops *ops;
	VEC(char *) args; /* [0]: probe name, then its options */
};

struct agent_request {
	char *text; /* owned copy of the frame's payload */
	VEC(struct probe_request) probes;
	struct opt_strv pids, comms, cgroups, netns, netns_inodes;
	const char *where, *fields; /* NULL = not set */
	bool exclude_self;
	const struct agent_conn *by; /* client whose limits apply; NULL = the agent itself */
	bool control;		     /* it has the rights of control */
	size_t bytes;		     /* payload size */
};

/* 0 or -errno with a message. *ret is unchanged on failure. */
int agent_request_parse(const struct proto_frame *f, struct agent_request *ret, struct err *err);
void agent_request_fini(struct agent_request *q);

/* Append a borrowed string. 0 or -ENOMEM. */
int agent_request_add_arg(struct probe_request *p, char *text);
int agent_request_add_text(struct opt_strv *list, const char *text);

#endif
