/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls in which threads wait.
 */
#ifndef CPU_CALLS_H
#define CPU_CALLS_H

#include <stdint.h>

#include "probes/cpu/cpu_wire.h"

extern const uint8_t cpu_calls[CPU_CALLS];	/* CPU_CALL_* by number; 0 = other */

#endif
