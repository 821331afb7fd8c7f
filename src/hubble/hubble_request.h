/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GetFlowsRequest (observer.proto), its FlowFilters as one expression of the filter language.
 */
#ifndef HUBBLE_HUBBLE_REQUEST_H
#define HUBBLE_HUBBLE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

#define HUBBLE_REQUEST_FILTERS 64u	/* of both lists together */

struct hubble_request {
	uint64_t number;	/* of flows; 0 = all */
	bool first, follow;
	uint64_t since_ns, until_ns;	/* wall clock; 0 = no limit */
	struct buf where;	/* expression; empty = every flow */
};

/*
 * -EINVAL with a sentence that names the field: it has no counterpart in sonde's flows, or its value is wrong. On
 * success hubble_request_fini() is due.
 */
int hubble_request_parse(const void *message, size_t len, struct hubble_request *ret, struct err *err);
void hubble_request_fini(struct hubble_request *q);

#endif
