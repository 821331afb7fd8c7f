/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as libscap's parameters (event/params.h).
 */
#ifndef SYS_PARAMS_H
#define SYS_PARAMS_H

#include <stdint.h>

struct arena;
struct event;
struct params_out;

/*
 * Fills @out from a sys.exit or sys.enter event; calls without an event type of their own use the generic one. 0,
 * -ENOENT for other events, -ENOMEM or -E2BIG.
 */
int sys_params_of(const struct event *ev, struct params_out *out);

/* Flags of open(2) on this machine in libscap's bits. */
uint32_t sys_params_open_flags(uint64_t native);

/* Adds SEC_PARAMS to the event, allocated in @scratch. For event_desc.make. */
int sys_params_make(struct event *ev, unsigned kind, struct arena *scratch);

#endif
