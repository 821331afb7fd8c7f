/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is there before the first event: threads, descriptors, users, interfaces, as rows of the tables that
 * libscap's readers know (tables/scap_rows.tsv). Read from /proc; the files of processes are somebody else's, so
 * nothing in them is believed and nothing waits for them.
 */
#ifndef SYS_SCAN_H
#define SYS_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct params_out;
struct scan;

/* Takes one row; a negative return ends the scan, which returns it. */
typedef int (*scan_fn)(void *ctx, const struct params_out *row);

/* @host_root: "" or where the host's root is mounted. NULL without memory, or without /proc. */
struct scan *sys_scan_new(const char *host_root, scan_fn fn, void *ctx);
void sys_scan_free(struct scan *s); /* NULL is fine */

/* Interfaces, users and groups of the host. */
int sys_scan_host(struct scan *s);
/* Every process. */
int sys_scan_all(struct scan *s);
/*
 * One process: a row for each of its threads (@tid 0) or for that one, then its descriptors if @files. 0, or
 * -ESRCH when it is gone.
 */
int sys_scan_process(struct scan *s, uint32_t pid, uint32_t tid, bool files);
/* The processes that @pid descends from, without descriptors. */
int sys_scan_ancestors(struct scan *s, uint32_t pid);
/* Are both in the same cgroups? False also when one is gone. */
bool sys_scan_same_cgroups(struct scan *s, uint32_t pid, uint32_t other);

#endif
