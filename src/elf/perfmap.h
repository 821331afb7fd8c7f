/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf maps: text that run-time compilers write to /tmp/perf-PID.map, one function per line: START SIZE NAME, in hex
 * with or without 0x; the name extends to the end of the line and may contain blanks. Code moves and is discarded,
 * but the map only grows: where entries overlap, the last one in the file is right.
 */
#ifndef ELF_PERFMAP_H
#define ELF_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct symtab_hit;

/*
 * Reads @fd by pread() to its current end, at most the last @budget bytes (the newest entries). @addrs ascending.
 * Fills ret[@n]; returns how many were found, or -errno. Skips malformed lines.
 */
int perfmap_lookup_fd(int fd, size_t budget, const uint64_t *addrs, size_t n, struct symtab_hit *ret);
int perfmap_lookup_mem(const void *data, size_t len, const uint64_t *addrs, size_t n, struct symtab_hit *ret);

#endif
