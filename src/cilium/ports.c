// SPDX-License-Identifier: GPL-2.0-or-later
/* Port names; several rows may share a port. */
#include "cilium/ports.h"

const char *ports_name(uint16_t port, unsigned transport)
{
	size_t lo = 0, hi = n_port_rows;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (port_rows[mid].port < port)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n_port_rows && port_rows[lo].port == port; lo++)
		if (port_rows[lo].transports & transport)
			return port_rows[lo].name;
	return NULL;
}
