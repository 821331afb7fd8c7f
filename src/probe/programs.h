/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loaded BPF programs of a pipeline, by instance: for their run time and their recursion misses, which the kernel
 * counts. Internal to src/probe.
 */
#ifndef PROBE_PROGRAMS_H
#define PROBE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct bpf_object;

/* @misses: a recursion miss counts as seen and lost. */
struct program { int fd; uint32_t id; uint16_t instance; bool misses; };
struct programs { VEC(struct program) vec; };

void programs_fini(struct programs *p);

/* Adds the loaded programs of @obj. Without memory some are left out: their run time is then unknown. */
void programs_add(struct programs *p, const struct bpf_object *obj, uint16_t instance);

/* Counts the recursion misses of the program behind @prog_fd from now on. 0 or -errno. */
int programs_watch(struct programs *p, int prog_fd, uint16_t instance);

/* Sum of the recursion misses of @instance. */
uint64_t programs_misses(const struct programs *p, uint16_t instance);

void programs_forget(struct programs *p, uint16_t instance);

#endif
