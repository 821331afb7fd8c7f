/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XDP exceptions: verdicts that the kernel could not carry out (tracepoint xdp_exception and redirect errors).
 */
#ifndef NET_XDP_H
#define NET_XDP_H

struct probe_env;

extern const struct net_part net_xdp_part;

/* Puts the names of XDP actions into the stream. */
int net_xdp_names(struct probe_env *env);

#endif
