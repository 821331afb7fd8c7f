/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What outputs that show profiles have in common: the counted stacks, when they were taken, and what is missing.
 */
#ifndef SINKS_PROFILE_H
#define SINKS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/wire.h"
#include "stack/stack.h"
#include "stack/view.h"

struct event;
struct sink_opts;

struct profile {
	struct stack_set *set;		/* owned */
	struct sym *sym;		/* borrowed */
	uint64_t *left_out;		/* that of the sink's options */
	struct stack_view view;
	uint64_t first_ns, last_ns;	/* of the samples, boot clock; 0 = none yet */
	int64_t clock_offset_ns;
	struct buf losses;		/* lines "cpu: 1000 seen, 3 lost (ring_full 3)" */
	uint64_t lost;			/* sum of them */
};

int sinks_profile_open(struct profile *p, const struct sink_opts *o);
void sinks_profile_fini(struct profile *p);

/* Counts a sample (@ret_index: its entry) or notes a loss. 0, or -ENOENT when it was no sample; never fails. */
int sinks_profile_take(struct profile *p, const struct event *ev, size_t *ret_index);

/*
 * What the readers of the profile must know of what is not in it, one line each, "" = nothing is missing.
 * Call it when the last event was taken. Valid until sinks_profile_fini().
 */
const char *sinks_profile_losses(struct profile *p);

/* Names and values in files: "samples", "cpu", "off_cpu" or "wall". */
const char *sinks_profile_kind(const struct profile *p);

#endif
