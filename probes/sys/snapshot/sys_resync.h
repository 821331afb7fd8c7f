/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the state behind the stream complete: reports existing processes at the start, and later injects the rows of
 * a single task before its record, where the task appeared or changed its descriptors among lost records.
 */
#ifndef SYS_RESYNC_H
#define SYS_RESYNC_H

#include <stdint.h>

struct err;
struct probe;
struct sonde_rec;

struct resync_stats {
	uint64_t rows;		/* injected in all */
	uint64_t healed;	/* tasks that were read again */
	uint64_t postponed;	/* re-reads that the rate limit deferred */
};

struct resync *sys_resync_new(struct probe *p, struct err *err); /* NULL: see @err */
void sys_resync_free(struct resync *h);			       /* NULL is fine */

/* Reports the processes of the host, or the selected ones with their ancestors. 0 or -errno. */
int sys_resync_start(struct resync *h, struct err *err);

/* To be called for each record of this probe before it is decoded. */
void sys_resync_record(struct resync *h, const struct sonde_rec *r);

void sys_resync_stats(const struct resync *h, struct resync_stats *ret);

#endif
