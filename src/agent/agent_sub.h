/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subscription of one connection: its instances, its share in a stream, its ledger. */
#ifndef AGENT_AGENT_SUB_H
#define AGENT_AGENT_SUB_H

#include <stdint.h>

struct agent_conn;
struct err;
struct proto_frame;
struct sonde_rec;

/* Starts the stream: READY, state and snapshots are queued. 0 or -errno with a message; then nothing is left of it.
 */
int agent_sub_begin(struct agent_conn *c, const struct proto_frame *f, struct err *err);
/* Ends the stream: drains the rings, queues the ledgers and END. */
int agent_sub_end(struct agent_conn *c, const char *reason);
/* Ends the subscription and sends nothing. Does nothing without one. */
void agent_sub_drop(struct agent_conn *c);
/*
 * Between two parts of a recording: queues the ledgers of the stream so far, then the state of the host, as at the
 * start. The stream goes on meanwhile. On the second thread.
 */
int agent_sub_part(struct agent_conn *c, struct err *err);
/* Queues the news of a hook that does not work (struct failed_hook), if the client subscribed to what lacks it. */
void agent_sub_failed(struct agent_conn *c, uint64_t of, const char *hook, const char *why);
/* A record that was made while agent_inst_snapshot() ran for @c. */
void agent_sub_snapshot(struct agent_conn *c, const struct sonde_rec *r);

#endif
