/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a pipeline, for its files: assembly (pipeline.c), inputs (pipeline_live.c, pipeline_input.c), the path of
 * a record (pipeline_path.c) and the run (pipeline_run.c).
 */
#ifndef PIPELINE_PIPELINE_STATE_H
#define PIPELINE_PIPELINE_STATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "pipeline/account.h"
#include "pipeline/bus.h"
#include "pipeline/failed_hooks.h"
#include "pipeline/pipeline_opts.h"
#include "pipeline/pipeline_hold.h"

struct output;
struct pipeline;

enum input_state { INPUT_WAIT, INPUT_MORE, INPUT_END, INPUT__MAX };

/* Where the records of a run come from; NULL = it has no such step. */
struct input_ops {
	const char *failure; /* message of an error without one */
	bool timed;	     /* obeys pipeline_limits.duration_ns */
	int (*begin)(struct pipeline *p, struct err *err);
	int (*fd)(const struct pipeline *p);
	/* Nothing is urgent: after this read the next one can wait for the deadline. */
	bool (*quiet)(const struct pipeline *p);
	/* Reads at most one budget of records: enum input_state, or -errno, with a message or without. */
	int (*read)(struct pipeline *p, struct err *err);
	void (*pause)(struct pipeline *p);		   /* between two batches, at the deadline */
	void (*tick)(struct pipeline *p, uint64_t now_ns); /* once a second, after the stream's own tick */
	/* The rest of the stream; also after an error (pipeline.error). 0 or -errno with a message. */
	int (*finish)(struct pipeline *p, struct err *err);
};

struct pipeline {
	struct loop *loop; /* borrowed */
	struct pipeline_settings set;
	struct decode_set *decode;
	struct state *state;	 /* who and what events are about */
	struct pipeline_hold hold; /* records that later ones complete */
	struct sym *sym;	 /* NULL = no output needs names */
	struct stack_functions *functions; /* of events, by sym; NULL without it */
	struct source *names_source; /* the file, read for names; NULL = it is not, or was */
	bool named;		 /* its names are known: those in the stream are the same */
	struct scap_state *scap; /* threads and descriptors for events with SEC_PARAMS */
	struct bus bus;
	struct arena scratch; /* sections of the current event */
	VEC(struct output *) outputs;

	struct output *part;	/* that begins a new part, while it does; borrowed */

	bool collects; /* a recording is written, and gets the names of its stacks at the end */
	uint32_t needs; /* sections that outputs need: 1u << kind */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	bool records;	/* an output takes records */
	bool selects;	/* it may refuse events of class DATA */

	struct coop *coop;	 /* starts and ends probes; NULL = on this thread */
	bool draining;		 /* all snapshots are in the stream: the rings may be read */
	struct probe_env *env;	 /* live run */
	struct probe *probes;	 /* SONDE_INSTANCES of them, never moved */
	size_t n_probes;	 /* used slots, those of removed probes (ops NULL) included */
	struct budget *budget;	 /* owned; NULL = no limit of CPU time */
	uint64_t since_ns;	 /* attach time of the first probe marked `ahead`; 0 = none */
	bool waited;		 /* some of the probes that the user named were attached after those */
	struct source *source;	 /* input file or socket */
	const char *socket_path; /* another agent's socket; borrowed; NULL = none */
	const struct source_ops *socket_format;
	uint64_t reconnect_ns;
	bool accepts;			/* the caller accepts clients after it gave up its rights */
	int served_folder;		/* owned; folder of its socket; 0 = none */
	char served_name[108];
	struct client *client;		  /* agent connection; borrowed */
	uint32_t own;			  /* this process, whose events from an agent are dropped; 0 = none */
	uint64_t replayed_ns;		  /* latest time in a replay, which ends the run */

	struct failed_hooks failed;	/* of own probes, or of the agent's */
	bool agent_says;		/* the agent says itself what fails, to the same terminal */
	struct accounts accounts;
	uint64_t shown;		 /* events that passed the filter */
	uint64_t refused;	 /* events of class DATA that did not */
	int64_t clock_offset_ns; /* last one reported */
	const struct input_ops *input;
	struct loop_source *input_io, *again, *deadline, *tick, *duration; /* of the run */
	uint64_t flush_ns; /* period of the deadline; 0 = none */
	unsigned ticks;	   /* of a socket's run */
	bool input_muted;  /* input_io sleeps until the next deadline */
	bool ended;	   /* the input has no more records */
	bool stopping;
	bool closed;	   /* pipeline_end() was called by pipeline_run_all() */
	bool injecting; /* the current record comes from a live half */
	int error;	/* ended the run */
	struct err err; /* its message */

	/* Outcome of the current record. */
	struct {
		unsigned passed, refused;
		int error;
		bool is_lost;	/* the record reports a loss; else its decoder found it */
	} now;
};

void pipeline_live_free(struct pipeline *p);	/* its probes */

/* For inputs. Reads once and flushes the outputs; 0 or -errno. */
int pipeline_run_read(struct pipeline *p);
int pipeline_run_watch(struct pipeline *p); /* the input's descriptor, in the loop */
int pipeline_run_again(struct pipeline *p, uint64_t wait_ns); /* reads then, readable or not */
/* Flushes all outputs. Stops the run when all of them failed or standard output lost its reader. */
void pipeline_run_flush(struct pipeline *p);
/* The hook of the instances @of does not work. */
void pipeline_run_hook_fails(struct pipeline *p, uint64_t of, const char *hook, const char *why);

#endif
