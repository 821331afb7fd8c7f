/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flight recorder: keeps packets of the last seconds in memory that the kernel side overwrites, and drops beside
 * them, and reports them only on a dump. A dump puts records into the stream, oldest first, with SONDE_RF_KEPT, after
 * a NET_EV_DUMP.
 */
#ifndef NET_NET_RECORDER_H
#define NET_NET_RECORDER_H

#include <stdint.h>

struct err;
struct net_link;
struct net_parts;
struct net_recorder;
struct net_tc_progs;

/* The trigger of a dump. */
struct net_recorder_trigger {
	uint64_t ts_ns;			/* time; of the record, if it has one */
	const struct sonde_rec *rec;	/* its ts_ns, type, cpu and instance are used; NULL = none */
	uint8_t by;			/* NET_RECORDER_DUMP_* */
	const char *on;		/* the condition; NULL = none */
};

extern const struct net_part net_recorder_part;

/* The first one creates the memory. */
int net_recorder_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/* An interface of @netns appeared or changed. */
void net_recorder_link(struct net_recorder *k, uint32_t netns, const struct net_link *l);

/* Sees each record on its way and keeps drops. */
void net_recorder_record(struct net_recorder *k, const struct sonde_rec *r);

/*
 * Schedules a dump for the end of the time after the trigger. Triggers until then are marked in the same dump; dumps
 * do not overlap. 0 or -ENOMEM.
 */
int net_recorder_trigger(struct net_recorder *k, const struct net_recorder_trigger *t);

#endif
