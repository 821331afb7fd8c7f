/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selected processes: do they exist? Process ids are those of the initial pid namespace; only there can /proc answer.
 */
#ifndef ENRICH_PIDS_H
#define ENRICH_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* True if this process belongs to the initial pid namespace. */
bool pids_are_initial(void);

/* Number of existing processes among @pids. @host_root: "" or the path of the host's root. */
size_t pids_live(const char *host_root, const uint32_t *pids, size_t n);
bool pids_live_one(const char *host_root, uint32_t pid);

/* -ESRCH with a sentence when none of them exists and /proc can tell. No pids: 0. */
int pids_check(const char *host_root, const uint32_t *pids, size_t n, struct err *err);

#endif
