/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the flight recorder: its memory and what is due (net_recorder.c), and the making of a dump
 * (net_recorder_dump.c).
 */
#ifndef NET_NET_RECORDER_IMPL_H
#define NET_NET_RECORDER_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/vec.h"
#include "probes/net/recorder/net_recorder.h"
#include "probes/net/recorder/net_recorder_wire.h"

struct loop_source;

/* A trigger that waits for its dump. */
struct net_mark {
	uint64_t ts_ns;
	uint16_t type, cpu, instance;	/* type 0: no record */
};

struct net_kept_drop { struct sonde_rec *rec; };	/* owned */

struct net_recorder {
	struct probe *p;
	const struct net_setup *setup;
	uint64_t keep_ns, after_ns;
	/* memory of the kernel side */
	uint32_t n_rings, n_slots;	/* slots: of each ring */
	uint32_t slot_bytes;
	void *slots, *pos;	/* mapped, NULL = not yet */
	size_t slots_len, pos_len;
	struct map points;	/* netns << 32 | ifindex -> uint8_t[2], NET_POINT_* of in and out */
	/* drops, oldest first; from `first_drop` on */
	VEC(struct net_kept_drop) drops;
	size_t first_drop, drop_bytes, drop_limit;
	/* the dump that waits */
	VEC(struct net_mark) marks;
	uint64_t due_ns;	/* 0 = none */
	struct net_recorder_trigger first; /* of its triggers; `rec` and `on` are not used */
	char on[NET_RECORDER_DUMP_TEXT];
	struct loop_source *timer;
	uint64_t told_ns;	/* up to here the last one held everything */
	uint32_t n_dumps;
};

/* What is kept up to @to_ns goes into the stream. 0 or -ENOMEM, then nothing went. */
int net_recorder_dump(struct net_recorder *k, uint64_t to_ns);

#endif
