/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks that do not work, with the instances that lack them. */
#ifndef PIPELINE_FAILED_HOOKS_H
#define PIPELINE_FAILED_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct failed_hook {
	char *hook, *why;	/* owned */
	uint64_t of;		/* 1ull << instance, or << PROBE_OWNERS */
};

struct failed_hooks { VEC(struct failed_hook) all; };

/*
 * Returns the instances that were known to lack @hook: 0 = none, it is news to everybody. Without memory it is not
 * kept.
 */
uint64_t failed_hooks_add(struct failed_hooks *f, uint64_t of, const char *hook, const char *why);
bool failed_hooks_has(const struct failed_hooks *f, const char *hook);
void failed_hooks_forget(struct failed_hooks *f, uint64_t of);	/* they have ended */
void failed_hooks_fini(struct failed_hooks *f);

#endif
