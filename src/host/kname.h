/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of kernel addresses, asked of the kernel one by one: a BPF program prints the address with %pS (Linux 5.13).
 * Modules and BPF programs that came later are known too, nothing is read at the start, and nothing has to be kept:
 * /proc/kallsyms takes a tenth of a second and 10 MB.
 */
#ifndef PROBE_KNAME_H
#define PROBE_KNAME_H

#include <stddef.h>
#include <stdint.h>

struct kname;

/* -errno where the kernel cannot do it, or we may not. */
int kname_new(struct kname **ret);
void kname_free(struct kname *k);	/* NULL is fine */

/* "tcp_v4_rcv+0x1a" or "nf_hook+0x3 [nf_tables]"; -ENOENT for an address of no function. */
int kname_get(struct kname *k, uint64_t addr, char *buf, size_t cap);

/* What the kernel prints, "tcp_v4_rcv+0x1a/0xe40", as above. -ENOENT when it is a bare address. */
int kname_parse(const char *text, char *buf, size_t cap);

#endif
