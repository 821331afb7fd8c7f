/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of fields. Each function returns 0, or -ENOENT for NULL; strings are borrowed.
 */
#ifndef SCAP_VALUE_H
#define SCAP_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct scap_str;
struct value;

int scap_value_uint(struct value *ret, uint64_t u);
int scap_value_fraction(struct value *ret, uint64_t ns);	/* shown with nine digits */
int scap_value_int(struct value *ret, int64_t i);
int scap_value_ns(struct value *ret, uint64_t u);
int scap_value_bool(struct value *ret, bool b);
int scap_value_text(struct value *ret, const char *s);
int scap_value_chars(struct value *ret, const char *s, size_t len);
int scap_value_str(struct value *ret, const struct scap_str *s);
int scap_value_str_or_empty(struct value *ret, const struct scap_str *s); /* NULL: "" */
int scap_value_buf(struct value *ret, struct buf *b);

#endif
