/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside `sonde profile`: what its parts share.
 */
#ifndef CMD_PROFILE_H
#define CMD_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/run.h"
#include "base/buf.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/cpu/cpu_event.h"
#include "stack/view.h"

struct cmd_words;
struct err;
struct event;
struct loop;
struct pipeline;
struct profile;
struct progress;
struct sink_ops;
struct top;

enum profile_mode { PROFILE_ON_CPU, PROFILE_OFF_CPU, PROFILE_WALL, PROFILE_MODE__MAX };
enum profile_stacks { PROFILE_BOTH, PROFILE_USER, PROFILE_KERNEL, PROFILE_STACKS__MAX };

struct profile_conf {
	struct run_conf run;
	struct cpu_conf cpu;
	unsigned mode;	 /* enum profile_mode; or what `cpu` says */
	unsigned stacks; /* enum profile_stacks; or `cpu` says it */
	bool per_thread, lines, stats, top;
	const char *title;

	/* set by the command */
	struct stack_view view; /* delimiter, annotate, addresses, max_entries */
	const char *output;	/* without -o; NULL = "bcc" */
	const char *filter_text;
	bool (*pass)(void *ctx, const struct event *ev); /* see struct run_ops */
	void *pass_ctx;
};

/* ---- profile.c, for other commands that show the same ---- */

size_t cmd_profile_sets(void *conf, struct opt_set *ret_sets); /* as struct cmd has it */
/* @words: the trailing words as a filter; NULL = none. Returns an exit status. */
int cmd_profile_main(struct profile_conf *c, const char *words, const struct cmd_words *w);

/* ---- profile_watch.c: what the command itself sees of the run ---- */

struct watch {
	const struct profile_conf *conf;
	struct top *top;		/* NULL = no live view */
	bool has_command;		/* that may write to the terminal */
	uint64_t samples, missed;	/* stacks that were asked for and could not be had */
	uint64_t full;			/* samples for whose stacks there was no room */
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
int profile_top_new(const struct stack_view *view, struct top **ret, struct err *err);
void profile_top_free(struct top *t);		/* gives the terminal back; NULL is fine */
int profile_top_start(struct top *t, struct loop *loop, struct pipeline *p, struct err *err);
/* Both are borrowed until the next call or profile_top_stop(). */
void profile_top_show(struct top *t, const struct stack_set *set, struct sym *sym);
void profile_top_stop(struct top *t);		/* before the set is released */

/* ---- profile_diff.c ---- */

/* diff OLD NEW. Returns an exit status. */
int profile_diff(const struct profile_conf *c, const struct cmd_words *w);

#endif
