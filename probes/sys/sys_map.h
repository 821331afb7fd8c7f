/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libscap's event type of each system call, and the source of each of its parameters.
 */
#ifndef SYS_MAP_H
#define SYS_MAP_H

#include <stdint.h>

struct sys_call;

struct sys_mapping {
	const char *call;
	uint16_t type;		/* of the entry event; the exit event's type is one higher */
	const char *enter, *exit;	/* sources, two letters per parameter (sys_map.c) */
};

/* Name of the call in evt.type. @call may be NULL. */
const char *sys_map_scap_name(const struct sys_call *call);

/* First argument that is a path, or -1. */
int sys_map_path_arg(const struct sys_call *call);

/* NULL: the call has only the generic event. @call may be NULL. */
const struct sys_mapping *sys_map_find(const struct sys_call *call);

#endif
