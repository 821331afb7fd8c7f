/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the rings of live probes; pipeline.h has pipeline_drain() and pipeline_stop(). */
#ifndef PIPELINE_PIPELINE_RINGS_H
#define PIPELINE_PIPELINE_RINGS_H

struct pipeline;

/* Reads up to one budget of records and flushes the outputs. The number of records, or -errno. */
int pipeline_rings_read(struct pipeline *p);
/* Flushes all outputs. Stops the run when all of them failed or standard output lost its reader. */
void pipeline_rings_flush(struct pipeline *p);

#endif
