/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a run that its command adds: probes, predicate, callbacks.
 */
#ifndef CMD_RUN_OPS_H
#define CMD_RUN_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct event;
struct filter;
struct loop;
struct pipeline;
struct registry;

/* See struct run_ops. */
typedef void (*run_needs_fn)(void *ctx, uint32_t by_outputs, bool by_words, const struct filter *filter);

/* An input other than this host or -r FILE: either a socket or a source. */
struct run_input {
	const char *socket;	   /* of another agent; NULL = none */
	const char *socket_format; /* its input format */
	uint64_t reconnect_ns;	   /* delay before it reconnects; 0 = 12 s */
	/*
	 * For a command that reads several recordings, one run each: the open input (owned by the run), and the
	 * process that opens files for all runs, started by the first (owned by the caller).
	 */
	struct source *source;
	struct opener **opener;
};

/* Settings of commands that show stacks. */
struct run_stacks {
	const struct stack_view *view;	/* how outputs show stacks */
	const struct sym_opts *symbols; /* names (live and host_root are set here) */
	uint64_t *left_out;		/* largest number of samples that an output lost for lack of memory; may be
					 * NULL */
	unsigned hertz;			/* samples per second of a busy CPU; 0 = does not sample */
};

/* Parameters and callbacks of a command, borrowed for the run. */
struct run_ops {
	const struct pipeline_probe *probes;	/* proc is always included */
	size_t n_probes;
	/* The command's own predicate, called for state events too; NULL = none. */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	/* Of -r FILE: the types that a live run shows, as in cmd/run/run_about.h. NULL = all. */
	const char *const *reads;
	const char *filter_text;	/* its filter words, for file headers; may be NULL */
	const char *cmdline;
	const char *ready;		/* message on stderr once records flow; NULL = none */
	bool says_ready;		/* with -q too: the message is another tool's */
	const char *output;		/* NAME[:FILE] when no -o is given; NULL = "text", "" = none */
	const char *otlp;		/* format of -o otlp:FILE; NULL = traces */
	const struct run_input *input;	/* NULL = this host, or -r FILE */
	const struct run_stacks *stacks; /* NULL: as outputs show them, with names by --symbols */
	const char *why_local;		 /* the option that rules out an agent; NULL = an agent may serve the run */
	const struct store_writer_opts *store;	/* of -o store, apart from its limits; NULL = defaults */
	const struct opt_strv *command;	/* after "--": executed and selected with its descendants; may be NULL */
	const struct child_opts *child;	/* of the command; NULL = none */
	/* The command's own sink, which writes no file; sink_opts.ctx is @watcher_ctx. NULL = none. */
	const struct sink_ops *watcher;
	void *watcher_ctx;
	/*
	 * Called before a live run opens its probes, whose configuration may still change: sections that outputs need
	 * (1u << kind), whether lines or filters use fields of SEC_PARAMS, and the filter. May be NULL.
	 */
	run_needs_fn needs;
	/*
	 * Called after `needs`: takes the parts of the filter that the kernel evaluates; @rest gets the rest for user
	 * space, as text. May be NULL.
	 */
	int (*push)(void *ctx, const struct filter *f, const struct registry *reg, struct buf *rest, struct err *err);
	bool sums;		/* its events are sums, to which fields of its filter do not apply */
	void *needs_ctx;	/* of both */
	/* Before loading: early checks, and subscribers. May be NULL. */
	int (*setup)(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
	/* Once records flow: timers and the like. May be NULL. */
	int (*started)(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
	/* After the run, even if it failed; subscribers of `setup` unsubscribe here. May be NULL. */
	void (*stopped)(void *ctx);
	void *started_ctx;
	bool hangup;	  /* the command handles SIGHUP; the run continues */
	const char *unit; /* noun for an event: an empty run reports why it is empty; NULL = it does not */
	unsigned max_cpu_permille; /* limit of CPU time over all probes of a live run; 0 = none */
	const char *selects; /* the command's own option that refuses events, for messages; NULL = none */
	bool counts_hits; /* the ledgers of its probes count hits, not events */
	bool ledgers;	  /* the closing lines have the ledger of each probe */
	bool own_netns;	  /* without --netns it observes only its own network namespace */
	int nice; /* for a live run: negative if delays lose data (cmd/sched_boost.h); 0 = unchanged */
};

#endif
