/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses between the starts of a process that ends again and again.
 */
#ifndef WORKER_RESTART_H
#define WORKER_RESTART_H

#include <stdint.h>

/*
 * The pause before the next start, in ns, also in @pause_ns (0 before the first): 250 ms, then twice as much each
 * time, up to @most_ns. A process that ran for a minute (@ran_ns) starts again after the first pause.
 */
uint64_t restart_pause(uint64_t *pause_ns, uint64_t ran_ns, uint64_t most_ns);

#endif
