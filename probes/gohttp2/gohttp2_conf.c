// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of the gohttp2 probe.
 */
#include "base/macros.h"
#include "probes/gohttp2/gohttp2.h"

const struct gohttp2_conf gohttp2_conf_default = { .value_bytes = 512 };

static const char *const set_names[] = {
	[GOHTTP2_SET_HEADERS] = "headers",
	[GOHTTP2_SET_DATA] = "data",
	[GOHTTP2_SET_ALL] = "all",
	NULL,
};
_Static_assert(ARRAY_SIZE(set_names) == GOHTTP2_SET__MAX + 1, "a name per set");

#define ROW(member, ...) OPT_ROW(gohttp2_conf, member, __VA_ARGS__)

const struct opt gohttp2_opts[] = {
	{ .name = "probes",
	  .kind = OPT_ENUM,
	  .off = offsetof(struct gohttp2_conf, set),
	  .arg = "SET",
	  .help = "what is watched: headers (three hits a call), data too (bytes and messages), or all there is",
	  .aux = set_names },
	ROW(headers, "header", 0, OPT_STRV, "NAME",
	    "also show this header of requests and responses; may repeat. Secrets show their length only"),
	ROW(value_bytes, "header-bytes", 0, OPT_BYTES, "SIZE", "most bytes of one header's value (default 512)",
	    .use = OPT_USE_BYTES),
	ROW(payload_bytes, "payload", 0, OPT_BYTES, "SIZE",
	    "also an event for each DATA frame, with its first bytes (at most 2047)", .use = OPT_USE_BYTES),
	ROW(debug, "debug-kernel", 0, OPT_BOOL, NULL, "the kernel side talks to its trace pipe"),
	OPT_END,
};
