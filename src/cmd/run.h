/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run that all commands which show events share: outputs, filters, limits, recordings, selection. A command adds
 * its probes and its own predicate (struct run_ops).
 */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"

struct cmd_words;
struct err;
struct event;
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

enum run_color { RUN_COLOR_AUTO, RUN_COLOR_ALWAYS, RUN_COLOR_NEVER, RUN_COLOR__MAX };

/* Filled by the options of run_sets(), but for the last members. */
struct run_conf {
	/* select */
	struct opt_u32v pids;
	struct opt_strv ifaces; /* of commands about packets */
	struct opt_strv netns, containers, cgroups;
	struct opt_strv wheres;
	/* output */
	struct opt_strv outputs; /* -o FORMAT[:FILE] */
	const char *write, *read;
	bool json;
	uint64_t rotate_bytes, rotate_ns, rotate_events;
	uint32_t rotate_files;
	unsigned verbose;
	bool quiet;	    /* neither progress nor a summary */
	unsigned color;	    /* enum run_color */
	const char *format; /* a tool's name, or with a % the format of a line: event/format.h */
	unsigned data;	    /* enum scap_buffer_form */
	unsigned time;	    /* enum time_mode */
	bool numeric;
	/* end */
	uint64_t count, duration_ns;
	/* global */
	const char *agent; /* a path, "" = where it usually is, "no"; NULL = if one is there */
	const char *host_root;
	const char *btf;   /* the running kernel's types (btf/kernel_btf.h); NULL = where they usually are */
	uint64_t ring_bytes, latency_ns;
	bool explain_filter, symbols;
	struct opt_strv probes;

	/* set by the command */
	const char *where;	  /* all filters: run_settle() */
	const char *file_format;  /* of -o FILE where neither word nor suffix names one; NULL = an error */
	unsigned string_bytes;	  /* see struct line_opts */
	bool rotate_like_tcpdump; /* see struct sink_rotation */
};

/* See struct run_ops. */
typedef void (*run_needs_fn)(void *ctx, uint32_t by_outputs, bool by_words, const struct filter *filter);

/* Another input than this host or -r FILE: one of a socket and a source. */
struct run_input {
	const char *socket;	   /* of another agent; NULL = none */
	const char *socket_format; /* the input format that it speaks */
	uint64_t reconnect_ns;	   /* wait before it is connected again; 0 = 12 s */
	/*
	 * For a command that reads several recordings, one run each: the input, open already (owned by the run), and
	 * the process that opens files for all runs, made by the first (owned by the caller).
	 */
	struct source *source;
	struct opener **opener;
};

/* Settings of commands that show stacks. */
struct run_stacks {
	const struct stack_view *view;	/* how outputs show stacks */
	const struct sym_opts *symbols; /* names (live and host_root are set here) */
	uint64_t *left_out;		/* most samples that an output lost for lack of memory; may be NULL */
	unsigned hertz;			/* samples of a busy CPU in a second; 0 = it does not sample */
};

/* Parameters and callbacks of a command, borrowed for the run. */
struct run_ops {
	const struct pipeline_probe *probes;	/* proc is always there */
	size_t n_probes;
	/* Its own predicate, asked about state events too; NULL = none. */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	const char *filter_text;	/* its filter words, for file headers; may be NULL */
	const char *cmdline;
	const char *ready;		/* message on stderr once records flow; NULL = none */
	const char *output;		/* NAME[:FILE] when no -o is given; NULL = "text", "" = none */
	const struct run_input *input;	/* NULL = this host, or -r FILE */
	const struct run_stacks *stacks; /* NULL: as outputs show them, with names by --symbols */
	const char *why_local;		 /* the option for which no agent can do this run; NULL = one may */
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
	 * Called after `needs`: takes the parts of the filter that the kernel evaluates; @rest gets the rest for user
	 * space, as text. May be NULL.
	 */
	int (*push)(void *ctx, const struct filter *f, const struct registry *reg, struct buf *rest, struct err *err);
	bool sums;		/* its events are sums, and words of its filter are not theirs */
	void *needs_ctx;	/* of both */
	/* Before anything is loaded: early checks, and subscribers. May be NULL. */
	int (*setup)(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
	/* Once records flow: timers and the like. May be NULL. */
	int (*started)(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
	/* After the run, also a failed one; subscribers of `setup` unsubscribe here. May be NULL. */
	void (*stopped)(void *ctx);
	void *started_ctx;
	bool hangup;	  /* the command handles SIGHUP; the run continues */
	const char *unit; /* noun for an event: an empty run reports why it is empty; NULL = it does not */
	bool own_netns;	  /* without --netns it observes only its own network namespace */
	int nice; /* for a live run: below 0 where being late costs data (cmd/sched_boost.h); 0 = as it is */
};

#define RUN_PACKETS 1u /* the command takes interfaces */
#define RUN_LINES 2u   /* it prints a line per event */

/* The common option sets, @flags: RUN_*; appended by a command to its own. Returns how many were written. */
size_t run_sets(struct run_conf *c, unsigned flags, struct opt_set *ret_sets);
struct opt_set run_global_set(struct run_conf *c); /* the last of them */

/* Texts that run_settle() allocates; must outlive the run. */
struct run_texts {
	struct buf where, write;
};

/*
 * Behind the options: `where` becomes all filters, the trailing @words (may be NULL) included, and -w an output of
 * @format. Before anything reads `where` or `outputs`.
 */
int run_settle(struct run_conf *c, const char *words, const char *format, struct run_texts *mem, struct err *err);
void run_texts_fini(struct run_texts *t);

/* Assembles, runs until done or told to stop, reports. Returns an exit status. */
int run(const struct run_conf *c, const struct run_ops *spec);

/* Whether text on stdout is to have colours. */
bool run_want_color(const struct run_conf *c);

/* Joins words by blanks: the filter as it was typed. Owned by the caller; NULL when there are none. */
char *run_join_words(const struct opt_strv *words);

#endif
