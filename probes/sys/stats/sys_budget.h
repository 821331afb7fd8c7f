/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --max-cpu: how much CPU time this process and the programs of the probe take, and fewer calls where that is more
 * than what was granted.
 *
 * Each tenth of a second begins open; for the rest of it programs are closed: calls are counted as sampled, by two
 * loads each. Every second the open part is set by what the last one cost. Calls that change what processes are
 * always pass.
 */
#ifndef SYS_BUDGET_H
#define SYS_BUDGET_H

struct bpf_object;
struct budget;
struct err;
struct probe;

/* @permille of one CPU, > 0. Needs the pipeline's loop. NULL with a sentence. */
struct budget *sys_budget_new(struct probe *p, struct bpf_object *obj, unsigned permille, struct err *err);
/* After the programs are attached. 0 or -errno. */
int sys_budget_start(struct budget *b);
/* About every second: measures, and says so when it changes anything. */
void sys_budget_tick(struct budget *b);
/* Opens the programs for good. NULL is fine. */
void sys_budget_stop(struct budget *b);
void sys_budget_free(struct budget *b); /* NULL is fine */

#endif
