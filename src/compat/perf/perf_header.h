/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comment that --header prints in front.
 */
#ifndef COMPAT_PERF_HEADER_H
#define COMPAT_PERF_HEADER_H

struct buf;
struct core_host;

/* Appends facts about the recorded host (NULL = none known) and the file. */
void perf_header_put(const struct core_host *host, const char *file, struct buf *out);

#endif
