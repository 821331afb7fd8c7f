/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording by the agent, seen from its loop: the process that writes (record/record_process.h), requests to it, its
 * last report. One request at a time; the reply comes later.
 */
#ifndef AGENT_AGENT_RECORD_H
#define AGENT_AGENT_RECORD_H

#include <stdint.h>

struct agent;
struct agent_conf;
struct agent_conn;
struct buf;
struct err;
struct verb_args;

/* -EINVAL with a sentence for rows that cannot work. */
int agent_record_check(const struct agent_conf *conf, struct err *err);

/*
 * Starts the process if the configuration has `record` or `record-dir`. Before the agent gives up its rights.
 * *ret_client: the agent's end of its connection, owned by the caller; -1 without a process.
 */
int agent_record_open(struct agent *a, int *ret_client, struct err *err);
/* @c is the connection made of it. */
void agent_record_connect(struct agent *a, struct agent_conn *c);
void agent_record_start(struct agent *a);	/* what `record` names, once the agent has its final rights */
/* The streams have ended: waits until the process has what is queued. */
void agent_record_flush(struct agent *a);
void agent_record_close(struct agent *a);	/* waits for the end of the process, whose connection is closed */

/* @c is freed. */
void agent_record_forget(struct agent *a, const struct agent_conn *c);

/*
 * Verbs record and dump. 0 with the reply in @out, -errno with a message, or 1: agent_conn_answer() follows.
 * agent_record_dump_call(): -ENOENT without a recording.
 */
int agent_record_call(struct agent_conn *c, const struct verb_args *args, struct buf *out, struct err *err);
int agent_record_dump_call(struct agent_conn *c, const struct verb_args *args, struct err *err);

/* Records of the recording lost in the agent's queue and at the disk. */
uint64_t agent_record_lost(const struct agent *a);
void agent_record_put(const struct agent *a, struct buf *out);	/* a line of the status; nothing without recording */

#endif
