/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients of Cilium's monitor socket: their probes run while at least one client is connected. */
#ifndef AGENT_AGENT_CILIUM_H
#define AGENT_AGENT_CILIUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "event/event.h"
#include "loop/coop.h"

struct err;

struct agent_cilium {
	struct agent_insts *insts; /* borrowed, as the next */
	struct agent_content *content;
	const char *probes;		  /* comma-separated; borrowed */
	struct cilium_listener *listener; /* owned; NULL = not served */
	uint32_t mask;			  /* 1u << instance: the clients' instances */
	bool on;			  /* clients are connected */
	bool starting;			  /* their probes are being started */
	struct coop_job job;		  /* starts and removes them */
	char started[32];		  /* start time of the agent, RFC 3339 */
	struct event shown;		  /* last event with hidden content; sections in scratch */
	struct arena scratch;
};

/* Serves @path; the borrowed members are set. 0 or -errno with a message. */
int agent_cilium_open(struct agent_cilium *c, struct loop *loop, const char *path, struct err *err);
void agent_cilium_close(struct agent_cilium *c);
/* Do the clients need the events of @instance? */
bool agent_cilium_wants(const struct agent_cilium *c, uint16_t instance);

#endif
