/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the tables behind the stream whole: tells what is there at the start, and later puts the rows of one task in
 * front of its record where the stream cannot have told of it: it began, or its descriptors changed, in a gap.
 */
#ifndef SYS_RESYNC_H
#define SYS_RESYNC_H

#include <stdint.h>

struct err;
struct heal;
struct probe;
struct sonde_rec;

struct heal_stats {
	uint64_t rows;		/* told in all */
	uint64_t healed;	/* tasks that were read again */
	uint64_t postponed;	/* not read again yet, because others had used up the time for that */
};

struct heal *sys_resync_new(struct probe *p, struct err *err); /* NULL: @err says why */
void sys_resync_free(struct heal *h);			       /* NULL is fine */

/* What is there now: of the whole host, or of what was selected and its ancestors. 0 or -errno. */
int sys_resync_start(struct heal *h, struct err *err);

/* Looks at each record of this probe before it is decoded. */
void sys_resync_record(struct heal *h, const struct sonde_rec *r);

void sys_resync_stats(const struct heal *h, struct heal_stats *ret);

#endif
