/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tuples of senders in namespaces without programs at their interfaces: owners of packets that show up elsewhere.
 * Without net_redirect it also counts redirected packets with their flows.
 */
#ifndef NET_SENDER_TUPLES_H
#define NET_SENDER_TUPLES_H

extern const struct net_part net_sender_tuples_part;

#endif
