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
	struct sym *sym;	 /* NULL = nobody wants names */
	struct scap_state *scap; /* threads and descriptors behind events with SEC_PARAMS */
	struct bus *bus;
	struct arena scratch; /* what enrich adds, per event */
	VEC(struct output *) outputs;

	uint32_t needs; /* sections that outputs want: 1u << kind */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;

	struct coop *coop;	 /* probes start and end on its thread; NULL = on this one */
	bool draining;		 /* snapshots are in the stream: the rings may be read */
	struct probe_env *env;	 /* live */
	struct probe *probes;	 /* SONDE_INSTANCES of them: what they point to stays where it is */
	size_t n_probes;	 /* places in use, those of removed ones (ops NULL) included */
	uint64_t since_ns;	 /* when the first that went ahead attached; 0 = none did */
	struct source *source;	 /* file */
	const char *socket_path; /* another agent's socket; borrowed; NULL = none */
	const struct source_ops *socket_format;
	uint64_t reconnect_ns;
	struct opener *opener;		  /* of a process without rights; NULL = none */
	struct cilium_listener *listener; /* its socket has to be removed at the end; borrowed; NULL = none */
	struct client *client;		  /* agent; borrowed */
	uint32_t own;			  /* this process: its events from an agent are left out; 0 = none */
	struct pipeline_tap tap;	  /* all NULL: nobody */
	uint64_t replayed_ns;		  /* latest time in it: its run ends there, whenever it is replayed */
	bool input_ready;		  /* source has something to read */

	struct accounts accounts;
	struct pipeline_limits limits;
	uint64_t shown;		 /* events that passed the filter */
	int64_t clock_offset_ns; /* last one told */
	struct loop_source *ring_io;
	struct loop_source *deadline, *tick, *duration, *input_io; /* of the run */
	bool input_more; /* the last read of the source used up its budget */
	bool ring_muted; /* ring_io sleeps until the next deadline */
	bool stopping;
	bool injecting; /* the record at hand comes from a live half */
	bool reporting; /* it says what the ledger has already: losses */
	int error;	/* that ended the run */

	/* Outcome of the record at hand. */
	struct {
		unsigned passed, refused;
		int error;
	} now;
};

#endif
