/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parsed filter: built by filter_parse.c, evaluated by filter_eval.c, printed by filter_text.c.
 */
#ifndef EVENT_FILTER_TREE_H
#define EVENT_FILTER_TREE_H

#include "base/arena.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/filter/filter.h"

/* The field that a name denotes in events of one type. */
struct binding {
	const struct event_desc *desc;
	const struct field *field;
};

struct check {
	const char *name;	/* of the field */
	const struct field *common;	/* for types without a binding; may be NULL */
	const struct binding *bindings;
	size_t n_bindings;
	enum filter_op op;
	struct filter_value *values;	/* n_values of them */
	size_t n_values;
	const struct binding *types; /* of evt.type: those that the values name, field NULL */
	size_t n_types;
	bool plain_numbers;		/* fields and values are plain numbers: skip name lookup */
};

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_CHECK, NODE__MAX };

/* Nodes refer to each other by index; 0 = none. */
struct node {
	enum node_kind kind;
	uint32_t child, next;
	const struct check *check;
};

struct filter {
	struct arena arena;		/* checks, bindings, values, text */
	VEC(struct node) nodes;		/* [0] is unused */
	uint32_t root;			/* 0 = everything passes */
	bool also;			/* uses a field of a desc->also */
};

extern const char *const filter_op_names[];	/* indexed by enum filter_op */

static inline bool filter_op_is_equality(enum filter_op op)
{
	return op == FILTER_EQ || op == FILTER_NE || op == FILTER_IN || op == FILTER_INTERSECTS;
}

static inline bool filter_op_takes_list(enum filter_op op)
{
	return op == FILTER_IN || op == FILTER_INTERSECTS || op == FILTER_PMATCH;
}

#endif
