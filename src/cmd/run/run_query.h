/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a run's selection that the index of a store answers: --since, --until, --pid, and of the filter
 * proc.pid, file.id, call, sock.cookie and evt.type, where the outermost "and" joins them. The events are compared
 * all the same.
 */
#ifndef CMD_RUN_QUERY_H
#define CMD_RUN_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/store_reader.h"

struct event;
struct filter;
struct registry;
struct run_conf;

struct run_query {
	struct store_query query;
	struct { VEC(uint64_t) keys; } by[SONDE_STORE_BY__MAX];
};

/* Fills the zeroed @ret, which borrows @reg. 0 or -ENOMEM; run_query_fini() in any case. */
int run_query_make(const struct run_conf *c, const struct filter *f, const struct registry *reg,
		   struct run_query *ret);
void run_query_fini(struct run_query *q);

/*
 * Value of the option --@name as a time of the wall clock in ns since 1970: a span that ends now ("10m"), a time of
 * today ("14:30", "14:30:05"), a date ("2026-11-24"), both ("2026-11-24 14:30:05", "2026-11-24T14:30:05Z"),
 * "@seconds", or "now". 0 or -EINVAL.
 */
int run_query_take_time(const char *name, const char *text, int64_t *ret, struct err *err);

/* Is the event between --since and --until? */
bool run_query_in_time(const struct run_conf *c, const struct event *ev);

#endif
