/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a process made itself: its module, its perf map (/tmp/perf-PID.map) and its jitdump. Private to src/sym.
 */
#ifndef SYM_JIT_H
#define SYM_JIT_H

#include <stdint.h>

#include "sym/maptab.h"

struct module;
struct sym;

/* The process maps @module: it may be the marker of a jitdump. 0 or -ENOMEM. */
int jit_mapping(struct sym *s, struct map_key key, uint64_t ts_ns, uint32_t module);

/* The module of the own code of @who; looks for its map now and then. */
uint32_t jit_module(struct sym *s, struct map_who *who, uint64_t ts_ns);

/* Looks for the map now. */
void jit_find(struct sym *s, struct module *m);

/* Bytes of names that there are by now. */
uint64_t jit_bytes(const struct module *m);

/* The process ends: the last chance to find its map. */
void jit_exit(struct sym *s, struct map_key key, uint64_t ts_ns);

#endif
