/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where Go passes arguments, computed from their types. A signature is words of "name:kind" in the order of passing,
 * the receiver first:
 *
 *	p pointer, map, function	w int, uint64		u uint32	b bool		c uint8
 *	s string (.ptr .len)		S slice (.ptr .len .cap)		i interface (.type .data)
 *	H hpack.HeaderField (.name.ptr ...)			F http2.FrameHeader (.valid .type ...)
 *
 * Format: src/cmd/compile/abi-internal.md of the Go distribution; ABI0: natural alignment, 8 bytes above the stack
 * pointer at entry. Internal to src/gobin.
 */
#ifndef GOBIN_ABI_H
#define GOBIN_ABI_H

#include <stdint.h>

#include "gobin/gobin.h"

#define ABI_WORDS_MAX 24
#define ABI_ARGS_MAX 8

struct abi_word {
	char name[24];			/* "hf.len" */
	uint8_t arg;			/* which argument, from 0 */
	uint8_t off;			/* bytes into the argument */
	struct gobin_loc loc;
};

struct abi_args {
	struct abi_word words[ABI_WORDS_MAX];
	unsigned n_words, n_args;
	uint8_t size[ABI_ARGS_MAX];	/* bytes of each argument */
};

/* 0, -EINVAL for a malformed signature, -EOPNOTSUPP for an unknown ABI or machine. */
int abi_assign(uint16_t machine, enum gobin_abi abi, const char *signature, struct abi_args *ret);

/* The word with that name; NULL = none. */
const struct abi_word *abi_word(const struct abi_args *a, const char *name, unsigned len);

/* DWARF's number of a register in the order of passing, and back. -1 = none. */
int abi_dwarf_reg(uint16_t machine, unsigned reg);
int abi_from_dwarf(uint16_t machine, unsigned dwarf_reg);

#endif
