/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One assembled flow: source -> records -> decode -> enrich -> bus -> subscribers.
 *
 * The source is either the rings of live probes or a file. The pipeline owns what it assembles, keeps the
 * ledger closed, and runs in one thread on the caller's loop. Order of use: new, set_filter, add_sink, then
 * open_live or open_file, run, free.
 */
#ifndef AGENT_PIPELINE_H
#define AGENT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/env.h"
#include "sinks/sink.h"

struct bus;
struct cilium_listener;
struct client;
struct coop;
struct core_host;
struct decode_set;
struct enrich;
struct err;
struct event;
struct loop;
struct names;
struct opener;
struct opt_strv;
struct pipeline;
struct sonde_rec;
struct source;
struct sym;
struct sym_opts;

/* A live probe and its configuration (of the shape its options fill); both outlive the pipeline. */
struct pipeline_probe {
	const struct probe_ops *ops;
	const void *conf;
};

/*
 * Who passes records on (the agent): sees each on its way, behind those that were put in front of it.
 */
struct pipeline_tap {
	/* Does anybody want the events of @r? If not it is not decoded, unless it is state. */
	bool (*wants_events)(void *ctx, const struct sonde_rec *r);
	/* An event of the record at hand, enriched. */
	void (*event)(void *ctx, const struct event *ev);
	/* The record itself, after its events; @error: 0, or why it was not decoded. */
	void (*record)(void *ctx, const struct sonde_rec *r, int error);
	void (*flush)(void *ctx);	/* no more records for now */
	void (*tick)(void *ctx, uint64_t now_ns);
	void *ctx;
};

struct pipeline_limits {
	uint64_t latency_ns;		/* longest wait between a record and its output; 0 = 50 ms */
	uint64_t max_events;		/* stop after so many shown events; 0 = none */
	uint64_t duration_ns;		/* stop after so long; 0 = none; live only */
	void (*ending)(void *ctx);	/* the source has ended: outputs are going to be finished; may be NULL */
	void *ending_ctx;
};

/* Knows all event types of all probes from here on; touches no kernel. @loop is borrowed. */
int pipeline_new(struct loop *loop, struct pipeline **ret, struct err *err);
void pipeline_free(struct pipeline *p);		/* NULL is fine */

const struct registry *pipeline_registry(const struct pipeline *p);
const struct core_host *pipeline_host(const struct pipeline *p);	/* of the records; empty until they say */
/* For subscribers other than sinks; they leave before the pipeline goes. */
struct bus *pipeline_bus(struct pipeline *p);
/* The user of a process at a time, as far as the records have told. */
bool pipeline_owner(struct pipeline *p, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid);
const struct decode_set *pipeline_decoders(const struct pipeline *p);
/* What is known of threads and descriptors; filled as events pass. */
struct scap_state *pipeline_scap(struct pipeline *p);

/*
 * The one predicate of this pipeline: what it refuses is counted as filtered. Events of class META never
 * reach it. Events of class STATE that it refuses are not counted: nobody asked to see them.
 */
void pipeline_set_filter(struct pipeline *p, bool (*pass)(void *ctx, const struct event *ev), void *ctx);

/*
 * Names for the addresses of stacks: the pipeline's symbolizer learns from every state event before anybody sees it.
 * At most once, before sinks are added; pipeline_sym() is NULL without it, and lives as long as the pipeline.
 */
int pipeline_add_sym(struct pipeline *p, const struct sym_opts *o, struct err *err);
struct sym *pipeline_sym(const struct pipeline *p);

/* An output; @opts is borrowed, @path as in outfile_open(). */
int pipeline_add_sink(struct pipeline *p, const struct sink_ops *ops, const struct sink_opts *opts,
		      const char *path, struct err *err);

/* Sections (1u << kind) that are made of every event from here on; what outputs want is known. */
void pipeline_need(struct pipeline *p, uint32_t sections);
uint32_t pipeline_needs(const struct pipeline *p);

/*
 * Lets probes start and end on a second thread (loop/coop.h), so that the loop goes on meanwhile; @guard as in
 * loop_set_guard(), NULL = none. The process has its final rights: the thread inherits them. Without it all is done
 * on the caller's thread.
 */
int pipeline_use_thread(struct pipeline *p, void (*guard)(void *ctx, bool raised), void *ctx, struct err *err);
struct coop *pipeline_coop(const struct pipeline *p);	/* NULL = none */

/* Limits of the run, set before pipeline_open_live(), which delivers records already; as in pipeline_begin(). */
void pipeline_set_limits(struct pipeline *p, const struct pipeline_limits *limits);

/*
 * Loads and attaches @probes, and proc before them. With a second thread the loop runs meanwhile, and records are
 * shown as they come; after pipeline_stop() it returns 0 with what had started, and pipeline_run() ends at once.
 */
int pipeline_open_live(struct pipeline *p, const struct probe_env_opts *env, const struct pipeline_probe *probes,
		       size_t n_probes, struct err *err);
int pipeline_open_file(struct pipeline *p, const char *path, struct err *err);
void pipeline_open_source(struct pipeline *p, struct source *source);	/* an open one, owned from here on */
/*
 * For a run over a file, once everything is open: this process becomes uid 65534 without capabilities, behind a
 * system-call filter (worker_confine_self()).
 */
int pipeline_give_up_rights(struct pipeline *p, struct err *err);
/*
 * A listener that serves after that: the process may accept its clients, and the opener removes its socket. Called
 * before; @l is borrowed and freed before the pipeline.
 */
void pipeline_set_listener(struct pipeline *p, struct cilium_listener *l);
/* The process that opens files for it, owned: a second pipeline of the process can use no other. NULL is fine. */
struct opener *pipeline_take_opener(struct pipeline *p);
void pipeline_set_opener(struct pipeline *p, struct opener *opener);
/*
 * Another agent's unix socket, whose stream is that of the input @format ("cilium"). It is connected again
 * @reconnect_ns (0 = 12 s) after it was closed, until the run is stopped. @path is borrowed.
 */
int pipeline_open_socket(struct pipeline *p, const char *path, const char *format, uint64_t reconnect_ns,
			 struct err *err);
/* Records of an agent instead of rings: @c has its subscription; borrowed for the pipeline's life. */
void pipeline_open_agent(struct pipeline *p, struct client *c);

/* ---- for the agent: a live pipeline whose probes come and go ---- */

void pipeline_set_tap(struct pipeline *p, const struct pipeline_tap *tap);	/* copied; before open_live */

/*
 * One more instance, loaded and attached. @select NULL: that of the environment. What @which and @select point to
 * lives until the removal. What was there before is told by pipeline_snapshot().
 */
int pipeline_add_probe(struct pipeline *p, const struct pipeline_probe *which, const struct probe_select *select,
		       uint16_t *ret_instance, struct err *err);
/* No record is made any more; what is in the rings is read. Then the last losses are told. */
void pipeline_quiet_probe(struct pipeline *p, uint16_t instance);
void pipeline_remove_probe(struct pipeline *p, uint16_t instance);

/* What was there before, by the instances of @mask (1u << number): records with SONDE_RF_SNAPSHOT for the tap. */
int pipeline_snapshot(struct pipeline *p, uint32_t mask, struct err *err);
/* Reads what is in the rings now. */
void pipeline_drain(struct pipeline *p);
/* Host, clock and every name known, as records, to @fn. */
int pipeline_tell_state(struct pipeline *p, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx);
/* As it was read last: see pipeline_refresh(). */
int pipeline_kernel_ledger(struct pipeline *p, uint16_t instance, struct sonde_ledger *ret);
/* What the probe has to say of itself: lines with two spaces in front, or nothing. */
void pipeline_status(struct pipeline *p, uint16_t instance, struct buf *out);
/* probe.h: misses(). Nothing for a probe that does not count them. */
void pipeline_misses(struct pipeline *p, uint16_t instance,
		     void (*fn)(void *ctx, const char *file, unsigned line, const char *reason, uint64_t count),
		     void *ctx);
struct probe_env *pipeline_env(const struct pipeline *p);

/*
 * Runs until the source ends, a limit is reached or pipeline_stop(); then detaches, drains what is left,
 * closes the ledger and the outputs. 0 or -errno (@err says): -EPIPE when the reader of an output went away and
 * nothing else is wrong.
 */
int pipeline_run(struct pipeline *p, const struct pipeline_limits *limits, struct err *err);
void pipeline_stop(struct pipeline *p);
bool pipeline_stopping(const struct pipeline *p);

/*
 * The same in steps, for callers that have the say themselves: begin, then step until it returns 0 or less, then end
 * (once, whatever step returned). A step waits at most @timeout_ms; 1 to go on, 0 at the end of the source, -errno.
 */
int pipeline_begin(struct pipeline *p, const struct pipeline_limits *limits, struct err *err);
int pipeline_step(struct pipeline *p, int timeout_ms, struct err *err);
int pipeline_end(struct pipeline *p, struct err *err);

/* Sections (1u << enum sec_kind) that a subscriber of the bus wants to be made. */
void pipeline_want(struct pipeline *p, uint32_t sections);

/*
 * Asks something of a live probe (struct probe_ops, call): of the first called @probe, or of @instance where @probe
 * is NULL. -ENOENT when there is none.
 */
int pipeline_call(struct pipeline *p, const char *probe, uint16_t instance, const char *verb,
		  const struct opt_strv *args, struct err *err);

/* Reads the kernel's counts anew while it runs; a second passes between two looks otherwise. */
void pipeline_refresh(struct pipeline *p);
/* Events that passed the filter. */
uint64_t pipeline_shown(const struct pipeline *p);
/* Total of all instances, final after pipeline_run(). */
void pipeline_ledger(const struct pipeline *p, struct sonde_ledger *ret);
/* What is missing from the sums of an instance, 0 when they close. */
uint64_t pipeline_gap(const struct pipeline *p, uint16_t instance);
/* One instance by number; its name, or NULL when there is none. */
const char *pipeline_instance(const struct pipeline *p, uint16_t instance, struct sonde_ledger *ret);

#endif
