/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a filter, read for the kinds of the fields they are compared with.
 */
#ifndef EVENT_FILTER_VALUE_H
#define EVENT_FILTER_VALUE_H

#include "event/filter/filter_tree.h"

/* Reads @v->text in every way the check's fields could mean it. */
void filter_value_init(struct filter_value *v, const struct check *c);
/* NULL if the check's operator and @v make sense for its fields, else what the field wants ("a number"). */
const char *filter_value_problem(const struct check *c, const struct filter_value *v);
bool filter_value_op_fits(const struct check *c);
/* Calls once per field that the check can mean; the kind that filters work with (FIELD_GET = anything). */
bool filter_value_kinds(const struct check *c, bool (*fn)(enum field_kind kind, const struct field *f, void *ctx),
			void *ctx);

#endif
