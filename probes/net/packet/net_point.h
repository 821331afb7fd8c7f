/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Observation points of an interface, per direction, and the link type of its packets. One table; the README
 * describes it.
 */
#ifndef NET_NET_POINT_H
#define NET_NET_POINT_H

#include <stdint.h>

/* An interface as netlink describes it. */
struct net_link {
	uint32_t ifindex;
	char name[16];
	char kind[16];		/* IFLA_INFO_KIND, "" for devices without: physical ones and loopback */
	uint16_t type;		/* ARPHRD_* */
	unsigned flags;		/* IFF_* */
};

struct net_point_row {
	const char *kind;	/* NULL = any */
	uint16_t type;		/* ARPHRD_*, NET_ANY_TYPE = any */
	uint8_t in, out;	/* NET_POINT_* */
};

#define NET_ANY_TYPE 0xffff /* ARPHRD_VOID: unused by devices */

/* The first matching row; never NULL. */
const struct net_point_row *net_point_find(const struct net_link *l);

/* The rows, for tests and documentation; ends with a row that matches anything. */
extern const struct net_point_row net_points_table[];

/* SONDE_LINK_ETHERNET, SONDE_LINK_RAW, or 0 for devices whose packets start with another header. */
uint32_t net_point_link_start(const struct net_link *l);

#endif
