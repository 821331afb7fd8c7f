/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One list of mappings, sorted, without overlaps, shared by counting. Private to src/sym.
 */
#ifndef SYM_MAP_SPACE_H
#define SYM_MAP_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/maptab.h"

#define MAP_SPACE_MAX 8192	/* mappings; a process that makes more of them means harm */

struct map_space {
	uint32_t refs;
	uint32_t len, cap;
	struct mapping m[];
};

struct map_space *map_space_new(uint32_t cap);	/* one reference; NULL without memory */
size_t map_space_bytes(const struct map_space *s);

/*
 * Adds @m to *s, which has one reference and may move. The younger of two that overlap keeps its place; what a
 * snapshot saw confirms what is there. 1 when the list says something else now, 0 when it does not, -ENOSPC beyond
 * MAP_SPACE_MAX, -ENOMEM; then nothing, or a part of @m, was added.
 */
int map_space_add(struct map_space **s, const struct mapping *m, bool snapshot);

/* How many mappings are not older than @ns. */
uint32_t map_space_count_since(const struct map_space *s, uint64_t ns);

#endif
