/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a filter, read for the kinds of the fields they are compared with.
 */
#ifndef EVENT_FILTER_VALUE_H
#define EVENT_FILTER_VALUE_H

#include "event/filter/filter_tree.h"

/* Reads @v->text in every way that fits the check's fields. */
void filter_value_init(struct filter_value *v, const struct check *c);
/* NULL if operator and @v fit the check's fields, else the expected kind ("a number"). */
const char *filter_value_problem(const struct check *c, const struct filter_value *v);
bool filter_value_op_fits(const struct check *c);
/*
 * Calls @fn for each field the check may read, with the kind to compare as (FIELD_GET = any). Stops at and returns
 * true.
 */
bool filter_value_kinds(const struct check *c, bool (*fn)(enum field_kind kind, const struct field *f, void *ctx),
			void *ctx);

#endif
