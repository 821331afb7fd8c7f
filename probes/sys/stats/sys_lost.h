/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lost records by call and CPU (sys_lost in sys.bpf.c).
 */
#ifndef SYS_LOST_H
#define SYS_LOST_H

struct bpf_object;
struct buf;
struct probe;
struct sys_stats_lost;

/* NULL without memory. @abis: ABI of each group of slots, @n_abis of them; borrowed. */
struct losses *sys_lost_new(const unsigned *abis, unsigned n_abis, unsigned n_cpus);
void sys_lost_free(struct losses *l); /* NULL is fine */

/* The calls with most losses reported so far, up to @n, in descending order. Returns their number. */
unsigned sys_lost_most(const struct losses *l, struct sys_stats_lost *ret, unsigned n);

/* A line for each of them, with CPUs and cause. */
void sys_lost_print(const struct losses *l, struct buf *out);

/* Injects a record (SYS_REC_LOST) for each call and CPU with new losses. 0 or a negative errno. */
int sys_lost_report(struct losses *l, struct probe *p, struct bpf_object *obj);

#endif
