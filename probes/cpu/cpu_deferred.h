/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that the kernel side could not walk to the end because a file had no unwind table yet: it copied their
 * memory, and here they are walked on when the table is there. Then their records go into the stream, late, as if
 * they came from the kernel. Part of the live half; the copies go nowhere else.
 */
#ifndef CPU_DEFERRED_H
#define CPU_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/cpu/cpu_tables.h"
#include "probes/cpu/cpu_walk_wire.h"

struct cpu_deferred;
struct cpu_sample_rec;

struct cpu_deferred_opts {
	struct cpu_tables *tables;	/* borrowed, outlives it */
	struct loop *loop;		/* borrowed; walks leave it its turns; NULL = they do not stop */
	int ring_fd;			/* of the map cpu_copies */
	uint32_t depth;			/* most frames of a stack; 0 = CPU_USER_MAX */
	/* Takes a record that is complete. */
	void (*emit)(void *ctx, struct cpu_sample_rec *r);
	void *ctx;
};

int cpu_deferred_new(const struct cpu_deferred_opts *o, struct cpu_deferred **ret, struct err *err);
void cpu_deferred_free(struct cpu_deferred *l); /* NULL is fine; what waits is dropped */

/* Takes what the kernel side has copied so far, and looks at whose it is: soon its process may be gone. */
void cpu_deferred_take(struct cpu_deferred *l);

/*
 * The same, then walks what can be walked by now: when a table has come, and from time to time. Not before records
 * may be emitted.
 */
void cpu_deferred_go_on(struct cpu_deferred *l);

/* The same once more at the end: waits for tables in the making, at most @limit_ns. Leaves nothing. */
void cpu_deferred_end(struct cpu_deferred *l, uint64_t limit_ns);

/*
 * Waits for tables in the making, at most @limit_ns, and takes what is copied meanwhile: before
 * records may be emitted.
 */
void cpu_deferred_wait(struct cpu_deferred *l, uint64_t limit_ns);

/* ---- one stack ---- */

#define CPU_DEFERRED_FRAMES 1024

struct cpu_deferred_stack {
	struct cpu_walk_copy copy;
	bool noted;		/* the frame at hand is among the frames */
	int end;		/* SONDE_STACK_* */
	size_t n_ips;		/* frames that were found here */
	uint64_t *ips;		/* room for CPU_DEFERRED_FRAMES */
};

/* Walks on as far as there are tables: then s->end is SONDE_STACK_NO_TABLE. */
void cpu_deferred_walk(struct cpu_deferred_stack *s, const struct cpu_tables *t, const cpu_place_vec *places);

#endif
