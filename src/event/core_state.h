/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the core decoder. The decode set copies names and clock offset from it to each event. Private to
 * src/event.
 */
#ifndef EVENT_CORE_STATE_H
#define EVENT_CORE_STATE_H

#include <stdint.h>

#include "event/names.h"
#include "event/redact/redact.h"

struct core_state {
	struct names *names;		/* owned; created by the decode set */
	struct core_host host;		/* from the host record, zeroed before it; strings are NUL-terminated */
	int64_t clock_offset_ns;	/* CLOCK_REALTIME - CLOCK_BOOTTIME, 0 = unknown */
};

extern const struct redact_rule core_redact[];	/* core_redact.c */

#endif
