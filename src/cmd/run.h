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

struct child_opts;
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
struct store_writer_opts;
struct sym_opts;

enum run_color { RUN_COLOR_AUTO, RUN_COLOR_ALWAYS, RUN_COLOR_NEVER, RUN_COLOR__MAX };

extern const char *const run_color_names[]; /* by enum run_color, NULL-terminated */

/* Filled by the options of run_sets(), except the last members. */
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
	bool quiet;	    /* neither progress nor summary */
	unsigned color;	    /* enum run_color */
	const char *format; /* a tool's name, or with a % the format of a line: event/format.h */
	unsigned data;	    /* enum scap_buffer_form */
	unsigned time;	    /* enum time_mode */
	bool numeric;
	/* end */
	uint64_t count, duration_ns;
	struct {		/* of -o store: cmd/run_store.h */
		uint64_t max_bytes, max_age_ns, segment_bytes, segment_ns, sync_ns;
		uint32_t min_free_pct;
		bool has_min_free, group;
		unsigned redact;	/* REDACT_* */
		const uint64_t *segment; /* of a store: read only this one; NULL = all; set by the command */
	} store;
	int64_t since_ns, until_ns; /* of events of a file, wall clock; 0 = no bound */
	bool follow;		    /* a store: wait for more */
	/* global */
	const char *agent; /* a path, "" = the default path, "no"; NULL = if an agent is running */
	const char *host_root;
	const char *symfs; /* names of a recording also from files below it; NULL = none */
	const char *btf;   /* BTF of the running kernel (btf/kernel_btf.h); NULL = default path */
	uint64_t ring_bytes, latency_ns;
	bool explain_filter, symbols;
	struct opt_strv probes;

	/* set by the command */
	const char *where;	  /* all filters: run_settle() */
	const char *file_format;  /* for -o FILE if neither prefix nor suffix names one; NULL = an error */
	unsigned string_bytes;	  /* see struct line_opts */
	struct opt_u32v trees;	  /* these processes and their descendants; only with run_ops.why_local */
	/*
	 * The format of -w in a dialect, where suffixes mean nothing: the number of a rotated file comes last.
	 * NULL = the suffix names the format, and stays last.
	 */
	const char *write_format;
	bool rotate_like_tcpdump; /* this and the next two: see struct sink_rotation */
	void (*rotate_closed)(void *ctx, const char *name);
	void *rotate_closed_ctx;
	unsigned pcap; /* this and the next two: see struct sink_opts */
	bool gzip, both_sides;
	unsigned reveal; /* DECODE_REVEAL_* */
};

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
	/* Of -r FILE: the types that a live run shows, as in cmd/run_about.h. NULL = all. */
	const char *const *reads;
	const char *filter_text;	/* its filter words, for file headers; may be NULL */
	const char *cmdline;
	const char *ready;		/* message on stderr once records flow; NULL = none */
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

#define RUN_PACKETS 1u /* the command takes interfaces */
#define RUN_LINES 2u   /* it prints a line per event */
#define RUN_NO_BYTES 4u /* with RUN_LINES: its lines have no packet and I/O bytes */

/* The common option sets, @flags: RUN_*; appended by a command to its own. Returns how many were written. */
size_t run_sets(struct run_conf *c, unsigned flags, struct opt_set *ret_sets);
struct opt_set run_global_set(struct run_conf *c); /* the last of them */

/* Texts that run_settle() allocates; must outlive the run. */
struct run_texts {
	struct buf where, write;
};

/*
 * After option parsing: sets `where` to all filters, including the trailing @words (may be NULL), and turns -w into
 * an output of the format that its suffix names, else @format. Call it before `where` or `outputs` is read.
 */
int run_settle(struct run_conf *c, const char *words, const char *format, struct run_texts *mem, struct err *err);
void run_texts_fini(struct run_texts *t);

/* Assembles the run, runs until done or stopped, reports. Returns an exit status. */
int run(const struct run_conf *c, const struct run_ops *spec);

/* Whether text on stdout is coloured. */
bool run_want_color(const struct run_conf *c);

/* Joins words by spaces: the filter as typed. Owned by the caller; NULL without words. */
char *run_join_words(const struct opt_strv *words);

#endif
