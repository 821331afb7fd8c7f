/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One analysis: its input, the findings of its steps, and the answer under construction. Internal to src/gobin.
 */
#ifndef GOBIN_JOB_H
#define GOBIN_JOB_H

#include "base/buf.h"
#include "gobin/abi.h"
#include "gobin/dwarf/dwarf.h"
#include "gobin/gobin.h"
#include "gobin/identify.h"
#include "gobin/image.h"
#include "gobin/module.h"
#include "gobin/rules.h"
#include "gobin/types.h"

#define GOBIN_MAGIC 0x6e626f67u
#define GOBIN_LOAD_ERROR 0x72666772u /* instead of the answer: a sentence follows */

struct found_function {
	uint64_t entry, end;
	const char *name;		/* the table's */
	enum go_match match;
	uint32_t copies;		/* of the same function, in other vendored copies of the package */
};

#define FUNCTIONS_MAX 80 /* rules_hookers and functions of features */

struct job {
	const struct gobin_request *q;
	struct elf *elf;
	struct image img;
	struct gopclntab *table;
	struct identity id;
	struct go_module module;
	struct go_types types;
	const char *types_why;		/* NULL = types are known */
	struct dwarf_facts dwarf;
	const char *dwarf_why;		/* NULL = DWARF is present */
	bool packages[PKG__MAX];	/* the program has a function of the package */
	uint32_t features;
	struct found_function functions[FUNCTIONS_MAX]; /* like rules_hookers(), then rules_feature_functions() */
	size_t n_hookers;
	struct gobin_answer a;
	struct buf strings;
};

/* Offset of a copy of @s in the answer; 0 is "". Errors are sticky as in struct buf. */
uint32_t answer_str(struct job *j, const char *s);
uint32_t answer_strf(struct job *j, const char *fmt, ...) _printf_(2, 3);

int conns_find(struct job *j);			/* connections of the answer; 0 or -ENOMEM */
void layout_merge(struct job *j);		/* fields, types and itabs of the answer */
void evaluate_functions(struct job *j);		/* functions, features, packages */
int evaluate_rules(struct job *j);

#endif
