/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions and packets for everything that must agree with libpcap's interpreter. Both are the same on every
 * run: the packets come from a generator with a fixed seed.
 */
#ifndef BATTERY_H
#define BATTERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATTERY_PACKET_MAX 1800	/* longest packet, two VLAN tags included */

struct battery_packet {
	uint32_t len;
	uint8_t data[BATTERY_PACKET_MAX];
};

/* Expressions; NULL at the end. */
extern const char *const battery_exprs[];

/* Expressions that cannot run in the kernel, which the module must say. */
extern const char *const battery_user_exprs[];

/*
 * @n packets, owned by the caller. @ethernet: with an Ethernet header and perhaps tags and labels; else they start
 * with the IP header. No packet is shorter than an Ethernet header, so that each can be sent on one.
 */
struct battery_packet *battery_packets(size_t n, bool ethernet, uint64_t seed);

#endif
