/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps that no BPF object defines, created with BTF types (Documentation/bpf/btf.rst) so that bpftool(8) prints their
 * contents by field. Internal to src/probe.
 */
#ifndef PROBE_TYPED_MAP_H
#define PROBE_TYPED_MAP_H

#include <bpf/bpf.h>
#include <stdint.h>

/* NULL without memory or kernel support: maps then have no types. */
struct map_types *typed_map_new(void);
void typed_map_free(struct map_types *t); /* NULL is fine; maps keep their types */

/*
 * Creates a map. Types follow from the sizes: a number of 1, 4 or 8 bytes, a text of 16, struct sonde_ledger; other
 * sizes have no type. @t may be NULL. Returns the descriptor or -errno.
 */
int typed_map_create(const struct map_types *t, enum bpf_map_type type, const char *name, uint32_t key_size,
		     uint32_t value_size, uint32_t max, uint32_t flags);

#endif
