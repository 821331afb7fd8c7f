/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon may still do once it serves: capabilities (few, and none of them effective while it handles what
 * clients sent) and system calls. The reasons and what was measured: doc/SECURITY.md.
 */
#ifndef AGENT_AGENT_RIGHTS_H
#define AGENT_AGENT_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct agent_rights {
	uint64_t permitted; /* what is kept */
	uint64_t working;   /* effective while probes work: all of it but CAP_SYS_ADMIN, see rights_raise() */
};

/*
 * Gives up, for good and for all that is forked later, what no probe needs after the start. @admin: CAP_SYS_ADMIN
 * is kept if it is there. The working set is effective behind it. 0 or -errno.
 */
int agent_rights_keep(bool admin, struct agent_rights *ret, struct err *err);

/*
 * No system call from here on but those that serving needs, in this process and its workers. What could only be an
 * attack kills the process, the rest fails with EPERM. Nothing in builds with sanitizers. 0 or -errno.
 */
int agent_rights_filter(struct err *err);

#endif
