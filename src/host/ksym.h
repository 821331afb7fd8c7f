/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel symbols from a copy of /proc/kallsyms.
 */
#ifndef HOST_KSYM_H
#define HOST_KSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ksyms;

/* Reads the running kernel's symbols. The table is empty if addresses are hidden. */
int ksym_new(struct ksyms **ret);
/* Reads a stream in the format of /proc/kallsyms. */
int ksym_read(FILE *f, struct ksyms **ret);
void ksym_free(struct ksyms *k); /* NULL is fine */

/* "tcp_v4_rcv+0x1a" or "nf_hook+0x3 [nf_tables]"; -ENOENT if unknown. */
int ksym_name(const struct ksyms *k, uint64_t addr, char *buf, size_t cap);

/*
 * True if @addr belongs to a module or a BPF program, which come and go, or to no known symbol: a newer table may
 * give another answer.
 */
bool ksym_may_change(const struct ksyms *k, uint64_t addr);

/*
 * Addresses of the @nth (from 0) function called @name, from *ret_start to *ret_end (excluded). Clones of the
 * compiler (".part.0") count. -ENOENT if there are fewer.
 */
int ksym_range(const struct ksyms *k, const char *name, unsigned nth, uint64_t *ret_start, uint64_t *ret_end);

#endif
