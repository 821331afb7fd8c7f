/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single samples in the order of their time, for outputs that show them one by one: each stack is kept once, samples
 * until their stacks have names, at the end or when many have accumulated. Samples whose stack is unwound in user
 * space arrive seconds late.
 */
#ifndef SINKS_SAMPLES_H
#define SINKS_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "sinks/stack/profile.h"

struct event;

struct sample {
	uint64_t ts_ns, value;
	uint32_t entry;	     /* of the profile's set */
	uint32_t tid, count; /* count: samples that it stands for */
	uint16_t cpu;
};

/* Writes one; 0 or a negative errno, which ends the output. */
typedef int (*samples_write_fn)(void *ctx, struct stack_names *names, const struct sample *k);

struct samples {
	struct profile profile;
	struct {
		struct sample *items;
		size_t len, cap;
	} kept;
	size_t most;	  /* samples that trigger a write */
	uint64_t last_ns; /* of the youngest sample */
	samples_write_fn write;
	void *ctx;
};

int samples_open(struct samples *s, const struct sink_opts *o, samples_write_fn write, void *ctx);
/* Takes an event if it is a sample. 0, -ENOMEM or the error of a write. */
int samples_take(struct samples *s, const struct event *ev);
/* Writes what is left and releases everything. 0 or the error of a write. */
int samples_close(struct samples *s);

#endif
