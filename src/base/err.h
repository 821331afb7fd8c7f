/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error context for a human.
 *
 * Functions return 0 or a count on success and a negative errno on failure. Where a person will
 * read about the failure (open, attach, parse), they also take a struct err and write one sentence
 * there: what was attempted, on what, and what to do about it. The hot path returns numbers only.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/macros.h"

struct err {
	int code;	/* negative errno, 0 = no error recorded */
	char msg[504];	/* one sentence without a trailing newline */
};

/* Records code and message; returns code, so that a caller can return it. @e may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) _printf_(3, 4);

/* As err_set(), with ": <text of code>" added to the message. */
int err_errno(struct err *e, int code, const char *fmt, ...) _printf_(3, 4);

/* Puts "<text>: " before the message that stands in @e. Returns e->code. @e may be NULL (returns 0). */
int err_prefix(struct err *e, const char *fmt, ...) _printf_(2, 3);

#endif
