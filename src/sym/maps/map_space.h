/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sorted list of mappings without overlaps, shared by reference counting. Private to src/sym.
 */
#ifndef SYM_MAP_SPACE_H
#define SYM_MAP_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_SPACE_MAX 8192	/* limit of mappings; only a hostile process needs more */

struct mapping {
	uint64_t start, end;	/* addresses; end is exclusive */
	uint64_t off;		/* offset in the file, of start */
	uint64_t since_ns;
	uint32_t module;
	uint32_t pad;
};

struct map_space {
	uint32_t refs;
	uint32_t len, cap;
	struct mapping m[];
};

struct map_space *map_space_new(uint32_t cap);	/* one reference; NULL without memory */
size_t map_space_bytes(const struct map_space *s);

/*
 * Adds @m to *s, which has one reference and may move. Where two mappings overlap, the newer one wins; a snapshot
 * confirms an existing mapping. 1 if the list changed, 0 if not, -ENOSPC beyond MAP_SPACE_MAX, -ENOMEM; after an
 * error @m was added partly or not at all.
 */
int map_space_add(struct map_space **s, const struct mapping *m, bool snapshot);

/* The mapping that holds @addr, or NULL. */
const struct mapping *map_space_at(const struct map_space *s, uint64_t addr);

/* How many mappings are not older than @ns. */
uint32_t map_space_count_since(const struct map_space *s, uint64_t ns);

#endif
