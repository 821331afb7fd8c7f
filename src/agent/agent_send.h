/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of a connection: frames to its queue, and the queue to its socket. */
#ifndef AGENT_AGENT_SEND_H
#define AGENT_AGENT_SEND_H

struct agent_conn;
struct buf;
struct sonde_rec;

extern const struct broadcast_ops agent_send_ops; /* frames of our protocol; losing() gets the agent_conn */

/* Queues whole frames for this client, beyond its limits. 0 or -ENOMEM. */
int agent_send(struct agent_conn *c, const struct buf *frames);
/* The same for one record, without content that the client must not see. */
int agent_send_record(struct agent_conn *c, const struct sonde_rec *r);
/* Writes as much as the socket takes, and updates the events the loop waits for. May set @gone. */
void agent_send_flush(struct agent_conn *c);

#endif
