// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The descriptions of events with SEC_PARAMS.
 */
#include "scap/event.h"

#include "event/event.h"
#include "sonde/scap_wire.h"

const struct event_desc scap_event_desc = {
	.type = SONDE_EV_SCAP, .name = "sys.event", .doc = "a system call entered or left, or what the scheduler, "
	"signals and faults did", .class = EVENT_DATA, .sections = 1u << SEC_PARAMS,
};

const struct event_desc scap_row_desc = {
	.type = SONDE_EV_SCAP_ROW, .name = "sys.row", .doc = "a thread, descriptor or user that was there",
	.class = EVENT_STATE, .sections = 1u << SEC_PARAMS,
};
