/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State before the first event: threads, descriptors, users and interfaces, as rows of libscap's tables
 * (tables/scap_rows.tsv). They are read from /proc, where processes control the content of some files: nothing in
 * them is trusted and no read blocks.
 */
#ifndef SYS_SCAN_H
#define SYS_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct params_out;

/* Receives one row; a negative return ends the scan and becomes its result. */
typedef int (*scan_fn)(void *ctx, const struct params_out *row);

/* @host_root: "" or the mount point of the host's root. NULL without memory or /proc. */
struct scan *sys_scan_new(const char *host_root, scan_fn fn, void *ctx);
void sys_scan_free(struct scan *s); /* NULL is fine */

/* Interfaces, users and groups of the host. */
int sys_scan_host(struct scan *s);
/* All processes. */
int sys_scan_all(struct scan *s);
/*
 * One process: rows of all its threads (@tid 0) or of one, then of its descriptors if @files. 0, or -ESRCH if it has
 * exited.
 */
int sys_scan_process(struct scan *s, uint32_t pid, uint32_t tid, bool files);
/* Ancestors of @pid, without descriptors. */
int sys_scan_ancestors(struct scan *s, uint32_t pid);

#endif
