/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RPCs by number: what the events of a goroutine say of the call that it serves.
 */
#ifndef ENRICH_CALLS_H
#define ENRICH_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct calls;

struct calls *calls_new(void);		/* NULL without memory */
void calls_free(struct calls *c);	/* NULL is fine */

/* 0 or -ENOMEM. A number that is known keeps its strings. */
int calls_learn(struct calls *c, uint64_t number, const char *method, size_t method_len, const char *path,
		size_t path_len);
/* SEC_CALL of the call, valid until the next calls_learn(). NULL = unknown, or too long ago. */
const void *calls_find(const struct calls *c, uint64_t number, uint32_t *ret_len);

#endif
