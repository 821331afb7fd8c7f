/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One assembled flow: source -> records -> decode -> state -> bus -> subscribers.
 *
 * The source is the rings of live probes, a file, or a socket. The pipeline owns its parts, keeps the ledger, and
 * runs in one thread on the caller's loop. Order of calls: new, set_filter, add_sink, then open_live or open_file,
 * run, free.
 */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/pipeline_opts.h"
#include "probe/env.h"
#include "sinks/sink.h"

struct cilium_listener;
struct client;
struct loop;
struct opt_strv;
struct pipeline;
struct source;
struct store_query;
struct sym_opts;

/* Registers the event types of all probes; touches no kernel. @loop is borrowed. */
int pipeline_new(struct loop *loop, struct pipeline **ret, struct err *err);
void pipeline_free(struct pipeline *p);		/* NULL is fine */

const struct registry *pipeline_registry(const struct pipeline *p);
const struct core_host *pipeline_host(const struct pipeline *p); /* empty until its record came */
/* For subscribers other than sinks. */
struct bus *pipeline_bus(struct pipeline *p);
/* User of a process at a time, from the records so far. False = unknown. */
bool pipeline_owner(struct pipeline *p, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid);
const struct decode_set *pipeline_decoders(const struct pipeline *p);
/* State of threads and descriptors, updated by events. */
struct scap_state *pipeline_scap(struct pipeline *p);
const struct state *pipeline_state(const struct pipeline *p); /* the engine behind all events */

/*
 * The filter of this pipeline. Refused events count as filtered, except those of class STATE; events of class META
 * are never filtered. @all_data: it passes every event of class DATA.
 */
void pipeline_set_filter(struct pipeline *p, bool (*pass)(void *ctx, const struct event *ev), void *ctx,
			 bool all_data);

/* Parts of events that may be secrets and that the user asked for: DECODE_REVEAL_* (event/decode.h). */
void pipeline_set_reveal(struct pipeline *p, unsigned what);

struct pipeline_settings *pipeline_settings(struct pipeline *p);

/*
 * Adds a symbolizer for stack addresses, which sees every state event before the subscribers do. At most once, before
 * sinks are added. pipeline_sym() is NULL without it and is valid as long as the pipeline.
 */
int pipeline_add_sym(struct pipeline *p, const struct sym_opts *o, struct err *err);
struct sym *pipeline_sym(const struct pipeline *p);

/* Adds an output; @opts is borrowed, @path as for outfile_open(). */
int pipeline_add_sink(struct pipeline *p, const struct sink_ops *ops, const struct sink_opts *opts,
		      const char *path, struct err *err);

/*
 * Outputs that are flight recorders write what they have kept. Returns how many began to. pipeline_dumps(): complete
 * dumps, 0 while one is written, and triggers that made none of their own.
 */
int pipeline_trigger(struct pipeline *p);
void pipeline_dumps(const struct pipeline *p, uint64_t *ret_dumps, uint64_t *ret_more);

/* Sections (1u << enum sec_kind) to make for every event, in addition to those that outputs need. */
void pipeline_need(struct pipeline *p, uint32_t sections);
uint32_t pipeline_needs(const struct pipeline *p);

/*
 * Starts and ends probes on a second thread (loop/coop.h), so that the loop keeps running. @guard as for
 * loop_set_guard(), NULL = none. Call it when the process has its final rights, which the thread inherits. Without
 * it, all work is done on the caller's thread.
 */
int pipeline_use_thread(struct pipeline *p, void (*guard)(void *ctx, bool raised), void *ctx, struct err *err);
struct coop *pipeline_coop(const struct pipeline *p);	/* NULL = none */

/*
 * Loads and attaches @probes, after proc. With a second thread the loop runs meanwhile and records are delivered.
 * After pipeline_stop() it returns 0 with the probes that had started, and pipeline_run() ends at once.
 */
int pipeline_open_live(struct pipeline *p, const struct probe_env_opts *env, const struct pipeline_probe *probes,
		       size_t n_probes, struct err *err);
int pipeline_open_file(struct pipeline *p, const char *path, struct err *err);
/* Part of the file that was read, 0 to 1000; -1 if the input is not a regular file. */
int pipeline_read_permille(const struct pipeline *p);
void pipeline_open_source(struct pipeline *p, struct source *source);	/* takes over an open source */
/*
 * For a run over a file, once everything is open: this process becomes uid 65534 without capabilities, behind a
 * system call filter (confine_self()).
 */
int pipeline_give_up_rights(struct pipeline *p, struct err *err);
/*
 * A server of the caller keeps accepting clients after pipeline_give_up_rights(); @path: its unix socket, which the
 * opener removes (pipeline_remove_socket()), NULL = none. Call it before. 0 or -errno.
 */
int pipeline_set_accepts(struct pipeline *p, const char *path);
/* 0 or -errno; -ENOENT without such a socket. */
int pipeline_remove_socket(struct pipeline *p);
/*
 * Unix socket of another agent, whose stream has the input format @format ("cilium"). A closed connection is opened
 * again after @reconnect_ns (0 = 12 s) until the run is stopped. @path is borrowed.
 */
int pipeline_open_socket(struct pipeline *p, const char *path, const char *format, uint64_t reconnect_ns,
			 struct err *err);
/*
 * Records of an agent instead of rings. @c has its subscription; borrowed for the pipeline's life. @says: the agent's
 * messages have the same readers as this process's, so hooks that fail there are not reported again.
 */
void pipeline_open_agent(struct pipeline *p, struct client *c, bool says);

/* Whether a hook does not work, by the name that its probe reports; of the agent's instances if there is one. */
bool pipeline_hook_failed(const struct pipeline *p, const char *hook);
/* All of the instances @of: see struct failed_hook. */
void pipeline_failed_hooks(const struct pipeline *p, uint64_t of,
			   void (*fn)(void *ctx, const char *hook, const char *why), void *ctx);

/* ---- for the agent: a live pipeline whose probes come and go ---- */

/*
 * Loads and attaches one more instance. @select NULL: the selection of the environment. @which->conf and the lists of
 * @select live until pipeline_remove_probe(). pipeline_snapshot() delivers the state from before.
 */
int pipeline_add_probe(struct pipeline *p, const struct pipeline_probe *which, const struct probe_select *select,
		       uint16_t *ret_instance, struct err *err);
/* Detaches the instance, drains its rings and reports its last losses. */
void pipeline_quiet_probe(struct pipeline *p, uint16_t instance);
void pipeline_remove_probe(struct pipeline *p, uint16_t instance);

/* State from before the start (records with SONDE_RF_SNAPSHOT), by the instances of @mask (1u << number). */
int pipeline_snapshot(struct pipeline *p, uint32_t mask, struct err *err);
/* Reads the rings until they are empty, at most 2 s. */
void pipeline_drain(struct pipeline *p);
/* The kernel's ledger as last read: see pipeline_refresh(). */
int pipeline_kernel_ledger(struct pipeline *p, uint16_t instance, struct sonde_ledger *ret);
/* Appends the probe's own status lines, indented by two spaces. */
void pipeline_status(struct pipeline *p, uint16_t instance, struct buf *out);
/* misses() of probe.h; does nothing for a probe without it. */
void pipeline_misses(struct pipeline *p, uint16_t instance,
		     void (*fn)(void *ctx, const char *file, unsigned line, const char *reason, uint64_t count),
		     void *ctx);
struct probe_env *pipeline_env(const struct pipeline *p);

/*
 * Runs until the source ends, a limit is reached or pipeline_stop(); then detaches, drains the rings, closes the
 * ledger and the outputs. 0 or -errno with a message: -EPIPE if the only failure is an output without a reader.
 */
int pipeline_run(struct pipeline *p, const struct pipeline_limits *limits, struct err *err);
/*
 * The same for several pipelines over files, on one loop: each ends with its source, the first failure ends all.
 */
int pipeline_run_all(struct pipeline *const *all, size_t n, const struct pipeline_limits *limits, struct err *err);
void pipeline_stop(struct pipeline *p);
bool pipeline_stopping(const struct pipeline *p);

/*
 * pipeline_run() in steps: begin, step until it returns 0 or less, end (once, whatever step returned). A step waits
 * at most @timeout_ms; 1 to continue, 0 at the end of the source, -errno.
 */
int pipeline_begin(struct pipeline *p, const struct pipeline_limits *limits, struct err *err);
int pipeline_step(struct pipeline *p, int timeout_ms, struct err *err);
int pipeline_end(struct pipeline *p, struct err *err);

/*
 * Calls a verb of a live probe (struct probe_ops, call): the first one named @probe, or @instance if @probe is NULL.
 * -ENOENT if none runs.
 */
int pipeline_call(struct pipeline *p, const char *probe, uint16_t instance, const char *verb,
		  const struct opt_strv *args, struct err *err);

/* Reads the kernel's counters now; the run does it once a second. */
void pipeline_refresh(struct pipeline *p);
/* Events that passed the filter, and those of class DATA that did not. */
uint64_t pipeline_shown(const struct pipeline *p);
uint64_t pipeline_refused(const struct pipeline *p);
/* Sum over all instances, final after pipeline_run(). */
void pipeline_ledger(const struct pipeline *p, struct sonde_ledger *ret);
/* account_gap() of an instance: 0 in a closed ledger. */
uint64_t pipeline_gap(const struct pipeline *p, uint16_t instance);
/* Ledger and name of an instance; NULL if there is none. */
const char *pipeline_instance(const struct pipeline *p, uint16_t instance, struct sonde_ledger *ret);

#endif
