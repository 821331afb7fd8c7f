/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * New executable mappings, from perf's side-band records: the one source of them that works everywhere without
 * kprobes (doc/decisions/0008-mappings.md). Part of the live half: makes records of them.
 */
#ifndef PROC_MMAP_H
#define PROC_MMAP_H

#include <stddef.h>
#include <stdint.h>

#define PROC_MMAP_LIMIT 1024u	/* mappings of a process per second; more are counted only */

struct err;
struct loop;
struct mmap_watch;
struct sonde_rec;

/* @r is a struct proc_mmap_rec or a struct sonde_lost_rec, complete but for its instance. */
typedef int (*mmap_watch_fn)(void *ctx, struct sonde_rec *r, size_t len);

/* One event and ring per online CPU; mappings are gathered from here on. @loop empties full rings; may be NULL. */
int proc_mmap_open(unsigned n_cpus, struct loop *loop, struct mmap_watch **ret, struct err *err);
void proc_mmap_close(struct mmap_watch *w); /* NULL is fine */

/* Empties the kernel's rings. Time of the oldest mapping that waits, UINT64_MAX when none does. */
uint64_t proc_mmap_next(struct mmap_watch *w);

/* Hands over what is not younger than @until_ns. Returns how many, or what @fn returned when negative. */
int proc_mmap_drain(struct mmap_watch *w, uint64_t until_ns, mmap_watch_fn fn, void *ctx);

/* A lost record (SONDE_LOST_MAPPING_LIMIT) for each process that exceeded the limit since the last call. */
int proc_mmap_report(struct mmap_watch *w, mmap_watch_fn fn, void *ctx);

/*
 * The last drain: hands over all, then a lost record for each ring whose last losses have no PERF_RECORD_LOST yet.
 * The kernel writes that one in front of the next mapping, so losses at the end of a run have none. Before Linux 6.0
 * these stay unknown.
 */
int proc_mmap_finish(struct mmap_watch *w, mmap_watch_fn fn, void *ctx);

#endif
