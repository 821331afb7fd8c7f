/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU times of all processes, for captures: libscap's readers compute each process's share of CPU time from them.
 * They come from /proc once a second, in turns of 20 ms; with many processes a round takes several turns.
 */
#ifndef SYS_CPUTIME_H
#define SYS_CPUTIME_H

struct probe;

struct cputime *sys_cputime_new(struct probe *p); /* NULL without memory, or without /proc */
void sys_cputime_free(struct cputime *c);	  /* NULL is fine */
/* Injects procinfo events. 0 or -errno. */
int sys_cputime_tick(struct cputime *c);

#endif
