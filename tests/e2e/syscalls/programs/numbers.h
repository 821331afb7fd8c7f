/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that are newer than the headers of the oldest system that builds this. */
#ifndef DRIVER_NUMBERS_H
#define DRIVER_NUMBERS_H

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453
#endif
#ifndef SYS_futex_wake
#define SYS_futex_wake 454
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

#endif
