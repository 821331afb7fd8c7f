/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parsed filter. Private to src/event/filter*.c.
 */
#ifndef EVENT_FILTER_IMPL_H
#define EVENT_FILTER_IMPL_H

#include "base/arena.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/filter/filter.h"

/* The field that a word means in events of one type. */
struct binding {
	const struct event_desc *desc;
	const struct field *field;
};

struct check {
	const char *word;
	const struct field *common;	/* for types without a binding; may be NULL */
	const struct binding *bindings;
	size_t n_bindings;
	enum filter_op op;
	struct filter_value *values;	/* n_values of them */
	size_t n_values;
	bool plain_numbers;		/* fields and values are numbers: no name is needed to decide */
};

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_CHECK, NODE__MAX };

/* Nodes refer to each other by number: 0 is none. */
struct node {
	enum node_kind kind;
	uint32_t child, next;
	const struct check *check;
};

struct filter {
	struct arena arena;		/* checks, bindings, values, text */
	VEC(struct node) nodes;		/* [0] is not used */
	uint32_t root;			/* 0: everything passes */
	bool also;			/* some word is one of desc->also */
};

extern const char *const filter_op_names[];	/* by enum filter_op */
bool filter_op_takes_list(enum filter_op op);

/* ---- lexer ---- */

enum token_kind {
	TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_COMMA, TOKEN_OP, TOKEN_BAD,
	TOKEN__MAX,
};

struct token {
	enum token_kind kind;
	size_t pos, len;	/* in the text, quotes included */
	enum filter_op op;	/* TOKEN_OP */
	const char *problem;	/* TOKEN_BAD: a sentence's start */
};

#define FILTER_TEXT_MAX (64u << 10)

/* The token at or behind @pos. */
struct token filter_lex(const char *text, size_t pos);

/* The value of a WORD or STRING token, escapes resolved, in @a; NULL without memory. */
const char *filter_token_value(const char *text, const struct token *t, struct arena *a, size_t *ret_len);

/* True if @s can stand without quotes and mean itself. */
bool filter_is_bare(const char *s, size_t len);

/* ---- values and fields ---- */

/* Reads @v->text in every way the check's fields could mean it. */
void filter_value_init(struct filter_value *v, const struct check *c);
/* NULL if the check's operator and @v make sense for its fields, else what the field wants ("a number"). */
const char *filter_value_problem(const struct check *c, const struct filter_value *v);
bool filter_op_fits(const struct check *c);
/* Calls once per field that the check can mean; the kind that filters work with (FIELD_GET = anything). */
bool filter_check_kinds(const struct check *c, bool (*fn)(enum field_kind kind, const struct field *f, void *ctx),
			void *ctx);

/* ---- errors ---- */

/* Puts the place below the sentence in @message. Returns -EINVAL, or -ENOMEM if that could not be said. */
int filter_fail(struct err *err, const char *text, const struct token *at, struct buf *message);
/* At most 48 bytes, escaped, in quotes. */
void filter_add_quoted(struct buf *out, const char *s, size_t len);

/* The nearest of the words offered to filter_suggest(), if it is near at all. */
struct filter_suggestion {
	char word[64];		/* what was written; empty when it was longer */
	size_t len;
	const char *best;	/* borrowed; NULL = none */
	unsigned distance;
};

struct filter_suggestion filter_suggestion_for(const char *word, size_t len);
void filter_suggest(struct filter_suggestion *s, const char *candidate);
void filter_add_suggestion(struct buf *out, const struct filter_suggestion *s);

/* ---- the rest ---- */

#endif
