/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closing many links without waiting. The kernel ends a tcx link only after a grace period of RCU, 9 ms each, and so
 * does the exit of a process that still holds some: a thousand take ten seconds.
 */
#ifndef PROBE_CLOSER_H
#define PROBE_CLOSER_H

#include <stddef.h>

/*
 * Hands @fds to a process of their own, which closes them one after another and ends, also when the caller has ended
 * before. They are closed here in any case. @fds is sorted. The programs behind them should do nothing any more.
 */
void closer_run(int *fds, size_t n);

#endif
