/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs: requests outside a stream. */
#ifndef AGENT_AGENT_VERBS_H
#define AGENT_AGENT_VERBS_H

#include <stdbool.h>

struct agent_conn;
struct buf;
struct err;
struct proto_frame;

/* Does @verb load, attach or detach, and may @c call it? Then it is called on the second thread. */
bool agent_verbs_takes_time(const struct agent_conn *c, const char *verb);
/* Runs @verb, which stands at @verb_at in the frame @f; the reply is appended to @out. 0 or -errno with a message. */
int agent_verbs_call(struct agent_conn *c, const char *verb, const struct proto_frame *f, const char *verb_at,
		     struct buf *out, struct err *err);

#endif
