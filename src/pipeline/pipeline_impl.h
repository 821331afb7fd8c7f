/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/agent only: the pipeline's parts, between its assembly (pipeline.c), the path of a record
 * (pipeline_path.c) and the run (pipeline_run.c).
 */
#ifndef AGENT_PIPELINE_IMPL_H
#define AGENT_PIPELINE_IMPL_H

#include "pipeline/account.h"
#include "pipeline/pipeline.h"
#include "base/arena.h"
#include "base/vec.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

struct cilium_listener;
struct opener;
struct output;
struct client;
struct ring_rec;
struct scap_state;
struct source;
struct source_ops;
struct sym;

struct pipeline {
	struct loop *loop;		/* borrowed */
	struct decode_set *decode;
	struct enrich *enrich;
	struct sym *sym;		/* NULL = nobody wants names */
	struct scap_state *scap;	/* threads and descriptors behind events with SEC_PARAMS */
	struct bus *bus;
	struct arena scratch;		/* what enrich adds, per event */
	VEC(struct output *) outputs;

	uint32_t needs;			/* sections that outputs want: 1u << kind */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;

	struct coop *coop;		/* probes start and end on its thread; NULL = on this one */
	bool draining;			/* snapshots are in the stream: the rings may be read */
	struct probe_env *env;		/* live */
	struct probe *probes;		/* SONDE_INSTANCES of them: what they point to stays where it is */
	size_t n_probes;		/* places in use, those of removed ones (ops NULL) included */
	uint64_t since_ns;		/* when the first that went ahead attached; 0 = none did */
	struct source *source;		/* file */
	const char *socket_path;	/* another agent's socket; borrowed; NULL = none */
	const struct source_ops *socket_format;
	uint64_t reconnect_ns;
	struct opener *opener;		/* of a process without rights; NULL = none */
	struct cilium_listener *listener;	/* its socket has to be removed at the end; borrowed; NULL = none */
	struct client *client;		/* agent; borrowed */
	uint32_t own;			/* this process: its events from an agent are left out; 0 = none */
	struct pipeline_tap tap;	/* all NULL: nobody */
	uint64_t replayed_ns;		/* latest time in it: its run ends there, whenever it is replayed */
	bool input_ready;		/* source has something to read */

	struct accounts accounts;
	struct pipeline_limits limits;
	uint64_t shown;			/* events that passed the filter */
	int64_t clock_offset_ns;	/* last one told */
	struct loop_source *ring_io;
	struct loop_source *deadline, *tick, *duration, *input_io;	/* of the run */
	bool input_more;		/* the last read of the source used up its budget */
	bool ring_muted;		/* ring_io sleeps until the next deadline */
	bool stopping;
	bool injecting;			/* the record at hand comes from a live half */
	bool reporting;			/* it says what the ledger has already: losses */
	int error;			/* that ended the run */

	/* Outcome of the record at hand. */
	struct { unsigned passed, refused; int error; } now;
};

/* ---- pipeline_run.c, pipeline_socket.c ---- */

void pipeline_run_flush_outputs(struct pipeline *p);
int pipeline_read_rings(struct pipeline *p);		/* a budget of records, and flushes: how many, or -errno */
int pipeline_run_socket(struct pipeline *p, struct err *err);

/* ---- pipeline.c: one probe's life ---- */

struct probe *pipeline_free_place(struct pipeline *p);	/* NULL: all are taken */
int pipeline_start_probe(struct pipeline *p, const struct pipeline_probe *which, struct probe *probe,
			 struct err *err);
void pipeline_close_probe(struct probe *probe);		/* any state; its place is free then */

/* ---- pipeline_path.c: the one way of every record ---- */

int pipeline_path_from_ring(void *ctx, const struct ring_rec *rec);  /* ring_fn */
int pipeline_path_from_source(void *ctx, const struct sonde_rec *r); /* source_fn */
int pipeline_path_from_probe(void *ctx, const struct sonde_rec *r);  /* for probe_env_set_sink() */

/* The pipeline's own records. */
void pipeline_path_host_rec(const struct pipeline *p, struct sonde_host_rec *ret);
void pipeline_path_clock_rec(const struct pipeline *p, struct sonde_clock_rec *ret);
void pipeline_path_tell_host(struct pipeline *p);
void pipeline_path_tell_name(struct pipeline *p, uint32_t space, uint64_t key, const char *name);
void pipeline_path_tell_clock(struct pipeline *p); /* when the wall clock has moved */
void pipeline_path_tell_losses(struct pipeline *p);
void pipeline_path_tell_tick(struct pipeline *p);
void pipeline_path_tell_ledger(struct pipeline *p); /* the last words of a run */

#endif
