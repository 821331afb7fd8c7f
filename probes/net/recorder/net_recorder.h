/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flight recorder: packets of the last seconds stay in memory that the kernel side writes over, drops beside
 * them, and nothing of it is told until a dump is asked for. A dump puts records into the stream, oldest first, with
 * SONDE_RF_KEPT, and NET_EV_DUMP before them.
 */
#ifndef NET_NET_RECORDER_H
#define NET_NET_RECORDER_H

#include <stdint.h>

#define NET_RECORDER_BYTES (64u << 20) /* where nothing was asked for */

struct err;
struct net_recorder;
struct net_link;
struct net_setup;
struct net_tc_progs;
struct probe;
struct sonde_rec;

/* What set off a dump. */
struct net_recorder_trigger {
	uint64_t ts_ns;		/* when; of the record, if it was one */
	const struct sonde_rec *rec;	/* ts_ns, type, cpu and instance of it are used; NULL = none */
	uint8_t by;			/* NET_RECORDER_DUMP_* */
	const char *on;		/* the condition; NULL = none */
};

int net_recorder_new(struct probe *p, const struct net_setup *s, struct net_recorder **ret, struct err *err);
void net_recorder_free(struct net_recorder *k); /* NULL is fine; after the programs */

/* Loads the programs for namespace @netns (inode); the memory is made with the first. */
int net_recorder_load(struct net_recorder *k, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/* An interface of @netns is there, or changed. */
void net_recorder_link(struct net_recorder *k, uint32_t netns, const struct net_link *l);

/* A record on its way: drops are remembered. */
void net_recorder_record(struct net_recorder *k, const struct sonde_rec *r);

/*
 * A dump becomes due when the time after the trigger is over. Triggers until then are marked in the same dump; time
 * that a dump held is not in the next one. 0 or -ENOMEM.
 */
int net_recorder_trigger(struct net_recorder *k, const struct net_recorder_trigger *t);

void net_recorder_tick(struct net_recorder *k); /* about every second */
void net_recorder_end(struct net_recorder *k);	/* nothing is attached any more: what is due is dumped */

#endif
