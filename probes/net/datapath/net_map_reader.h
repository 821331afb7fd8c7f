/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who reads a BPF map of events, as far as /proc tells: a process that has the map open, and either perf events
 * (whose rings it put there) or the map's memory.
 */
#ifndef NET_NET_MAP_READER_H
#define NET_NET_MAP_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct net_map_reader {
	pid_t pid;
	char comm[16];
	char socket[108];	/* a stream socket that it listens at, "" = none: its events may be had there */
};

/* @mapped: the map is read through memory (a ring buffer). 1 and *ret if there is a reader but us, 0, or -errno. */
int net_map_reader_find(uint32_t map_id, bool mapped, struct net_map_reader *ret);

#endif
