/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client connections: socket, session, request in progress, subscription. agent_send.h has their output. */
#ifndef AGENT_AGENT_CONN_H
#define AGENT_AGENT_CONN_H

#include <stdint.h>

struct agent;
struct agent_conn;
struct buf;
struct err;

/* Takes over @fd. A client that may not connect gets the reason and is closed. */
void agent_conn_new(struct agent *a, int fd, uint32_t rights);
/* The result of a verb that answers later, with @err on failure and the text of its reply. */
void agent_conn_answer(struct agent_conn *c, int result, const struct err *err, struct buf *text);
/* Frees it now, or after its running request. */
void agent_conn_free(struct agent_conn *c);
/* Applies the time limits (greeting, stall, idle); may set @gone. */
void agent_conn_tick(struct agent_conn *c, uint64_t now_ns);

#endif
