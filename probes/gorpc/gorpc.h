/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command asks of the gorpc probe.
 */
#ifndef GORPC_GORPC_H
#define GORPC_GORPC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

/* Which places of a program are watched; each set holds the one before. */
enum gorpc_set { GORPC_SET_HEADERS, GORPC_SET_DATA, GORPC_SET_ALL, GORPC_SET__MAX };

/* Filled by the probe's options, and by commands. */
struct gorpc_conf {
	unsigned set;			/* enum gorpc_set */
	struct opt_strv headers;	/* names of more headers to show */
	uint64_t value_bytes;		/* most of one header's value */
	uint64_t payload_bytes;		/* of each DATA frame; 0 = none */
	const char *command;		/* program that is about to be started, as execvp() finds it; NULL = none */
	bool debug;			/* the programs talk to the kernel's trace pipe */
};

#define GORPC_VALUE_BYTES_MAX 2047

extern const struct gorpc_conf gorpc_conf_default;
extern const struct opt gorpc_opts[];

#endif
