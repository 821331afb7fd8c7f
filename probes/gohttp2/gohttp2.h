/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command asks of the gohttp2 probe.
 */
#ifndef GOHTTP2_GOHTTP2_H
#define GOHTTP2_GOHTTP2_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

/* Which places of a program are watched; each set holds the one before. */
enum gohttp2_set { GOHTTP2_SET_HEADERS, GOHTTP2_SET_DATA, GOHTTP2_SET_ALL, GOHTTP2_SET__MAX };

/* Filled by the probe's options, and by commands. */
struct gohttp2_conf {
	unsigned set;			/* enum gohttp2_set */
	struct opt_strv headers;	/* names of more headers to show */
	uint64_t value_bytes;		/* most of one header's value */
	uint64_t payload_bytes;		/* of each DATA frame; 0 = none */
	const char *command;		/* program that is about to be started, as execvp() finds it; NULL = none */
	bool debug;			/* the programs talk to the kernel's trace pipe */
};

#define GOHTTP2_VALUE_BYTES_MAX 2047

extern const struct gohttp2_conf gohttp2_conf_default;
extern const struct opt gohttp2_opts[];

#endif
