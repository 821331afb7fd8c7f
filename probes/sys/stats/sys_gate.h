/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records calls only part of the time, for --max-cpu.
 *
 * Each tenth of a second begins with an open part; in the rest the programs only count calls as sampled. Calls that
 * change processes always pass.
 */
#ifndef SYS_GATE_H
#define SYS_GATE_H

#include <stdint.h>

struct bpf_object;
struct loop;

/* @obj: loaded; both borrowed. NULL: out of memory, or the programs cannot pause. */
struct sys_gate *sys_gate_new(struct bpf_object *obj, struct loop *loop);
/* From now on the open part is 1/@one_in; 1 = always open. 0 or -errno, then it is always open. */
int sys_gate_set(struct sys_gate *g, uint32_t one_in);
void sys_gate_free(struct sys_gate *g); /* opens it, while the object lives; NULL is fine */

#endif
