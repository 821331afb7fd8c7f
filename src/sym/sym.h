/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses of stacks. Two steps, because a process may have exited before its names are needed:
 *
 * 1. sym_event() and sym_locate(), as events pass: mappings of each process by time; an address becomes a location
 *    (module, address in the module). Cheap; the only I/O opens each new file.
 * 2. sym_frames(), later and in batches: location to functions, file, line. The files are parsed in src/worker.
 *
 * Locations of two processes that run the same file are equal, so stacks are compared by locations.
 */
#ifndef SYM_SYM_H
#define SYM_SYM_H

#include "sym/frames.h"
#include "sym/sym_types.h"

struct err;
struct event;
struct sonde_rec;

int sym_new(const struct sym_opts *o, struct sym **ret, struct err *err);
void sym_free(struct sym *s);	/* NULL is fine */

/* Learns from state events: mappings, exec, fork, exit; by their SEC_STATE, not by probe. 0 or -ENOMEM. */
int sym_event(struct sym *s, const struct event *ev);

/* Locations of the stack of @ev, innermost first, at most @cap. Returns how many. */
size_t sym_locate_user(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap);
size_t sym_locate_kernel(struct sym *s, const struct event *ev, struct sym_loc *ret, size_t cap);

/* Changes with the mappings of the process of @ev: while it is the same, equal addresses are equal locations. */
uint64_t sym_generation(struct sym *s, const struct event *ev);

const struct sym_module *sym_module(const struct sym *s, uint32_t module);	/* never NULL */
uint32_t sym_n_modules(const struct sym *s);

/*
 * A frame that a signal put on the stack: the trampoline behind a handler, or a call that Go's handler injected
 * (runtime/preempt.go, runtime/signal_amd64.go). The address behind it is that of the interrupted instruction.
 */
bool sym_stack_by_signal(const struct sym_frame *f);

/*
 * sym_frames() for whole stacks, innermost frame first: the first of each has no `caller`, all others have. Queries
 * behind a frame by a signal lose it.
 */
int sym_stack_frames(struct sym *s, struct sym_query *q, size_t n, struct sym_frame *ret);

/*
 * For recordings, of a live run or with sym_opts.collects: keeps the locations of @ev's stack; at the end, names all
 * of them and passes them to
 * @fn as records (sonde/symbol_wire.h) without time; *ret_missing is the number of locations whose file could not be
 * read. 0, -ENOMEM or the error of @fn. In a replay, sym_event() takes the records.
 */
int sym_collect(struct sym *s, const struct event *ev);
int sym_collect_write(struct sym *s, int (*fn)(void *ctx, struct sonde_rec *r, size_t len), void *ctx,
		      uint64_t *ret_missing);

void sym_stats(const struct sym *s, struct sym_stats *ret);

#endif
