/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of fields, beside those of event/value.h. Each function returns 0, or -ENOENT for NULL; strings are
 * borrowed.
 */
#ifndef SCAP_VALUE_H
#define SCAP_VALUE_H

#include <stdint.h>

struct buf;
struct scap_str;
struct value;

int scap_value_fraction(struct value *ret, uint64_t ns);	/* shown with nine digits */
int scap_value_str(struct value *ret, const struct scap_str *s);
int scap_value_str_or_empty(struct value *ret, const struct scap_str *s); /* NULL: "" */
int scap_value_buf(struct value *ret, struct buf *b);

#endif
