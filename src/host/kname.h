/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of kernel addresses: a BPF program prints the address with %pS (since 5.13). Unlike a copy of /proc/kallsyms,
 * which takes 0.1 s and 10 MB, this includes modules and BPF programs loaded later, and needs no memory.
 */
#ifndef HOST_KNAME_H
#define HOST_KNAME_H

#include <stddef.h>
#include <stdint.h>

struct kname;

/* -errno without kernel support or the rights. */
int kname_new(struct kname **ret);
void kname_free(struct kname *k);	/* NULL is fine */

/* "tcp_v4_rcv+0x1a" or "nf_hook+0x3 [nf_tables]"; -ENOENT for an address outside functions. */
int kname_get(struct kname *k, uint64_t addr, char *buf, size_t cap);

/* Converts the kernel's output, "tcp_v4_rcv+0x1a/0xe40". -ENOENT for a bare address. */
int kname_parse(const char *text, char *buf, size_t cap);

#endif
