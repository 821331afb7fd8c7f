// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of the gohttp2 probe.
 */
#include "base/macros.h"
#include "probes/gohttp2/gohttp2.h"

const struct gohttp2_conf gohttp2_conf_default = { .set = GOHTTP2_SET_HEADERS };

static const char *const set_names[] = {
	[GOHTTP2_SET_HEADERS] = "headers",
	[GOHTTP2_SET_PARENTS] = "parents",
	[GOHTTP2_SET_DATA] = "data",
	[GOHTTP2_SET_ALL] = "all",
	NULL,
};
_Static_assert(ARRAY_SIZE(set_names) == GOHTTP2_SET__MAX + 1, "a name per set");

#define ROW(member, ...) OPT_ROW(gohttp2_conf, member, __VA_ARGS__)

const struct opt gohttp2_opts[] = {
	ROW(set, "probes", 0, OPT_ENUM, "SET", "probe sites", .names = set_names,
	    .more = "headers: three hits per call; parents: three more, for the call that a client's call is part "
		    "of, which --logs and -o otlp imply; data: bytes and messages, too"),
	ROW(headers, "header", 0, OPT_STRV, "NAME[=SIZE]", "show this header too; may repeat",
	    .use = OPT_USE_BYTES,
	    .more = "of requests and responses; the longest SIZE holds for all values (default 512 bytes); secrets "
		    "show their length only"),
	ROW(payload_bytes, "payload", 0, OPT_BYTES, "SIZE", "an event per DATA frame with its first bytes",
	    .use = OPT_USE_BYTES),
	ROW(logs, "logs", 0, OPT_BOOL, NULL, "and the log lines of the goroutines that serve it",
	    .more = "to standard output, standard error and files, without a change to the program"),
	ROW(prefetch, "prefetch", 0, OPT_STRV, "FILE", "attach to this program before it runs; may repeat",
	    .more = "else the calls of its first run may be missed (rpc.late)"),
	OPT_END,
};

const struct opt gohttp2_command_opts[] = {
	ROW(optional, "optional", 0, OPT_BOOL, NULL, "go on if no process with -p runs a Go program"),
	OPT_END,
};
