/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets to processes, by cookie. Cookies are never reused, so an entry is right for as long as it is there.
 */
#ifndef ENRICH_SOCKTAB_H
#define ENRICH_SOCKTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct socktab;

/* @max: entries; beyond it the least recently used goes, the closed ones first. */
struct socktab *socktab_new(size_t max);
void socktab_free(struct socktab *t);

/* The socket belongs to that process from now on. 0 or -ENOMEM. */
int socktab_set(struct socktab *t, uint64_t cookie, uint32_t tgid, uint64_t start_ns);

/* It is closed: still found, and the first to go. */
void socktab_close(struct socktab *t, uint64_t cookie);

bool socktab_find(struct socktab *t, uint64_t cookie, uint32_t *ret_tgid, uint64_t *ret_start_ns);

void socktab_stats(const struct socktab *t, uint64_t *ret_sockets, uint64_t *ret_evicted);

#endif
