/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of kernel addresses: from the kernel one by one (host/kname.h), or from a copy of /proc/kallsyms where the
 * kernel cannot do that. Internal to src/probe.
 */
#ifndef PROBE_KERNEL_NAMES_H
#define PROBE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct coop;

struct kernel_names {
	struct kname *kname;		/* NULL: not opened yet, or unsupported (no_kname) */
	bool no_kname;
	struct ksyms *ksyms;		/* NULL: not read yet */
	uint64_t ksyms_next_ns;		/* earliest time of the next reading */
	struct map reported;		/* addresses that kernel_names_add() has seen */
};

void kernel_names_init(struct kernel_names *k);
void kernel_names_fini(struct kernel_names *k);

/* 1 for the first call with @addr, then 0; -ENOMEM. */
int kernel_names_add(struct kernel_names *k, uint64_t addr);

/* Name of the function at @addr, "tcp_v4_rcv+0x1a", or -errno. May block; @coop lets the loop run meanwhile. */
int kernel_names_get(struct kernel_names *k, struct coop *coop, uint64_t addr, char *buf, size_t cap);

/* ksym_range() of the kernel's symbols. */
int kernel_names_range(struct kernel_names *k, struct coop *coop, const char *name, unsigned nth,
		       uint64_t *ret_start, uint64_t *ret_end);

#endif
