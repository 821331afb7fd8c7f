/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the core decoder, shared with the decode set that stamps it on events. Private to src/event.
 */
#ifndef EVENT_CORE_STATE_H
#define EVENT_CORE_STATE_H

#include <stdint.h>

#include "event/core.h"

struct names;

struct core_state {
	struct names *names;		/* owned; made by the decode set */
	struct core_host host;		/* of the records; empty until they say; texts end in a NUL */
	int64_t clock_offset_ns;	/* CLOCK_REALTIME - CLOCK_BOOTTIME, 0 = not known yet */
};

#endif
