/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the process that reads a BPF map of events, as far as /proc shows: it has the map open, and either perf
 * events (whose rings it installed) or a mapping of the map.
 */
#ifndef NET_NET_MAP_READER_H
#define NET_NET_MAP_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct net_map_reader {
	pid_t pid;
	char comm[16];
	char socket[108]; /* a stream socket on which it listens, "" = none: it may serve its events there */
};

/* @mapped: the map is read through memory (a ring buffer). 1 and *ret if another process reads it, 0, or -errno. */
int net_map_reader_find(uint32_t map_id, bool mapped, struct net_map_reader *ret);

#endif
