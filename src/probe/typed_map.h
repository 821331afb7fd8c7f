/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps that no BPF object defines, with types all the same, so that bpftool(8) prints what they hold as it does for
 * the others. Internal to src/probe.
 */
#ifndef PROBE_TYPED_MAP_H
#define PROBE_TYPED_MAP_H

#include <bpf/bpf.h>
#include <stddef.h>
#include <stdint.h>

struct map_types;

/* Never fails: without memory, or where the kernel takes no types, it returns NULL, and maps have none. */
struct map_types *typed_map_new(void);
void typed_map_free(struct map_types *t); /* NULL is fine; maps keep what they need */

/*
 * A number of 1, 4 or 8 bytes, a text of 16, or struct sonde_ledger, by their sizes; a map with another size has no
 * types. @t may be NULL. The descriptor, or -errno.
 */
int typed_map_create(const struct map_types *t, enum bpf_map_type type, const char *name, uint32_t key_size,
		     uint32_t value_size, uint32_t max, uint32_t flags);

#endif
