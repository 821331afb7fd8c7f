/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command names that are not wanted (sys_select.bpf.h), in each BPF object of the probe.
 */
#ifndef SYS_SUPPRESS_H
#define SYS_SUPPRESS_H

#include <stdint.h>

struct bpf_object;
struct probe;
struct sys_conf;

/* Before load: room for the names. */
void sys_suppress_configure(const struct sys_conf *c, struct bpf_object *obj);
/* After load: the names. 0 or -errno. */
int sys_suppress_fill(const struct sys_conf *c, const struct bpf_object *obj);
/* Events that were left out so far. */
uint64_t sys_suppress_count(const struct bpf_object *obj, unsigned n_cpus);
/* Threads that have such a name now. */
uint64_t sys_suppress_threads(const struct sys_conf *c, const struct probe *p);

#endif
