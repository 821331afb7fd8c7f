/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressed command names (--suppress), in each BPF object of the probe (sys_select.bpf.h).
 */
#ifndef SYS_SUPPRESS_H
#define SYS_SUPPRESS_H

#include <stdint.h>

struct bpf_object;
struct probe;
struct sys_conf;

/* Before load: sets the size of the map. */
void sys_suppress_configure(const struct sys_conf *c, struct bpf_object *obj);
/* After load: fills the map. 0 or -errno. */
int sys_suppress_fill(const struct sys_conf *c, const struct bpf_object *obj);
/* Events dropped so far. */
uint64_t sys_suppress_count(const struct bpf_object *obj, unsigned n_cpus);
/* Threads with a suppressed name now. */
uint64_t sys_suppress_threads(const struct sys_conf *c, const struct probe *p);

#endif
