/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks and stacks of a Perfetto trace: each is described once, before the first packet that refers to it.
 */
#ifndef SINKS_PERFETTO_INTERN_H
#define SINKS_PERFETTO_INTERN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

struct event;

/* Kinds of tracks below a process. Slices of a kind that overlap get a track each, a lane. */
enum perfetto_kind { PERFETTO_PROCESS, PERFETTO_THREAD, PERFETTO_CLIENT, PERFETTO_SERVER, PERFETTO_KIND__MAX };

struct perfetto_intern {
	struct map tracks;	/* uuid -> nothing: is described */
	struct map lanes;	/* uuid of the first lane -> struct perfetto_lanes */
	struct map iids;	/* hash of kind and content -> uint64_t iid */
	uint64_t last_iid;
	struct buf fresh;	/* InternedData of the next packet */
	struct buf one, two, three;	/* messages being built */
	struct sym *sym;	/* borrowed; NULL = addresses only */
};

void perfetto_intern_init(struct perfetto_intern *in, struct sym *sym);
void perfetto_intern_fini(struct perfetto_intern *in);

/*
 * Track of the event's process or thread, or the lane of @kind that is free from @from_ns to @to_ns. Appends a
 * TrackDescriptor to @desc for each track that is new. 0, -ENOMEM, or -ENOSPC if all lanes are taken.
 */
int perfetto_intern_track(struct perfetto_intern *in, const struct event *ev, enum perfetto_kind kind,
			  uint64_t from_ns, uint64_t to_ns, uint64_t *ret_uuid, struct buf *desc);

/* iid of the event's stack, user below kernel; new parts go to in->fresh. 0 in *ret_iid: no stack. 0 or -ENOMEM. */
int perfetto_intern_stack(struct perfetto_intern *in, const struct event *ev, uint64_t *ret_iid);

/* A field with its tag, also of value 0. */
void perfetto_intern_uint(struct buf *out, uint32_t field, uint64_t v);

#endif
