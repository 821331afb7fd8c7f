/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common selection (--pid --comm --container --cgroup --netns): names resolved to what the kernel side
 * compares, and the same selection over events, for replay and for what cannot be pushed down.
 */
#ifndef CMD_SELECT_H
#define CMD_SELECT_H

#include <stdbool.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct event;
struct probe_select;
struct run_conf;
struct select;

/* Resolves names on this host. -EINVAL with a sentence for what does not exist. */
int select_resolve(const struct run_conf *c, struct select **ret, struct err *err);
void select_free(struct select *s);
DEFINE_CLEANUP(struct select *, select_free)

/* For the kernel side; lives as long as @s. */
const struct probe_select *select_probe(const struct select *s);

/*
 * The same over an event. Only what the event knows is compared: one without a process does not match a
 * selection of processes.
 */
bool select_match(const struct run_conf *c, const struct event *ev);

/* Trailing @words, which may be NULL, and --where become one expression, which @mem holds. 0 or -ENOMEM. */
int select_where(struct run_conf *c, const char *words, struct buf *mem);

/* How many of the processes of --pid there are. */
size_t select_live_pids(const struct run_conf *c);

#endif
