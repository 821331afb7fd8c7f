/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that did not fit, by call and CPU (sys_lost.bpf.h).
 */
#ifndef SYS_LOST_H
#define SYS_LOST_H

struct bpf_object;
struct buf;
struct losses;
struct probe;
struct sys_stats_lost;

/* NULL without memory. @abis: what the slots stand for, @n_abis of them; borrowed. */
struct losses *sys_lost_new(const unsigned *abis, unsigned n_abis, unsigned n_cpus);
void sys_lost_free(struct losses *l); /* NULL is fine */

/* The calls that lost most, up to @n, most first: what the records told so far. Returns how many. */
unsigned sys_lost_most(const struct losses *l, struct sys_stats_lost *ret, unsigned n);

/* A line for each of them, with its CPUs and the cause: what the records told so far. */
void sys_lost_say(const struct losses *l, struct buf *out);

/* A record (SYS_REC_LOST) for each call and CPU that lost something since the last time. 0 or a negative errno. */
int sys_lost_tell(struct losses *l, struct probe *p, struct bpf_object *obj);

#endif
