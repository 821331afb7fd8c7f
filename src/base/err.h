/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error messages for users.
 *
 * Functions return 0 or a count on success and a negative errno on failure. Functions whose failure a user reads
 * about (open, attach, parse) also fill a struct err: one sentence with the operation, its object and a remedy. The
 * hot path returns numbers only.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/macros.h"

struct err {
	int code;	/* negative errno, 0 = no error recorded */
	char msg[504];	/* one sentence without a trailing newline */
};

/* Sets code and message; returns @code for the caller to return. @e may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) _printf_(3, 4);

/* err_set() with ": <strerror of code>" appended. */
int err_errno(struct err *e, int code, const char *fmt, ...) _printf_(3, 4);

/* Prepends "<text>: " to the message of @e. Returns e->code; 0 if @e is NULL. */
int err_prefix(struct err *e, const char *fmt, ...) _printf_(2, 3);

#endif
