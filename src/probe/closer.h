/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closes many BPF links without blocking. The kernel frees a tcx link after an RCU grace period, 9 ms each, and so
 * does the exit of a process that holds such links: a thousand take ten seconds.
 */
#ifndef PROBE_CLOSER_H
#define PROBE_CLOSER_H

#include <stddef.h>

/*
 * Hands @fds to a new process that closes them one by one and exits; it outlives the caller if need be. Closes them
 * in the caller, too, even if no process can be created. Sorts @fds. The linked programs should be inactive already.
 */
void closer_run(int *fds, size_t n);

#endif
