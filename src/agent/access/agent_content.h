/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to content: file names, arguments, payload. Readers see the content of their own user's processes; root and
 * clients of the control socket see all. Records and events pass through here before they reach a client.
 */
#ifndef AGENT_AGENT_CONTENT_H
#define AGENT_AGENT_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent_conf.h"
#include "base/buf.h"

struct agent_request;
struct arena;
struct err;
struct peer;

#define UID_ALL ((uint32_t)-1)	/* viewer of all users' content */
#define UID_NONE ((uint32_t)-2) /* viewer of no user's content */

struct agent_content {
	struct pipeline *pipeline; /* borrowed */
	enum agent_content_access allow;
	struct buf copy; /* last record with hidden content; owned */
	bool unsure;	 /* the owner of the current record is not known for certain */
};

void agent_content_fini(struct agent_content *c);

/* User whose content the peer sees, UID_ALL or UID_NONE. @rights: PROTO_RIGHT_*. */
uint32_t agent_content_viewer(const struct agent_content *c, const struct peer *p, uint32_t rights);

/*
 * @r as @viewer may see it: @r itself, or a copy without content (valid until the next call). NULL: the record must
 * not be sent.
 */
const struct sonde_rec *agent_content_record(struct agent_content *c, const struct sonde_rec *r, uint32_t viewer);

/* @ev as @viewer may see it: @ev itself, or *ret with hidden fields. Sections of *ret live in @scratch. */
const struct event *agent_content_event(struct agent_content *c, const struct event *ev, uint32_t viewer,
					struct arena *scratch, struct event *ret);

/* Sets the record whose events follow; NULL after the last one. */
void agent_content_set_record(struct agent_content *c, const struct sonde_rec *r);

/*
 * Keeps kernel-side filters from revealing content: removes system call filters on content from @q (the client
 * filters by itself), and refuses packet filters on payload and summaries filtered by content with -EPERM.
 */
int agent_content_check(const struct agent_content *c, uint32_t viewer, struct agent_request *q, struct err *err);

/* Logs the start (@q) and the end (NULL) of a stream with all users' content. */
void agent_content_log(uint32_t viewer, const struct peer *p, const struct agent_request *q);

#endif
