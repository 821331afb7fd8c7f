/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that the kernel side could not walk to the end because a file had no unwind table yet: it copied their
 * memory, and here they are walked on when the table is there. Then their records go into the stream, late, as if
 * they came from the kernel. Part of the live half; the copies go nowhere else.
 */
#ifndef CPU_LATE_H
#define CPU_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/cpu/cpu_tables.h"
#include "probes/cpu/cpu_walk_wire.h"

struct cpu_late;
struct cpu_sample_rec;
struct err;

struct cpu_late_opts {
	struct cpu_tables *tables;	/* borrowed, outlives it */
	int ring_fd;			/* of the map cpu_copies */
	/* Takes a record that is complete. */
	void (*emit)(void *ctx, struct cpu_sample_rec *r);
	void *ctx;
};

int cpu_late_new(const struct cpu_late_opts *o, struct cpu_late **ret, struct err *err);
void cpu_late_free(struct cpu_late *l);	/* NULL is fine; what waits is dropped */

/* Takes what the kernel side has copied so far, and looks at whose it is: soon its process may be gone. */
void cpu_late_take(struct cpu_late *l);

/*
 * The same, then walks what can be walked by now: when a table has come, and from time to time. Not before records
 * may be emitted.
 */
void cpu_late_go_on(struct cpu_late *l);

/* The same, for the last time: waits for tables that are being made, but not longer than so. Leaves nothing. */
void cpu_late_end(struct cpu_late *l, uint64_t limit_ns);

/*
 * Waits for tables that are being made, but not longer than @limit_ns, and takes what is copied meanwhile: before
 * records may be emitted.
 */
void cpu_late_wait(struct cpu_late *l, uint64_t limit_ns);

/* ---- one stack ---- */

#define CPU_LATE_FRAMES 1024

struct cpu_late_stack {
	struct cpu_walk_copy copy;
	bool noted;		/* the frame at hand is among the frames */
	int end;		/* SONDE_STACK_* */
	size_t n_ips;		/* frames that were found here */
	uint64_t *ips;		/* room for CPU_LATE_FRAMES */
};

/* Walks on as far as there are tables: then s->end is SONDE_STACK_NO_TABLE. */
void cpu_late_walk(struct cpu_late_stack *s, const struct cpu_tables *t, const cpu_place_vec *places);

#endif
