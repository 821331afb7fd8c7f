/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capability sets of the calling thread (capabilities(7)): permitted and effective. A daemon keeps few capabilities
 * permitted and makes them effective only while it needs them.
 *
 * Sets are masks: RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON).
 */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <linux/capability.h>
#include <stdint.h>

#include "base/cleanup.h"

#define RIGHT(cap) (1ull << (cap))

/* 0 also if capget(2) fails. */
uint64_t rights_permitted(void);
uint64_t rights_effective(void);

/* Reduces the permitted set to @permitted, irrevocably, and sets the effective set. 0 or -errno. */
int rights_keep(uint64_t permitted, uint64_t effective);

/* Makes the permitted ones of @caps effective. Returns the previous set for rights_restore(). */
uint64_t rights_raise(uint64_t caps);
void rights_restore(uint64_t effective);

/* uint64_t was _cleanup_rights_ = rights_raise(...): raises until the end of the block. */
static inline void rights_restorep(const uint64_t *effective)
{
	rights_restore(*effective);
}
#define _cleanup_rights_ _cleanup_(rights_restorep)

#endif
