/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IANA's port names, from tables/ports.tsv. */
#ifndef CILIUM_PORTS_H
#define CILIUM_PORTS_H

#include <stddef.h>
#include <stdint.h>

#define PORT_TCP 1u
#define PORT_UDP 2u
#define PORT_SCTP 4u

/* Generated; sorted by port. */
struct port_row {
	uint16_t port;
	uint8_t transports;	/* PORT_* */
	const char *name;
};
extern const struct port_row port_rows[];
extern const size_t n_port_rows;

/* Name of @port for the transports @transport (PORT_*), or NULL. */
const char *ports_name(uint16_t port, unsigned transport);

#endif
