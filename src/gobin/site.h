/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in a function's first instructions a probe belongs: on one that the kernel emulates (others are
 * single-stepped, at about fifteen times the cost), where arguments are still where the caller put them. That is the
 * branch of the stack check: all up to it runs again when the stack grows, and at the branch the flags tell which it
 * is. Internal to src/gobin.
 */
#ifndef GOBIN_SITE_H
#define GOBIN_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "gobin/gobin.h"

#define SITE_BYTES 96		/* of a function that a decision needs at most */

struct site {
	enum gobin_site_kind kind;
	uint32_t off;		/* bytes from the function's entry */
	uint8_t len;		/* bytes of the instruction */
};

/* @code: the function's first @len bytes. 0; -EBADMSG when the bytes cannot be the begin of a function. */
int site_choose(uint16_t machine, const uint8_t *code, size_t len, struct site *ret);
int site_x86(const uint8_t *code, size_t len, struct site *ret);
int site_arm64(const uint8_t *code, size_t len, struct site *ret);

#endif
