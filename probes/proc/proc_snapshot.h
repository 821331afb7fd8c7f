/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the probe's iterators: what was there before the start, as records. Part of the live half.
 */
#ifndef PROC_SNAPSHOT_H
#define PROC_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct err;
struct event;
struct sonde_rec;

/* @r may be changed; it is complete. A negative return ends the reading. */
typedef int (*snapshot_fn)(void *ctx, struct sonde_rec *r, size_t len);

/*
 * Runs @prog over everything it iterates, or over process @tgid alone (Linux 6.1), and hands its records to @fn.
 * @proc_dir: "/proc", to read the command lines there if the iterator does not give them; NULL = it does. Returns the
 * number of records.
 */
int proc_snapshot_read(const struct bpf_program *prog, uint32_t tgid, const char *proc_dir, snapshot_fn fn, void *ctx,
		       struct err *err);

/*
 * Passes @fn the record of a process that no iterator shows: @ev has its keys, its SEC_PROC and the time of its end
 * (0 = not known yet). Returns the result of @fn.
 */
int proc_snapshot_known(const struct event *ev, snapshot_fn fn, void *ctx);

#endif
