/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common state of profile outputs: counted stacks, time range, losses.
 */
#ifndef SINKS_PROFILE_H
#define SINKS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/wire.h"
#include "stack/stack.h"
#include "stack/view.h"

struct err;
struct sink;
struct sink_opts;

struct profile {
	struct stack_set *set;		/* owned */
	struct sym *sym;		/* borrowed */
	uint64_t *left_out;		/* see struct sink_opts */
	struct stack_view view;
	bool apart;			/* set before sinks_profile_open(): by thread, call and CPU */
	uint64_t first_ns, last_ns;	/* of samples, CLOCK_BOOTTIME; 0 = none yet */
	int64_t clock_offset_ns;
	struct buf losses;		/* lines "cpu: 1000 seen, 3 lost (ring_full 3)" */
	uint64_t lost;			/* total lost */
};

int sinks_profile_open(struct profile *p, const struct sink_opts *o);
void sinks_profile_fini(struct profile *p);

/* Counts a sample (*ret_index: its entry) or records a loss. 0, or -ENOENT if @ev is not a sample. */
int sinks_profile_take(struct profile *p, const struct event *ev, size_t *ret_index);

/* sink_ops.open and .event of outputs whose state is a struct profile, or begins with one. */
int sinks_profile_sink_open(struct sink *s, struct err *err);
int sinks_profile_sink_event(struct sink *s, const struct event *ev);

/* Losses of the profile, one per line; "" = none. Call after the last event. Valid until sinks_profile_fini(). */
const char *sinks_profile_losses(struct profile *p);

/* Name of the value in files: "samples", "cpu", "off_cpu" or "wall". */
const char *sinks_profile_kind(const struct profile *p);

#endif
