/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the call probe.
 */
#ifndef CALL_CALL_H
#define CALL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "probes/call/call_wire.h"

/* Filled by the probe's options, and by commands. */
struct call_conf {
	uint64_t head_bytes;	/* kept of a turn */
	struct opt_strv sources; /* "go", "socket" or names of protocols; none = all protocols */
	struct opt_strv ports;	/* of either end, none = any; "dns:PORT" is a port of DNS beside 53 and 5353 */
	bool optional;		/* another probe runs: go on without the tracepoints */
	bool leave_go;		/* gohttp2 runs: leave the HTTP/2 of programs that it watches to it */
	bool queue;		/* how long bytes wait for the first read */
	struct opt_strv tls_at;	/* FILE:NAME=ADDRESS,...: TLS functions of stripped programs */
	struct opt_strv prefetch; /* attach to these programs before they run */
	const char *command;	/* the same of the command that the run starts; NULL = none */
};

extern const struct call_conf call_conf_default;
extern const struct opt call_opts[], call_command_opts[];

/* The configuration, checked. */
struct call_choice {
	uint32_t kinds;		/* bits CALL_GUESS_* */
	uint32_t head, n_ports;
	uint16_t ports[CALL_PORTS], dns_port;
	bool leave_go;
};

#define CALL_HOOK_TLS "TLS libraries, entered"	/* without it calls over TLS are not seen */

#define CALL_FROM_GO 1u	/* the gohttp2 probe */
#define CALL_FROM_SOCKETS 2u	/* this probe */

/* Sources that the configuration asks for, bits CALL_FROM_*: by default Go. */
unsigned call_conf_sources(const struct call_conf *c);

/* 0, or -EINVAL with a sentence in @err. */
int call_conf_choose(const struct call_conf *c, struct call_choice *ret, struct err *err);

#endif
