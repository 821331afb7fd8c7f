// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/restart.h"

#include <stdbool.h>

#include "base/macros.h"

#define FIRST_NS (250 * NS_PER_MS)
#define CALM_NS (60 * NS_PER_S)

uint64_t restart_pause(uint64_t *pause_ns, uint64_t ran_ns, uint64_t most_ns)
{
	const bool again = *pause_ns && ran_ns <= CALM_NS;

	*pause_ns = again ? MIN(2 * *pause_ns, most_ns) : FIRST_NS;
	return *pause_ns;
}
