/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in a function's first instructions a probe belongs: on one that the kernel emulates (others are
 * single-stepped, at about fifteen times the cost), where arguments are still where the caller put them. That is the
 * branch of the stack check: all up to it runs again when the stack grows, and at the branch the flags tell which it
 * is. Internal to src/gobin.
 */
#ifndef GOBIN_PLACE_H
#define GOBIN_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "gobin/gobin.h"

#define PLACE_BYTES 96		/* of a function that a decision needs at most */

struct place {
	enum gobin_place kind;
	uint32_t off;		/* bytes from the function's entry */
	uint8_t len;		/* bytes of the instruction */
};

/* @code: the function's first @len bytes. 0; -EBADMSG when the bytes cannot be the begin of a function. */
int place_choose(uint16_t machine, const uint8_t *code, size_t len, struct place *ret);
int place_x86(const uint8_t *code, size_t len, struct place *ret);
int place_arm64(const uint8_t *code, size_t len, struct place *ret);

#endif
