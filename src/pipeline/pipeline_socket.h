/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run over another agent's socket, which pipeline_open_socket() opened. */
#ifndef PIPELINE_PIPELINE_SOCKET_H
#define PIPELINE_PIPELINE_SOCKET_H

struct err;
struct pipeline;

/* Until the run is stopped, across reconnects. 0 or -errno with a message. */
int pipeline_socket_run(struct pipeline *p, struct err *err);

#endif
