/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel symbols from /proc/kallsyms, as they were when it was read.
 */
#ifndef PROBE_KSYM_H
#define PROBE_KSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ksyms;

/* The running kernel's. An empty table when addresses are hidden. */
int ksym_new(struct ksyms **ret);
/* The same from a stream. */
int ksym_read(FILE *f, struct ksyms **ret);
void ksym_free(struct ksyms *k); /* NULL is fine */

/* "tcp_v4_rcv+0x1a" or "nf_hook+0x3 [nf_tables]"; -ENOENT when addresses are hidden or @addr is in no text. */
int ksym_name(const struct ksyms *k, uint64_t addr, char *buf, size_t cap);

/*
 * Whether what is at @addr comes and goes while the kernel runs (modules, BPF programs), or nothing is known there:
 * then a younger table may know better.
 */
bool ksym_may_change(const struct ksyms *k, uint64_t addr);

/*
 * The @nth (from 0) function called @name, clones of the compiler (".part.0") included: addresses from *ret_start
 * to *ret_end, the end excluded. -ENOENT when there are no more.
 */
int ksym_range(const struct ksyms *k, const char *name, unsigned nth, uint64_t *ret_start, uint64_t *ret_end);

#endif
