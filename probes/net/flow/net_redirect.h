/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that programs and actions at the interfaces redirect: counted with their flows, not reported otherwise.
 */
#ifndef NET_REDIRECT_H
#define NET_REDIRECT_H

#include <stdint.h>

struct err;
struct net_redirect;
struct net_setup;
struct probe;

int net_redirect_open(struct probe *p, const struct net_setup *s, struct net_redirect **ret, struct err *err);
/* Counts redirected packets of namespace @netns with their flows, in the map @flows_fd. */
int net_redirect_flows(struct net_redirect *r, uint32_t netns, int flows_fd);
int net_redirect_attach(struct net_redirect *r, struct err *err);
void net_redirect_detach(struct net_redirect *r);
void net_redirect_close(struct net_redirect *r); /* accepts NULL */

#endif
