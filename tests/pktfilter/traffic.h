/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real packets for the battery, in a network namespace of this process's own.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

struct battery_packet;
struct traffic;

/* Enters a new network namespace with a veth pair and a tun device. NULL with a sentence on stderr on failure. */
struct traffic *traffic_new(void);
void traffic_free(struct traffic *t);

unsigned traffic_veth_out(const struct traffic *t);	/* ifindex where packets leave */
unsigned traffic_veth_in(const struct traffic *t);	/* ifindex where they arrive */
unsigned traffic_tun(const struct traffic *t);

/* Each sends one packet and returns 0 or a negative errno. */
int traffic_send(struct traffic *t, const struct battery_packet *p, uint32_t mark);		/* one piece */
int traffic_send_frags(struct traffic *t, const struct battery_packet *p, uint32_t mark);	/* page fragments */
int traffic_write_tun(struct traffic *t, const struct battery_packet *p);

#endif
