/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every command that shows events has in common: outputs, filters, limits, recordings, selection, and
 * the run itself. A command adds its probes and its own predicate, and is done.
 */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

struct cmd_words;
struct err;
struct event;
struct buf;
struct filter;
struct registry;
struct loop;
struct opener;
struct pipeline;
struct pipeline_probe;
struct sink_ops;
struct source;
struct stack_view;
struct sym_opts;

/* Filled by the options of run_sets(). */
struct run_conf {
	struct opt_strv outputs;	/* -o NAME[:FILE] */
	bool json;
	const char *format;
	const char *file_format;	/* of -o FILE where neither word nor suffix names one; NULL = an error */
	unsigned string_bytes;		/* see struct line_opts */
	const char *print;		/* form of a line: event/format.h */
	uint64_t rotate_bytes, rotate_ns, rotate_events;
	uint32_t rotate_files;
	bool rotate_like_tcpdump;	/* set by the command: see struct sink_rotation */
	unsigned buffer;		/* enum scap_buffer_form */
	unsigned verbose;
	bool quiet;			/* neither progress nor closing words */
	bool hex, numeric;
	unsigned time, color;		/* indexes of their enums */
	const char *where;
	struct opt_strv types, probes;
	const char *read;
	uint64_t count, duration_ns;
	struct opt_u32v pids;
	struct opt_strv comms, containers, cgroups, netns;
	uint64_t ring_bytes, latency_ns;
	const char *host_root;
	const char *btf;
	const char *agent;		/* --agent: a path, "" = where it usually is; NULL = if one is there */
	bool local, explain_filter, symbols;
};

/* See struct run_ops. */
typedef void (*run_needs_fn)(void *ctx, uint32_t by_outputs, bool by_words, const struct filter *filter);

/* What a command brings. Everything is borrowed for the run. */
struct run_ops {
	const struct pipeline_probe *probes;	/* proc is always there */
	size_t n_probes;
	/* Its own predicate, asked about state events too; NULL = none. */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	const char *filter_text;	/* its filter words, for file headers; may be NULL */
	const char *cmdline;
	const struct sym_opts *symbols;	/* names for stacks (live and host_root are set here); NULL = --symbols */
	const char *ready;		/* said on stderr once records flow; NULL = nothing */
	const char *socket;		/* of another agent, read instead of this host; NULL = none */
	const char *socket_format;	/* the input format that it speaks */
	uint64_t reconnect_ns;		/* wait before it is connected again; 0 = 12 s */
	const char *output;		/* NAME[:FILE] when no -o is given; NULL = "text", "" = none */
	const struct stack_view *stack;	/* how outputs show stacks; NULL = as they like it */
	const char *why_local;	/* the option for which no agent can do this run; NULL = one may */
	uint64_t *left_out;		/* gets the most samples that an output had no memory for; may be NULL */
	const struct opt_strv *command;	/* behind "--": run, and followed with its descendants; may be NULL */
	/* A sink of the command's own that writes to no file; sink_opts.ctx is @watcher_ctx. NULL = none. */
	const struct sink_ops *watcher;
	void *watcher_ctx;
	/*
	 * Before a live run's probes are opened, whose configuration may still change: what outputs need (1u << kind
	 * of sections), whether lines or filters use words of events with SEC_PARAMS, and the filter. May be NULL.
	 */
	run_needs_fn needs;
	/*
	 * Likewise, after that: takes the parts of the filter that are decided elsewhere; @rest gets what is left to
	 * user space, as text. May be NULL.
	 */
	int (*push)(void *ctx, const struct filter *f, const struct registry *reg, struct buf *rest, struct err *err);
	bool sums;		/* its events are sums, and words of its filter are not theirs */
	void *needs_ctx;	/* of both */
	/* Before anything is loaded: what can fail early, and subscribers. May be NULL. */
	int (*setup)(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
	/* Once records flow: timers and the like. May be NULL. */
	int (*started)(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
	/* When it is over, however it ended; what subscribed in `setup` leaves here. May be NULL. */
	void (*stopped)(void *ctx);
	void *started_ctx;
	/*
	 * For a command that reads several recordings, one run each: the input, open already (owned by the run), and
	 * the process that opens files for all runs, made by the first (owned by the caller). NULL = as `read` says.
	 */
	struct source *source;
	struct opener **opener;
	bool hangup;	/* SIGHUP is the command's own, and no reason to stop */
	const char *unit;	/* one of what it shows: a run that showed nothing says why; NULL = it does not */
	unsigned hertz;		/* samples of a busy CPU in a second; 0 = it does not sample */
	bool own_netns;		/* without --netns it watches its own network namespace only */
	int nice; /* for a live run: below 0 where being late costs data (cmd/sched_boost.h); 0 = as it is */
};

/* The common option sets; appended by a command to its own. Returns how many were written. */
size_t run_sets(struct run_conf *c, struct opt_set *ret_sets);

/* Assembles, runs until done or told to stop, reports. Returns an exit status. */
int run(const struct run_conf *c, const struct run_ops *spec);

/* Whether text on stdout is to have colours. */
bool run_want_color(const struct run_conf *c);

/* Joins words by blanks: the filter as it was typed. Owned by the caller; NULL when there are none. */
char *run_join_words(const struct opt_strv *words);

#endif
