/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf maps: text that run-time compilers write to /tmp/perf-PID.map, one function per line: START SIZE NAME, hex,
 * with or without 0x; the name goes to the end of the line and may hold blanks. Code moves and is thrown away, and
 * the map only ever grows: where entries overlap, the newest (the last in the file) is right.
 */
#ifndef ELF_PERFMAP_H
#define ELF_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct symtab_hit;

/*
 * @fd is read by pread() to its end at the time, at most @budget bytes: of a longer file, the last part (the newest
 * entries). @addrs ascending. Fills ret[@n]; how many were found, or -errno. Lines that make no sense are skipped.
 */
int perfmap_lookup_fd(int fd, size_t budget, const uint64_t *addrs, size_t n, struct symtab_hit *ret);
int perfmap_lookup_mem(const void *data, size_t len, const uint64_t *addrs, size_t n, struct symtab_hit *ret);

#endif
