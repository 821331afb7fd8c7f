/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a record from its source to the outputs: control() of the probes, raw outputs, decode, state, filter,
 * bus. Also the records that the pipeline makes itself.
 */
#ifndef PIPELINE_PIPELINE_PATH_H
#define PIPELINE_PIPELINE_PATH_H

#include <stdint.h>

struct pipeline;
struct ring_rec;
struct sonde_rec;

/* The three sources of records; @ctx is the pipeline. */
int pipeline_path_from_ring(void *ctx, const struct ring_rec *rec);  /* ring_fn */
int pipeline_path_from_source(void *ctx, const struct sonde_rec *r); /* source_fn; -ECANCELED after a stop */
int pipeline_path_from_probe(void *ctx, const struct sonde_rec *r);  /* for probe_env_set_sink() */

/* The pipeline's own records, into the stream. */
void pipeline_path_emit_host(struct pipeline *p);
void pipeline_path_emit_name(struct pipeline *p, uint32_t space, uint64_t key, const char *name);
void pipeline_path_emit_clock(struct pipeline *p);  /* only after the wall clock was set */
void pipeline_path_emit_losses(struct pipeline *p); /* reads the kernel's counters; new losses of each instance */
void pipeline_path_emit_tick(struct pipeline *p);
void pipeline_path_emit_symbols(struct pipeline *p); /* names of all stacks, to recordings */
void pipeline_path_record_ledger(struct pipeline *p, uint64_t now_ns); /* totals so far, to recordings */
void pipeline_path_emit_ledger(struct pipeline *p); /* last records of a run */

/* Once, before the first record. */
void pipeline_path_init(struct pipeline *p);

/*
 * Passes host, clock, rates below 1 (--max-cpu) and all known names to @fn as records, for a client that joins late
 * or the next segment of a store.
 */
int pipeline_path_tell_state(struct pipeline *p, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx);
/* Delivers held records (pipeline_hold.h): all, or in a live run those that are too old. */
void pipeline_path_release(struct pipeline *p);
void pipeline_path_release_late(struct pipeline *p);

#endif
