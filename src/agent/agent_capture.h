/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures that the agent writes itself. The client opens the file and passes its descriptor: the agent has no right
 * to open files for writing.
 */
#ifndef AGENT_AGENT_CAPTURE_H
#define AGENT_AGENT_CAPTURE_H

#include <stddef.h>

struct buf;
struct err;

struct agent_captures {
	struct agent_insts *insts; /* borrowed */
	struct capture *first;
};

struct verb_args {
	const char *const *items; /* without the verb */
	size_t n;
	const char *end; /* of the last one */
	int *fd;	 /* passed with the request; the verb may take it; -1 = none */
};

/* Verbs capture and dump: 0 or -errno with a message. */
int agent_capture_call(struct agent_captures *all, const struct verb_args *args, struct buf *out, struct err *err);
int agent_capture_dump_call(struct agent_captures *all, const struct verb_args *args, struct buf *out,
			    struct err *err);
void agent_capture_flush(struct agent_captures *all);
void agent_capture_report(const struct agent_captures *all, struct buf *out); /* one line each */
void agent_capture_end(struct agent_captures *all);			      /* all of them */

#endif
