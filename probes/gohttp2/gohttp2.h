/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the gohttp2 probe.
 */
#ifndef GOHTTP2_GOHTTP2_H
#define GOHTTP2_GOHTTP2_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

/* Sets of probe sites; each includes those of headers. */
enum gohttp2_set { GOHTTP2_SET_HEADERS, GOHTTP2_SET_PARENTS, GOHTTP2_SET_DATA, GOHTTP2_SET_ALL, GOHTTP2_SET__MAX };

/* Filled by the probe's options, and by commands. */
struct gohttp2_conf {
	unsigned set;			/* enum gohttp2_set */
	struct opt_strv headers;	/* further headers to show: NAME, or NAME=SIZE with the bytes of values */
	uint64_t payload_bytes;		/* of each DATA frame; 0 = none */
	struct opt_strv prefetch;	/* programs to attach to before they run: paths, or names as execvp() takes */
	bool logs;			/* what goroutines that serve a call write to logs */
	bool optional;			/* no error if no selected process runs a Go program */
	bool serving;			/* also which goroutine serves which call, as in GOHTTP2_SET_PARENTS */
	bool ranges;			/* bytes of each frame in the TCP stream; a hit more per frame */
	const char *command;		/* program about to be started, resolved like execvp(); NULL = none */
	bool debug;			/* BPF programs log to the kernel's trace pipe */
};

#define GOHTTP2_VALUE_BYTES_MAX 2047

extern const struct gohttp2_conf gohttp2_conf_default;
extern const struct opt gohttp2_opts[], gohttp2_command_opts[];

#endif
