/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How late a fact may come, and how long the engine knows what has ended.
 */
#ifndef STATE_LIMITS_H
#define STATE_LIMITS_H

#include "base/macros.h"

#define STATE_WINDOW_NS NS_PER_S      /* greatest delay of a fact */
#define STATE_KEEP_NS (60 * NS_PER_S) /* an exited process or closed socket stays known, after the window */

#endif
