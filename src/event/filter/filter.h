/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event words: `proc.name=nginx and (drop.reason in (NO_SOCKET, TCP_CSUM) or net.dport < 1024)`.
 *
 *   expr  := term { "or" term }         term := factor { "and" factor }
 *   factor:= "not" factor | "(" expr ")" | check
 *   check := word op value | word "in" "(" value, ... ")" | word "exists" | word
 *   op    := = == != < <= > >= contains icontains startswith endswith glob in intersects pmatch
 *            bcontains bstartswith (these two take bytes as hex digits: evt.buffer bcontains 0a0d)
 *
 * One parser, one evaluator: live, replay and clients. Words are those of event_common_fields and of
 * every registered type; a word that no type has is a syntax error with a suggestion. A check on a field
 * that an event lacks is false (its negation is true). Depth, length and steps are bounded.
 *
 * Values with blanks or operators stand in '...' or "..." (\\ \" \' \n \t \xNN). Numbers: 10, 0x1f, -1, 64k;
 * 100ms where the field is a duration (a bare number is ns there). Names of numbers match in any case, with or
 * without the kernel's prefix; addresses match networks (10.0.0.0/8). A bare word is "exists", or "is true" where
 * the field is a bool.
 */
#ifndef EVENT_FILTER_H
#define EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/value.h"

struct buf;
struct err;
struct event;
struct event_desc;
struct filter;
struct registry;

/*
 * Parses @text. On -EINVAL @err says what is wrong in one sentence, followed by a newline, the text and a
 * line with a caret under the word. An empty text gives a filter that lets everything pass.
 */
int filter_parse(const struct registry *reg, const char *text, struct filter **ret, struct err *err);
void filter_free(struct filter *f);

/* Does it ask for words that events have from another type (desc->also), and so for what these are made from? */
bool filter_also(const struct filter *f);

/* Is @value one of those that some check of @word has? */
bool filter_mentions(const struct filter *f, const char *word, const char *value);

/* Does the filter use @word or a field below it (@word.*)? */
bool filter_uses(const struct filter *f, const char *word);

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

/* EVENT_META passes always. @f may be NULL (everything passes). */
bool filter_match(const struct filter *f, const struct event *ev);

/* Are all its words among @words (NULL-terminated)? */
bool filter_has_only(const struct filter *f, const char *const *words);

/* The expression in normal form, for --explain-filter and tests. */
int filter_text(const struct filter *f, struct buf *out);

/* ---- what must hold, for those who can check it earlier (in the kernel) ---- */

enum filter_op {
	FILTER_TRUE,	/* a bare word */
	FILTER_EXISTS, FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE,
	FILTER_CONTAINS, FILTER_ICONTAINS, FILTER_STARTSWITH, FILTER_ENDSWITH, FILTER_GLOB,
	FILTER_IN, FILTER_INTERSECTS, FILTER_PMATCH, FILTER_BCONTAINS, FILTER_BSTARTSWITH,
	FILTER__MAX,
};

/* A value as written, and what else it can be read as. */
struct filter_value {
	const char *text;	/* NUL-terminated; may hold NULs */
	size_t len;
	bool has_number, negative, has_net, has_mac;
	uint64_t number;	/* also of an enum's name; the magnitude when negative */
	struct ipnet net;
	uint8_t mac[6];
	const char *name;	/* text without the kernel's prefix of such names */
	size_t name_len;
};

/* One of the parts joined by the outermost "and". */
struct filter_conjunct {
	const char *field;	/* NULL: not a single check ("or", "not (...)") */
	bool negated;		/* "not" in front of the check */
	enum filter_op op;
	const struct filter_value *values;
	size_t n_values;
	const char *text;	/* this part in normal form */
};

/*
 * Calls @fn for each part. Everything is borrowed for the call. Stops at a negative return, which it returns;
 * else the number of parts (0 for an empty filter), or -ENOMEM.
 */
int filter_conjuncts(const struct filter *f, int (*fn)(void *ctx, const struct filter_conjunct *c), void *ctx);

#endif
