/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules as rows. A rule has rules_hookers, of which the first whose selector fits is taken: the program has the
 * features that it wants and lacks those that it excludes. Features are facts of the program, never versions. Its
 * checker is the list of members that must be known. Internal to src/gobin.
 */
#ifndef GOBIN_RULES_H
#define GOBIN_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "gobin/gobin.h"
#include "gobin/names.h"

enum feature {
	FEAT_CONTEXT = 1 << 0,		/* the server's operateHeaders takes a context (http2Server has a peer) */
	FEAT_OWN_WRITER = 1 << 1,	/* gRPC writes DATA itself: framer.writeData is there */
	FEAT_XNET_BY_VALUE = 1 << 2,	/* checkFrameOrder gets the header: Framer.ReadFrameHeader is there */
	FEAT_STD_BY_VALUE = 1 << 3,
	FEAT_STD_PACKAGE = 1 << 4,	/* HTTP/2 of the standard library has a package of its own */
	FEATURE__MAX
};

#define HOOKER_FIELDS_MAX 12
#define NO_FIELD GOBIN_F__MAX

struct hooker {
	enum gobin_rule rule;
	uint32_t wants, excludes;	/* enum feature */
	enum go_pkg pkg;
	const char *receiver, *method;
	const char *signature;		/* abi.h */
	const char *args;		/* names of words, space between: gobin_site.args */
	uint8_t fields[HOOKER_FIELDS_MAX];	/* that must be known, each + 1; 0 ends the list */
};

const struct hooker *rules_hookers(size_t *ret_n);

/* Functions that tell features, beside those of rules_hookers. */
struct feature_function {
	enum feature feature;
	enum go_pkg pkg;
	const char *receiver, *method;
};
const struct feature_function *rules_feature_functions(size_t *ret_n);

struct field_row { enum go_pkg pkg; const char *structure, *field; };
struct type_row { enum go_pkg pkg; const char *name; };
struct itab_row { enum go_pkg pkg; const char *name; enum go_pkg inter_pkg; const char *inter; };

extern const struct field_row field_rows[GOBIN_F__MAX];
extern const struct type_row type_rows[GOBIN_T__MAX];
extern const struct itab_row itab_rows[GOBIN_I__MAX];

#endif
