// SPDX-License-Identifier: GPL-2.0-or-later
/* Port names; several rows may share a port. */
#include "cilium/ports.h"

#include "base/macros.h"

const char *ports_name(uint16_t port, unsigned transport)
{
	for (size_t at = BISECT(i, n_port_rows, port_rows[i].port < port);
	     at < n_port_rows && port_rows[at].port == port; at++)
		if (port_rows[at].transports & transport)
			return port_rows[at].name;
	return NULL;
}
