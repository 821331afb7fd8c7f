/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RPCs by number: what the events of a goroutine say of the call that it serves.
 */
#ifndef STATE_STATE_CALL_H
#define STATE_STATE_CALL_H

#include <stddef.h>
#include <stdint.h>

struct state;

/* 0 or -ENOMEM. A number that is known keeps its strings. */
int state_call_learn(struct state *s, uint64_t number, const char *method, size_t method_len, const char *path,
		     size_t path_len);
/* SEC_CALL of the call, valid until the next state_call_learn(). NULL = unknown, or too long ago. */
const void *state_call_find(const struct state *s, uint64_t number, uint32_t *ret_len);

#endif
