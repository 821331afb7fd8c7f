/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which event type of libscap a system call has, and where each of its parameters comes from.
 */
#ifndef SYS_MAP_H
#define SYS_MAP_H

#include <stdint.h>

struct sys_call;

struct sys_mapping {
	const char *call;
	uint16_t type;		/* of the enter event; the exit event is the next */
	const char *enter, *exit;	/* sources, two letters per parameter: see sys_map.c */
};

/* What evt.type calls it: sysdig's name. @call may be NULL. */
const char *sys_map_scap_name(const struct sys_call *call);

/* The first argument that is a path, or -1. */
int sys_map_path_arg(const struct sys_call *call);

/* NULL: the generic event. @call may be NULL. */
const struct sys_mapping *sys_map_find(const struct sys_call *call);

#endif
