/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of ports as IANA assigned them; the table is tables/ports.tsv. */
#ifndef CILIUM_PORTS_H
#define CILIUM_PORTS_H

#include <stddef.h>
#include <stdint.h>

#define PORT_TCP 1u
#define PORT_UDP 2u
#define PORT_SCTP 4u

/* Sorted by port. Generated. */
struct port_row {
	uint16_t port;
	uint8_t transports;	/* PORT_* */
	const char *name;
};
extern const struct port_row port_rows[];
extern const size_t n_port_rows;

/* Name of @port for one of PORT_*, or NULL. */
const char *ports_name(uint16_t port, unsigned transport);

#endif
