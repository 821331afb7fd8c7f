/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs converted filters without a kernel, and checks what the verifier would check of their shape.
 */
#ifndef INTERP_H
#define INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_insn;

/*
 * True if every instruction can be reached and is known, jumps go forward and at most to the end, R6 and up and the
 * inputs R1-R4 are not written. Else @why says what is wrong.
 */
bool interp_check(const struct bpf_insn *code, size_t n, const char **why);

/*
 * Runs @code on a view of @avail bytes of a packet of @len. Returns what is in R0 at the end; -EFAULT on an access
 * outside the view and the 16 words of scratch memory.
 */
int64_t interp_run(const struct bpf_insn *code, size_t n, const uint8_t *view, size_t avail, uint32_t len,
		   bool ethernet);

#endif
