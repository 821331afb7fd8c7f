/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --max-cpu: limits the CPU time of this process and the probe's programs by recording calls only part of the time.
 *
 * Each tenth of a second begins with an open part; in the rest the programs only count calls as sampled. Every second
 * the cost of the last one sets the length of the open part. Calls that change processes always pass.
 */
#ifndef SYS_BUDGET_H
#define SYS_BUDGET_H

struct bpf_object;
struct budget;
struct err;
struct probe;

/* @permille of one CPU, > 0. Needs the pipeline's loop. NULL: see @err. */
struct budget *sys_budget_new(struct probe *p, struct bpf_object *obj, unsigned permille, struct err *err);
/* To be called after the programs are attached. 0 or -errno. */
int sys_budget_start(struct budget *b);
/* To be called about every second: measures, adapts, and reports a change. */
void sys_budget_tick(struct budget *b);
/* Opens the programs for good. NULL is fine. */
void sys_budget_stop(struct budget *b);
void sys_budget_free(struct budget *b); /* NULL is fine */

#endif
