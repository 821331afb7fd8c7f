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

struct profile_conf {
	struct run_conf run;
	struct cpu_conf cpu;
	bool delimited, annotations, folded, addresses, per_thread;
	bool stats, lines, top, diff, ebpf;
	uint64_t stack_storage, hash_storage;	/* entries; 0 = no limit but memory */
	uint64_t max_depth;			/* --perf-max-stack-depth */
	const char *cgroupmap, *mntnsmap;
	const char *title;
	uint32_t width, height;
};

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
	struct mntns_filter *mntns;	/* NULL = all */
};
extern const struct sink_ops watch_sink;	/* sink_opts.ctx is a struct watch */

/* What bcc says at the end, and what --stats adds; to stderr. */
void watch_report(const struct watch *w);

/* ---- profile_closing.c ---- */

bool profile_writes_file(const struct profile_conf *c);
/* A line for each output file. */
void profile_closing(const struct profile_conf *c, const struct profile *p, struct buf *ret);
void profile_progress(void *ctx, uint64_t secs, struct buf *line);	/* a progress_fn; @ctx is a struct watch */

/* ---- profile_top.c: the live view ---- */

/* -ENOTTY with a sentence when there is no terminal, -ENOTSUP when it was left out of the build. */
int top_new(const struct stack_view *view, struct top **ret, struct err *err);
void top_free(struct top *t);		/* gives the terminal back; NULL is fine */
int top_start(struct top *t, struct loop *loop, struct pipeline *p, struct err *err);
void top_show(struct top *t, const struct stack_set *set, struct sym *sym);	/* both for the next picture */
void top_stop(struct top *t);		/* nothing is shown any more: the set goes away */

/* ---- profile_diff.c ---- */

/* --diff OLD NEW. Returns an exit status. */
int profile_diff(const struct profile_conf *c, const struct cmd_words *w);

/* ---- profile_maps.c: bcc's filters by pinned BPF maps ---- */

struct mntns_filter;
/* The keys of a pinned map with keys of 64 bits, at least one; the caller's. @option: for messages. */
int profile_map_keys(const char *option, const char *path, uint64_t **ret, size_t *ret_n, struct err *err);
int mntns_filter_new(const char *path, struct mntns_filter **ret, struct err *err);
void mntns_filter_free(struct mntns_filter *f);
bool mntns_filter_pass(struct mntns_filter *f, const struct event *ev);	/* learns from state events too */

#endif
