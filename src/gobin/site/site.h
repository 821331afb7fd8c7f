/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the probe site among a function's first instructions: an instruction that the kernel emulates
 * (single-stepping costs about fifteen times as much) at a point where arguments are still in the caller's registers
 * and slots. That is the branch of the stack check: the code up to it runs again when the stack grows, and at the
 * branch the flags tell the two cases apart. Internal to src/gobin.
 */
#ifndef GOBIN_SITE_H
#define GOBIN_SITE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gobin/gobin.h"

#define SITE_BYTES 96		/* bytes of a function that the decision needs at most */

struct site {
	enum gobin_site_kind kind;
	uint32_t off;		/* bytes from the function's entry */
	uint8_t len;		/* bytes of the instruction */
};

/* Instruction of arm64 at @code + @at. */
static inline uint32_t site_word(const uint8_t *code, size_t at)
{
	uint32_t v;

	memcpy(&v, code + at, sizeof(v));
	return v;
}

/*
 * Where a function continues after @callee returned an error: the target of the branch on the second interface of the
 * results, which successful calls never reach, or, if it returns the results unchanged, the next instruction. @code:
 * the function at @addr. 0; -EBADMSG if it does not contain the call exactly once, or something else follows it.
 */
int site_after_call(uint16_t machine, const uint8_t *code, size_t len, uint64_t addr, uint64_t callee,
		    struct site *ret);

/*
 * The branch on the error of @callee, which returns a slice and an error: both are still in registers there. Returns
 * as above.
 */
int site_after_slice(uint16_t machine, const uint8_t *code, size_t len, uint64_t addr, uint64_t callee,
		     struct site *ret);

/* All return instructions of a function, found while gopclntab_sp() walks its parts with site_returns_part(). */
struct site_returns {
	uint16_t machine;
	const uint8_t *code;		/* the function, @len bytes at @entry */
	size_t len;
	uint64_t entry;
	struct site check;		/* of site_choose() */
	uint32_t n, off[GOBIN_RETURNS_MAX]; /* found so far, from the entry */
};

/* A gopclntab_sp_fn; @ctx: struct site_returns. -EBADMSG if the part is neither a return nor without a frame. */
int site_returns_part(void *ctx, uint64_t start, uint64_t end, int32_t bytes);

/* @code: the function's first @len bytes. 0; -EBADMSG if they cannot be the start of a function. */
int site_choose(uint16_t machine, const uint8_t *code, size_t len, struct site *ret);
int site_x86(const uint8_t *code, size_t len, struct site *ret);
int site_arm64(const uint8_t *code, size_t len, struct site *ret);

#endif
