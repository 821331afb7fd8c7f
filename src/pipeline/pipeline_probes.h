/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All probes of a live pipeline; pipeline.h has those that come and go while it runs. */
#ifndef PIPELINE_PIPELINE_PROBES_H
#define PIPELINE_PIPELINE_PROBES_H

#include <stddef.h>

struct err;
struct pipeline;
struct pipeline_probe;

/* Sets up proc as instance 0 and @probes behind it; loads nothing. 0 or -errno with a message. */
int pipeline_probes_add(struct pipeline *p, const struct pipeline_probe *probes, size_t n_probes, struct err *err);
/* Loads and attaches all of them, snapshots included. May run on the second thread. */
int pipeline_probes_start(struct pipeline *p, struct err *err);
/* Once the probes are ready: returns what loading them freed, which forks would copy. */
void pipeline_probes_let_heap_go(const struct pipeline *p);
void pipeline_probes_free(struct pipeline *p);

#endif
