/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside `sonde profile`: definitions shared by its parts.
 */
#ifndef CMD_PROFILE_H
#define CMD_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/run/run.h"
#include "base/buf.h"
#include "base/opt.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/gohttp2/gohttp2.h"
#include "probes/cpu/cpu_event.h"
#include "stack/view.h"

struct cmd_words;
struct event;
struct profile;

enum profile_mode { PROFILE_ON_CPU, PROFILE_OFF_CPU, PROFILE_WALL, PROFILE_MODE__MAX };
enum profile_stacks { PROFILE_BOTH, PROFILE_USER, PROFILE_KERNEL, PROFILE_STACKS__MAX };

struct profile_conf {
	struct run_conf run;
	struct cpu_conf cpu;
	unsigned mode;	 /* enum profile_mode, or the mode in `cpu` */
	unsigned stacks; /* enum profile_stacks, or the choice in `cpu` */
	bool per_thread, lines, stats, top;
	const char *title;

	/* set by the command */
	struct gohttp2_conf rpc; /* for an expression about RPCs */
	size_t *n_probes;	 /* of the run */
	struct stack_view view; /* delimiter, annotate, addresses, max_entries */
	const char *output;	/* without -o; NULL = "bcc" */
	const char *filter_text;
	bool (*pass)(void *ctx, const struct event *ev); /* see struct run_ops */
	void *pass_ctx;
	const struct child_opts *child; /* of the command behind "--"; NULL = none */
	uint64_t samples;		/* after the run */
};

/* ---- profile.c, for other commands that show the same ---- */

size_t cmd_profile_sets(void *conf, struct opt_set *ret_sets); /* as in struct cmd */
/* @words: the trailing words as a filter; NULL = none. Returns an exit status. */
int cmd_profile_main(struct profile_conf *c, const char *words, const struct cmd_words *w);

/* -F: -EINVAL unless @arg is a number above 0. */
OPT_PARSER(cmd_profile_frequency, uint32_t);

/* ---- profile_watch.c: the command's own view of the run ---- */

struct watch {
	const struct profile_conf *conf;
	struct profile_top *top;	/* NULL = no live view */
	bool has_command;		/* may write to the terminal */
	uint64_t samples, missed;	/* stacks that were requested but are missing */
	uint64_t full;			/* samples whose stacks did not fit */
	struct cpu_totals totals;	/* sums over the instances */
	struct buf reasons;		/* why files have no unwind table; owned */
	struct buf closing;		/* profile_closing(); owned */
	struct progress *progress;	/* NULL = none */
};
extern const struct sink_ops watch_sink;	/* sink_opts.ctx is a struct watch */

/* The final lines of bcc's profile and the report of --stats, to stderr. */
void profile_watch_report(const struct watch *w);

/* ---- profile_closing.c ---- */

bool profile_closing_writes_file(const struct profile_conf *c);
/* A line for each output file. */
void profile_closing(const struct profile_conf *c, const struct profile *p, struct buf *ret);
/* A progress_fn; @ctx is a struct watch. */
void profile_closing_progress(void *ctx, uint64_t secs, struct buf *line);

/* ---- profile_top.c: the live view ---- */

/* -ENOTTY without a terminal, -ENOTSUP if built without ncurses, each with a message. */
int profile_top_new(const struct profile_conf *c, const struct stack_view *view, struct profile_top **ret,
		    struct err *err);
void profile_top_free(struct profile_top *t);	/* restores the terminal; NULL is fine */
int profile_top_run(struct profile_top *t, const struct run_ops *spec);	/* as run() */
/* Both are borrowed until the next call or profile_top_stop(). */
void profile_top_show(struct profile_top *t, const struct stack_set *set, struct sym *sym);
void profile_top_stop(struct profile_top *t);	/* before the set is released */

/* ---- profile_diff.c ---- */

/* diff OLD NEW. Returns an exit status. */
int profile_diff(const struct profile_conf *c, const struct cmd_words *w);

#endif
