/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and text fragments that all events of the net probe share.
 */
#ifndef NET_TEXT_H
#define NET_TEXT_H

#include <stdint.h>

#include "event/event.h"

extern const struct xlat net_point_xlat, net_dir_xlat, net_end_xlat, net_tcp_flag_xlat, net_verdict_xlat,
	net_action_xlat, net_cause_xlat, net_refused_xlat;

/* Values of fields in the event's keys; -ENOENT if unknown. */
int net_text_get_uint(uint64_t v, struct value *ret);
int net_text_get_named(const struct xlat *x, uint64_t v, struct value *ret); /* of a number with a name */

/* Fields of both ends of the event's connection: rows of FIELD_GET begin with NET_END_ROWS(source, destination). */
enum {
	NET_GET_SIP, NET_GET_DIP, NET_GET_SPORT, NET_GET_DPORT, NET_GET_PROTO, NET_GET_SNAME, NET_GET_DNAME,
	NET_GET__ENDS,	/* first number of the type's own fields */
};
#define NET_GET_ROW(word_, name_, like_, doc_, ...) \
	{ .name = (name_), .kind = FIELD_GET, .off = (word_), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  ##__VA_ARGS__ }
#define NET_END_ROWS(src, dst) \
	NET_GET_ROW(NET_GET_SIP, "net.sip", FIELD_IP, "address of the " src, .flags = FIELD_ALIAS), \
		NET_GET_ROW(NET_GET_DIP, "net.dip", FIELD_IP, "address of the " dst, .flags = FIELD_ALIAS), \
		NET_GET_ROW(NET_GET_SPORT, "net.sport", FIELD_UINT, "port of the " src, \
			    .flags = FIELD_PORT | FIELD_ALIAS), \
		NET_GET_ROW(NET_GET_DPORT, "net.dport", FIELD_UINT, "port of the " dst, \
			    .flags = FIELD_PORT | FIELD_ALIAS), \
		NET_GET_ROW(NET_GET_PROTO, "net.proto", FIELD_UINT, "transport protocol number", \
			    .flags = FIELD_ALIAS), \
		NET_GET_ROW(NET_GET_SNAME, "dns.sname", FIELD_STR, \
			    "name of the " src " by DNS, if an answer with it was seen"), \
		NET_GET_ROW(NET_GET_DNAME, "dns.dname", FIELD_STR, \
			    "name of the " dst " by DNS, if an answer with it was seen")
int net_text_get_end(const struct event *ev, uint16_t field, struct value *ret);	/* of NET_END_ROWS */

/* Key in SONDE_NAME_NETNS of the command's own namespace: its inode, as text. No namespace has this inode. */
#define NET_NS_HOME 1u

/* "10.0.0.1:80", "[fd00::1]:80"; without a port the address alone. */
void net_text_put_end(const struct ipaddr *ip, uint16_t port, struct buf *out);

/* The packet below the event's line: its bytes, or with more details its headers. */
void net_text_put_packet(const struct event *ev, const struct line_opts *o, struct buf *out);

/* The packet in a line: "10.0.0.1:80 -> 10.0.0.2:4711 tcp SYN". */
void net_text_put_summary(const struct event *ev, struct buf *out);

/* "eth0", "if7" without a name, "-" for none. */
void net_text_put_iface(const struct event *ev, uint32_t ifindex, struct buf *out);

/*
 * " [curl/1234]", empty if the owner is unknown; with the source of the answer if that is not the socket's user:
 * " [nginx/812 listener]".
 */
void net_text_put_owner(const struct event *ev, struct buf *out);

#endif
