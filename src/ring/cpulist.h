/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU lists of /sys/devices/system/cpu, "0-3,8,10-11" (Documentation/admin-guide/cputopology.rst): ids may
 * have gaps and no upper limit.
 */
#ifndef RING_CPULIST_H
#define RING_CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *ret: the ids in ascending order, freed by the caller. Returns their number, -EBADMSG or -ENOMEM. */
int cpulist_parse(const char *text, size_t len, uint32_t **ret);

/* Reads and parses the file @path. */
int cpulist_read(const char *path, uint32_t **ret);

bool cpulist_has(const uint32_t *cpus, size_t n, uint32_t cpu);

#endif
