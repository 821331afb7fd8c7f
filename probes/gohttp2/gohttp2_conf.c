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
	ROW(set, "probes", 0, OPT_ENUM, "SET", "probe sites", .names = set_names,
	    .more = "headers: three hits per call; data: bytes and messages too"),
	ROW(headers, "header", 0, OPT_STRV, "NAME", "show this header too; may repeat",
	    .more = "of requests and responses; secrets show their length only"),
	ROW(value_bytes, "header-bytes", 0, OPT_BYTES, "SIZE", "bytes of a header value (default 512)",
	    .use = OPT_USE_BYTES),
	ROW(payload_bytes, "payload", 0, OPT_BYTES, "SIZE", "an event per DATA frame with its first bytes",
	    .use = OPT_USE_BYTES),
	OPT_END,
};
