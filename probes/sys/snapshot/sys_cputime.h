/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU times of all processes, for captures: libscap's readers compute the share of each process from them. Read from
 * /proc once a second, but for 20 ms at a time: on a host with many processes a round takes longer.
 */
#ifndef SYS_CPUTIME_H
#define SYS_CPUTIME_H

struct cputime;
struct probe;

struct cputime *sys_cputime_new(struct probe *p); /* NULL without memory, or without /proc */
void sys_cputime_free(struct cputime *c);	  /* NULL is fine */
/* Puts procinfo events into the stream. 0 or -errno. */
int sys_cputime_tick(struct cputime *c);

#endif
