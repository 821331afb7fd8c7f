/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the gohttp2 events other than calls, whose body is in call/call_event.h.
 */
#ifndef GOHTTP2_EVENT_H
#define GOHTTP2_EVENT_H

#include <stdint.h>

#include "event/decode.h"
#include "event/event.h"
#include "event/redact/redact.h"
#include "probes/gohttp2/gohttp2_wire.h"

struct gohttp2_miss_body {
	uint64_t count;
	uint32_t site, line;
	char file[32], reason[96], conn_type[128];
};

struct gohttp2_program_body {
	uint32_t n_sites, pad;
	char text[256];
};

struct gohttp2_late_body {
	uint64_t late_ns;
	uint8_t ended, pad[7];
	char file[256];
};

struct gohttp2_range_body {
	uint8_t frame, pad[7];	/* type of the frame */
};

extern const struct event_desc gohttp2_miss_desc, gohttp2_program_desc, gohttp2_late_desc, gohttp2_range_desc;
extern const struct event_desc *const gohttp2_descs[];

/* Content in records: gohttp2_content.c. */
extern const struct content_rule gohttp2_content[];
extern const struct redact_rule gohttp2_redact[];

#endif
