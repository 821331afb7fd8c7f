/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sets in strace's expressions: system calls, signals, descriptors, and words.
 */
#ifndef COMPAT_STRACE_SET_H
#define COMPAT_STRACE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

#define STRACE_SET_CALLS 1024 /* rows of sys_calls that a set has room for */

/* Rows of sys_calls, as bits. */
struct strace_calls {
	uint64_t bits[STRACE_SET_CALLS / 64];
};

/* "openat,%file,/^mq_,?gone", all of it inverted by a leading !; all, none. -EINVAL with a sentence. */
OPT_PARSER(strace_set_calls, struct strace_calls);
/* Is the call of this number in the set? False for numbers without a row. */
bool strace_set_has_call(const struct strace_calls *s, unsigned abi, unsigned nr);
/* Every call is in it. */
bool strace_set_is_all(const struct strace_calls *s);
/* Appends the names, separated by commas. */
int strace_set_names(const struct strace_calls *s, struct buf *out);

/* Signal numbers as bits 1 to 63: "SIGIO", "io", "29". */
OPT_PARSER(strace_set_signals, uint64_t);

struct strace_fds {
	bool inverted;
	struct opt_u32v list;
};

/* Descriptor numbers; none is the zeroed set. */
OPT_PARSER(strace_set_fds, struct strace_fds);
bool strace_set_has_fd(const struct strace_fds *s, int32_t fd);

/* A word and its bits; up to a row without name. */
struct strace_word {
	const char *name;
	unsigned bits;
};

/* The bits of the words in @text; "all" is the union of @words. @option: for messages. */
int strace_set_words(const char *option, const char *text, const struct strace_word *words, unsigned *ret,
		     struct err *err);

#endif
