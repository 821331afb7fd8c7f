/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common selection: --pid, --container, --cgroup, --netns, and proc.name and proc.pid of a filter. Resolves names
 * to the ids that the kernel compares, and evaluates the same selection over events, for replay and for events that
 * the kernel cannot filter.
 */
#ifndef CMD_RUN_SELECT_H
#define CMD_RUN_SELECT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/opt.h"

struct event;
struct filter;
struct run_conf;
struct run_select;

/* The parts of a filter that the kernel decides for every probe: proc.name and proc.pid. */
struct run_select_push {
	struct opt_u32v pids;
	struct opt_strv comms; /* items point into the filter */
	struct buf rest;       /* the other parts, as text */
};

/* Fills the zeroed @ret, which must not outlive @f. 0 or -ENOMEM. */
int run_select_push_filter(const struct run_conf *c, const struct filter *f, struct run_select_push *ret);
void run_select_push_fini(struct run_select_push *p);

/* Resolves names on this host. -EINVAL with a sentence for a name that does not exist. */
int run_select_resolve(const struct run_conf *c, const struct run_select_push *push, struct run_select **ret,
		       struct err *err);
void run_select_free(struct run_select *s);
DEFINE_CLEANUP(struct run_select *, run_select_free)

/* For the kernel; lives as long as @s. */
const struct probe_select *run_select_probe(const struct run_select *s);

/*
 * The same over an event, as far as the event has the values: an event without a process does not match a selection
 * of processes.
 */
bool run_select_match(const struct run_conf *c, const struct event *ev);

/* Number of processes in --pid. */
size_t run_select_live_pids(const struct run_conf *c);

#endif
