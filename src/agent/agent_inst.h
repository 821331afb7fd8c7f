/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe instances. Equal requests (probe, options, selection) share one instance; the last user removes it. Instance
 * 0 is the proc probe, which always runs and has no struct inst.
 */
#ifndef AGENT_AGENT_INST_H
#define AGENT_AGENT_INST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/access/agent_use.h"
#include "agent/agent_request.h"
#include "base/buf.h"
#include "probe/env.h"
#include "sonde/wire.h"

struct inst {
	uint16_t number;
	bool quiet;		      /* detached: no more records */
	bool starting;		      /* the first user's snapshot is incomplete */
	struct buf key;		      /* canonical request: equal keys share the instance */
	struct probe_request request; /* strings point into text */
	char *text;		      /* owned */
	void *conf;		      /* the probe's configuration; owned */
	struct opt_strv netns;
	VEC(uint32_t) pids;
	VEC(uint32_t) netns_inodes;
	VEC(uint64_t) cgroups;
	struct opt_strv comms;
	struct probe_select select; /* points to the lists above */
	struct inst_use use;
	unsigned refs;	   /* subscriptions, captures, and 1 for the verb attach */
	bool attached;	   /* by the verb */
	unsigned n_decode; /* users that need its events decoded here */
};

#define CONTROL_INSTANCES 1u	/* reserved for control */

struct agent_insts {
	struct pipeline *pipeline;	   /* borrowed */
	const struct agent_rights *rights; /* borrowed */
	/* May the client use one more instance, or share number @shared (0 = none)? -EDQUOT with a message. */
	int (*may_use)(const struct agent_conn *by, const struct inst_use *use, uint16_t shared, struct err *err);
	struct cilium_listener *listener;  /* notified of starts and ends; borrowed; NULL = none */
	unsigned n_cpus;		   /* possible CPUs */
	struct inst *of[SONDE_INSTANCES];  /* NULL = free; [0] stays NULL */
	bool snapshot;			   /* agent_inst_snapshot() runs */
	struct agent_conn *snapshot_for;   /* client that gets it; NULL = none */
};

/*
 * Finds or starts the instance for probe @i of @q and takes a reference. When only one free instance is left, the
 * kernel-side filter is removed from @q, so that others can share the instance.
 */
int agent_inst_get(struct agent_insts *all, struct agent_request *q, size_t i, uint16_t *ret, struct err *err);
/* The same for every probe of @q: adds their instances to *mask (1u << instance), also when it fails. */
int agent_inst_get_all(struct agent_insts *all, struct agent_request *q, uint32_t *mask, struct err *err);
/* Parses probe @i of @q as agent_inst_get() does, and starts nothing. For tests. */
int agent_inst_check(struct agent_insts *all, const struct agent_request *q, size_t i, struct err *err);
/* The snapshots of the instances of @mask are complete. */
void agent_inst_started(struct agent_insts *all, uint32_t mask);
/* Drops a reference; the last one removes the instance. */
void agent_inst_put(struct agent_insts *all, uint16_t instance);
/* The same for each instance of @mask, on the second thread: for handlers of the loop, which must not block. */
void agent_inst_put_later(struct agent_insts *all, uint32_t mask);
/* Drains the rings. Instances of @mask with no other user are detached before, so that their last record is read. */
void agent_inst_drain(struct agent_insts *all, uint32_t mask);
/* State from before the start (SONDE_RF_SNAPSHOT), for the client @conn alone; NULL = for decoders in this process.
 */
int agent_inst_snapshot(struct agent_insts *all, uint32_t mask, struct agent_conn *conn, struct err *err);
/* Does the calling job make a snapshot? The loop handles other records meanwhile. */
bool agent_inst_in_snapshot(const struct agent_insts *all);

/* Reads the kernel's counters of all instances; new losses are reported in the stream. */
void agent_inst_refresh(const struct agent_insts *all);
/* The kernel's counters as of the last read. */
void agent_inst_ledger(const struct agent_insts *all, uint16_t instance, struct sonde_ledger *ret);
/* Probe name; NULL = no such instance. */
const char *agent_inst_probe(const struct agent_insts *all, uint16_t instance);
bool agent_inst_wants_owners(const struct agent_insts *all, uint16_t instance);	/* see struct probe_ops */

/* BPF programs of one instance; runs and ns were counted while the kernel's run-time statistics were on. */
struct inst_cost {
	unsigned programs;
	uint64_t runs, ns;
};
/* Of all instances at once: a system call per program. */
void agent_inst_costs(const struct agent_insts *all, struct inst_cost ret[SONDE_INSTANCES]);

void agent_inst_free_all(struct agent_insts *all);

#endif
