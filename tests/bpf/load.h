/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The producers of load.bpf.c: loaded into a probe environment, run by test-run a given number of times on a given
 * CPU. For tests and benchmarks.
 */
#ifndef TESTS_LOAD_H
#define TESTS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct err;
struct load;
struct probe_env;

/* @ring_bytes: size of the ring that all CPUs share. */
int load_open(struct probe_env *env, uint16_t instance, size_t ring_bytes, struct load **ret, struct err *err);
void load_close(struct load *l);	/* NULL is fine */

/* Loads program @name in place of all others and releases it. Returns the result of probe_env_load(). */
int load_one(struct probe_env *env, const char *name, struct err *err);

/* Programs that ask for the current task are not loaded where tc programs may not (6.1). */
bool load_has(const struct load *l, const char *name);

/* By name, as in load.bpf.c; must exist. */
const struct bpf_program *load_prog(const struct load *l, const char *name);
int load_map(const struct load *l, const char *name);

/* Runs @prog @times times on this CPU. *ret_ns: mean per run; *ret_value: of the last run. Either may be NULL. */
int load_run(const struct bpf_program *prog, unsigned times, uint32_t *ret_ns, uint32_t *ret_value);

/* Pins the calling thread. 0 or -errno (-EINVAL: offline). */
int load_pin(unsigned cpu);

#endif
