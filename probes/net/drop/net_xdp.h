/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XDP exceptions: verdicts that the kernel could not carry out (tracepoint xdp_exception and redirect errors).
 */
#ifndef NET_XDP_H
#define NET_XDP_H

struct err;
struct net_setup;
struct net_xdp;
struct probe;
struct probe_env;

int net_xdp_open(struct probe *p, const struct net_setup *s, struct net_xdp **ret, struct err *err);
int net_xdp_attach(struct net_xdp *x, struct err *err);
void net_xdp_detach(struct net_xdp *x);
void net_xdp_close(struct net_xdp *x); /* accepts NULL */

/* Puts the names of XDP actions into the stream. */
int net_xdp_names(struct probe_env *env);

#endif
