// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON objects as Cilium's client prints them with --json. As in the client, policy verdicts and lost records are
 * plain text.
 */
#include "sinks/cilium/cilium_lines.h"
#include "sinks/sink.h"

static int cilium_json_event(struct sink *s, const struct event *ev)
{
	return cilium_lines_event(s, ev, true);
}

const struct sink_ops cilium_json_sink = {
	.name = "cilium-json", .summary = "packets and drops as `cilium-dbg monitor --json` prints them",
	.tool = "cilium", .instead_of = "json",
	.shows = "packets",
	.state_size = sizeof(struct cilium_lines), .event = cilium_json_event, .close = cilium_lines_close,
};
