/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rights of the daemon while it serves: few capabilities, none effective while it handles client data, and a system
 * call filter. doc/SECURITY.md has reasons and measurements.
 */
#ifndef AGENT_AGENT_RIGHTS_H
#define AGENT_AGENT_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct agent_rights {
	uint64_t permitted; /* kept for good */
	uint64_t working;   /* effective while probes work: all but CAP_SYS_ADMIN: rights_raise() */
};

/*
 * Gives up all capabilities that no probe needs after the start, for good and for all children. @admin: keeps
 * CAP_SYS_ADMIN if present. The working set is effective afterwards. 0 or -errno.
 */
int agent_rights_keep(bool admin, struct agent_rights *ret, struct err *err);

/*
 * Restricts system calls to those that serving needs, for this process and its workers. Calls that only an attacker
 * would make kill the process, others fail with EPERM. Does nothing in builds with sanitizers. 0 or -errno.
 */
int agent_rights_filter(struct err *err);

#endif
