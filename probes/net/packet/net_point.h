/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which observation point an interface is, per direction, and what its packets start with. One table, told in
 * words in the README.
 */
#ifndef NET_NET_POINT_H
#define NET_NET_POINT_H

#include <stdint.h>

/* An interface as netlink describes it. */
struct net_link {
	uint32_t ifindex;
	char name[16];
	char kind[16];		/* IFLA_INFO_KIND, "" for what has none: physical devices and loopback */
	uint16_t type;		/* ARPHRD_* */
	unsigned flags;		/* IFF_* */
};

struct net_point_row {
	const char *kind;	/* NULL = any */
	uint16_t type;		/* ARPHRD_*, NET_ANY_TYPE = any */
	uint8_t in, out;	/* NET_POINT_* */
};

#define NET_ANY_TYPE 0xffff	/* ARPHRD_VOID: no device has it */

/* The first row that fits; never NULL. */
const struct net_point_row *net_point_find(const struct net_link *l);

/* The rows, for tests and documentation; ends with a row of all "any". */
extern const struct net_point_row net_points_table[];

/* SONDE_LINK_ETHERNET, SONDE_LINK_RAW, or 0 for devices whose packets start with something else. */
uint32_t net_point_link_start(const struct net_link *l);

#endif
