/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the gohttp2 probe.
 */
#ifndef GOHTTP2_GOHTTP2_H
#define GOHTTP2_GOHTTP2_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

/* Sets of probe sites; each includes the one before. */
enum gohttp2_set { GOHTTP2_SET_HEADERS, GOHTTP2_SET_DATA, GOHTTP2_SET_ALL, GOHTTP2_SET__MAX };

/* Filled by the probe's options, and by commands. */
struct gohttp2_conf {
	unsigned set;			/* enum gohttp2_set */
	struct opt_strv headers;	/* names of further headers to show */
	uint64_t value_bytes;		/* of one header value at most */
	uint64_t payload_bytes;		/* of each DATA frame; 0 = none */
	const char *command;		/* program about to be started, resolved like execvp(); NULL = none */
	bool debug;			/* BPF programs log to the kernel's trace pipe */
};

#define GOHTTP2_VALUE_BYTES_MAX 2047

extern const struct gohttp2_conf gohttp2_conf_default;
extern const struct opt gohttp2_opts[];

#endif
