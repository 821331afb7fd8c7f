/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by cilium.c and cilium_json.c, the two outputs of Cilium's client. Private to src/sinks. */
#ifndef SINKS_CILIUM_LINES_H
#define SINKS_CILIUM_LINES_H

#include <stdbool.h>

#include "sinks/cilium/cilium_map.h"

struct sink;

/* State of a sink; starts zeroed. */
struct cilium_lines {
	struct cilium_map map;
	struct buf out;
};

int cilium_lines_event(struct sink *s, const struct event *ev, bool json);
int cilium_lines_close(struct sink *s);

#endif
