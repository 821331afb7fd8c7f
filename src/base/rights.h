/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities in two steps: what a process may have (permitted) and what it has at the moment (effective). A daemon
 * keeps few, and has them only while it does what they are for. Knows nothing of users, libraries or policy.
 *
 * Sets are masks: RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON). capabilities(7).
 */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <linux/capability.h>
#include <stdint.h>

#include "base/cleanup.h"

#define RIGHT(cap) (1ull << (cap))

/* Of the calling thread. 0 also when the kernel does not tell. */
uint64_t rights_permitted(void);
uint64_t rights_effective(void);

/* Nothing but @permitted may be had from now on, for good; @effective of them are. 0 or -errno. */
int rights_keep(uint64_t permitted, uint64_t effective);

/* Makes @caps effective as far as they are permitted. What was effective before, for rights_restore(). */
uint64_t rights_raise(uint64_t caps);
void rights_restore(uint64_t effective);

/* uint64_t was _cleanup_rights_ = rights_raise(...): until the block ends. */
static inline void rights_restorep(const uint64_t *effective)
{
	rights_restore(*effective);
}
#define _cleanup_rights_ _cleanup_(rights_restorep)

#endif
