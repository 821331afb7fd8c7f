/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event filters: `proc.name=nginx and (drop.reason in (NO_SOCKET, TCP_CSUM) or net.dport < 1024)`.
 *
 *   expr  := term { "or" term }         term := factor { "and" factor }
 *   factor:= "not" factor | "(" expr ")" | check
 *   check := field op value | field "in" "(" value, ... ")" | field "exists" | field
 *   op    := = == != < <= > >= contains icontains startswith endswith glob in intersects pmatch
 *            bcontains bstartswith (these two take bytes as hex digits: evt.buffer bcontains 0a0d)
 *
 * Live runs, replays and clients share one parser and one evaluator. Fields are those of event_common_fields and of
 * every registered type; an unknown field is a syntax error with a suggestion. A check of a field that an event lacks
 * is false (its negation is true). Depth, length and steps are bounded.
 *
 * Quote values that contain blanks or operators: '...' or "..." (\\ \" \'
 * \t \xNN). Numbers: 10, 0x1f, -1, 64k; 100ms for durations (a bare number is ns). Names of numbers match in any
 * case, with or without the kernel's prefix; addresses match networks (10.0.0.0/8). A bare field means "exists", or
 * "is true" for a bool.
 */
#ifndef EVENT_FILTER_H
#define EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/value.h"

struct err;
struct event;
struct event_desc;
struct filter;
struct registry;

/*
 * Parses @text. On -EINVAL, @err holds a one-sentence message, the text and a line with a caret under the error. An
 * empty text yields a filter that passes all events.
 */
int filter_parse(const struct registry *reg, const char *text, struct filter **ret, struct err *err);
void filter_free(struct filter *f);

/* Does the filter use fields of a desc->also, and so need the data behind them? */
bool filter_also(const struct filter *f);

/* Does a check of @field list @value? */
bool filter_mentions(const struct filter *f, const char *field, const char *value);

/* Does the filter use @field or a field below it (@field.*)? */
bool filter_uses(const struct filter *f, const char *field);

/* Is @d a value of some check of evt.type? See event_desc_is_called(). */
bool filter_eval_names_type(const struct filter *f, const struct event_desc *d);
bool filter_eval_names_any(const struct filter *f); /* any type at all */

/*
 * For each value of a check "evt.type = X" or "in (...)" that the outermost "and" joins: the name, and the types of
 * @reg that it stands for. Stops at a negative return, which it returns; else the number of such checks, or -ENOMEM.
 */
int filter_eval_types(const struct filter *f, const struct registry *reg,
		      int (*fn)(void *ctx, const char *name, const struct event_desc *const *descs, size_t n),
		      void *ctx);

/* EVENT_META always passes. @f NULL passes everything. */
bool filter_match(const struct filter *f, const struct event *ev);

/* Are all fields of the filter in @fields (NULL-terminated)? */
bool filter_has_only(const struct filter *f, const char *const *fields);

/* Normalised expression, for --explain-filter and tests. */
int filter_text(const struct filter *f, struct buf *out);

/* ---- required conditions, for sources that evaluate them earlier (in the kernel) ---- */

enum filter_op {
	FILTER_TRUE,	/* a bare field */
	FILTER_EXISTS, FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE,
	FILTER_CONTAINS, FILTER_ICONTAINS, FILTER_STARTSWITH, FILTER_ENDSWITH, FILTER_GLOB,
	FILTER_IN, FILTER_INTERSECTS, FILTER_PMATCH, FILTER_BCONTAINS, FILTER_BSTARTSWITH,
	FILTER__MAX,
};

/* A value as written, and its other readings. */
struct filter_value {
	const char *text;	/* NUL-terminated; may hold NULs */
	size_t len;
	bool has_number, negative, has_net, has_mac;
	uint64_t number;	/* also of an enum's name; magnitude if negative */
	struct ipnet net;
	uint8_t mac[6];
	const char *name;	/* text without the prefix that the kernel gives such names */
	size_t name_len;
};

/* One operand of the outermost "and". */
struct filter_conjunct {
	const char *field;	/* NULL if the operand is not one plain comparison */
	bool negated;		/* "not" precedes the check */
	enum filter_op op;
	const struct filter_value *values;
	size_t n_values;
	const char *text;	/* normalised text of the operand */
};

/*
 * Calls @fn for each operand; its argument is borrowed for the call. Stops at a negative return and returns it, else
 * returns the number of operands (0 for an empty filter) or -ENOMEM.
 */
int filter_conjuncts(const struct filter *f, int (*fn)(void *ctx, const struct filter_conjunct *c), void *ctx);

#endif
