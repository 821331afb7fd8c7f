/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a pipeline, for its files: assembly (pipeline.c), probes (pipeline_probes.c), the path of a record
 * (pipeline_path.c), rings (pipeline_rings.c), the run (pipeline_run.c, pipeline_socket.c) and rights
 * (pipeline_rights.c).
 */
#ifndef PIPELINE_PIPELINE_STATE_H
#define PIPELINE_PIPELINE_STATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "pipeline/account.h"
#include "pipeline/pipeline.h"

struct cilium_listener;
struct client;
struct opener;
struct output;
struct scap_state;
struct source;
struct source_ops;
struct sym;

struct pipeline {
	struct loop *loop; /* borrowed */
	struct decode_set *decode;
	struct enrich *enrich;
	struct sym *sym;	 /* NULL = no output needs names */
	struct scap_state *scap; /* threads and descriptors for events with SEC_PARAMS */
	struct bus *bus;
	struct arena scratch; /* enrichment of the current event */
	VEC(struct output *) outputs;

	uint32_t needs; /* sections that outputs need: 1u << kind */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;

	struct coop *coop;	 /* starts and ends probes; NULL = on this thread */
	bool draining;		 /* all snapshots are in the stream: the rings may be read */
	struct probe_env *env;	 /* live run */
	struct probe *probes;	 /* SONDE_INSTANCES of them, never moved */
	size_t n_probes;	 /* used slots, those of removed probes (ops NULL) included */
	uint64_t since_ns;	 /* attach time of the first probe marked `ahead`; 0 = none */
	struct source *source;	 /* input file or socket */
	const char *socket_path; /* another agent's socket; borrowed; NULL = none */
	const struct source_ops *socket_format;
	uint64_t reconnect_ns;
	struct opener *opener;		  /* process that opens files; NULL = none */
	struct cilium_listener *listener; /* its socket is removed at the end; borrowed; NULL = none */
	struct client *client;		  /* agent connection; borrowed */
	uint32_t own;			  /* this process, whose events from an agent are dropped; 0 = none */
	struct pipeline_tap tap;	  /* all NULL = none */
	uint64_t replayed_ns;		  /* latest time in a replay, which ends the run */
	bool input_ready;		  /* the source can be read */

	struct accounts accounts;
	struct pipeline_limits limits;
	uint64_t shown;		 /* events that passed the filter */
	int64_t clock_offset_ns; /* last one reported */
	struct loop_source *ring_io;
	struct loop_source *deadline, *tick, *duration, *input_io; /* of the run */
	bool input_more; /* the last read of the source used up its budget */
	bool ring_muted; /* ring_io sleeps until the next deadline */
	bool stopping;
	bool injecting; /* the current record comes from a live half */
	bool reporting; /* the current record reports losses the ledger already has */
	int error;	/* ended the run */

	/* Outcome of the current record. */
	struct {
		unsigned passed, refused;
		int error;
	} now;
};

#endif
