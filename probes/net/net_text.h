/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and text fragments that all events of the net probe share.
 */
#ifndef NET_TEXT_H
#define NET_TEXT_H

#include <stdint.h>

#include "event/event.h"

struct buf;
struct value;

extern const struct xlat net_point_xlat, net_dir_xlat, net_end_xlat, net_tcp_flag_xlat, net_verdict_xlat,
	net_action_xlat, net_cause_xlat, net_refused_xlat;

/* Values of fields in the event's keys; -ENOENT if unknown. */
int net_text_get_ip(const struct ipaddr *ip, struct value *ret);
int net_text_get_uint(uint64_t v, struct value *ret);
int net_text_get_named(const struct xlat *x, uint64_t v, struct value *ret); /* of a number with a name */
int net_text_get_host(const struct event *ev, const struct ipaddr *ip, struct value *ret); /* its name by DNS */

/* Key in SONDE_NAME_NETNS of the command's own namespace: its inode, as text. No namespace has this inode. */
#define NET_NS_HOME 1u

/* "10.0.0.1:80", "[fd00::1]:80"; without a port the address alone. */
void net_text_put_end(const struct ipaddr *ip, uint16_t port, struct buf *out);

/* "eth0", "if7" without a name, "-" for none. */
void net_text_put_iface(const struct event *ev, uint32_t ifindex, struct buf *out);

/*
 * " [curl/1234]", empty if the owner is unknown; with the source of the answer if that is not the socket's user:
 * " [nginx/812 listener]".
 */
void net_text_put_owner(const struct event *ev, struct buf *out);

#endif
