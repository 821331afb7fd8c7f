/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hooks that are not bound to an interface: drops, XDP exceptions, and the feed of tuples for namespaces
 * without tc programs. Each loads and attaches on its own.
 */
#ifndef NET_NET_TRACE_H
#define NET_NET_TRACE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_drop;
struct net_sender_tuples;
struct net_redirect;
struct net_setup;
struct net_xdp;
struct probe;
struct probe_env;

/* Loads the program that fits the running kernel's tracepoint. @stack: deeper than 0 asks for stacks. */
int net_drop_open(struct probe *p, const struct net_setup *s, struct net_drop **ret, struct err *err);
int net_drop_attach(struct net_drop *d, struct err *err);
void net_drop_detach(struct net_drop *d);
/* Drops of packets in namespace @netns are counted with their flows, in the map @flows_fd. */
int net_drop_flows(struct net_drop *d, uint32_t netns, int flows_fd);
void net_drop_close(struct net_drop *d);	/* NULL is fine */

/* Number of arguments of the tracepoint (2, 3 or 4); 0 when it or the BTF is not there. */
int net_drop_args(struct probe_env *env);
/* Puts the running kernel's names of drop reasons into the stream. */
int net_drop_names(struct probe_env *env);

/*
 * @netns: the namespace that is fed by its tc programs already, 0 = none. @turns: counts redirected packets with
 * their flows too, in place of net_redirect.
 */
int net_sender_tuples_open(struct probe *p, const struct net_setup *s, uint32_t netns, bool turns,
			   struct net_sender_tuples **ret, struct err *err);
int net_sender_tuples_flows(struct net_sender_tuples *f, uint32_t netns, int flows_fd); /* as net_drop_flows() */
int net_sender_tuples_attach(struct net_sender_tuples *f, struct err *err);
void net_sender_tuples_close(struct net_sender_tuples *f);

/* What programs and actions at the interfaces redirect; counted with flows, told of in no other way. */
int net_redirect_open(struct probe *p, const struct net_setup *s, struct net_redirect **ret, struct err *err);
int net_redirect_flows(struct net_redirect *r, uint32_t netns, int flows_fd);
int net_redirect_attach(struct net_redirect *r, struct err *err);
void net_redirect_detach(struct net_redirect *r);
void net_redirect_close(struct net_redirect *r);	/* NULL is fine */

int net_xdp_open(struct probe *p, const struct net_setup *s, struct net_xdp **ret, struct err *err);
int net_xdp_attach(struct net_xdp *x, struct err *err);
void net_xdp_detach(struct net_xdp *x);
void net_xdp_close(struct net_xdp *x);
int net_xdp_names(struct probe_env *env);

#endif
