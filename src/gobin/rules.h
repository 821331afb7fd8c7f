/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules as rows. A rule has several rules_hookers; the first whose selector fits applies: the program has its
 * required features and lacks the excluded ones. Features are facts of the program, never versions. The checker is
 * the list of members that must be known. Internal to src/gobin.
 */
#ifndef GOBIN_RULES_H
#define GOBIN_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gobin/gobin.h"
#include "gobin/names.h"

enum feature {
	FEAT_CONTEXT = 1 << 0,		/* the server's operateHeaders takes a context (http2Server has a peer) */
	FEAT_OWN_WRITER = 1 << 1,	/* gRPC writes DATA itself: framer.writeData exists */
	FEAT_XNET_BY_VALUE = 1 << 2,	/* checkFrameOrder gets the header: Framer.ReadFrameHeader exists */
	FEAT_STD_BY_VALUE = 1 << 3,
	FEAT_OWN_STATUS = 1 << 5,	/* http2Server.writeStatus is there, in place of WriteStatus */
	FEAT_CLIENT_FIELDS = 1 << 6,	/* http2Client.createHeaderFields is there */
	FEAT_STD_PACKAGE = 1 << 4,	/* HTTP/2 of the standard library has its own package */
	FEATURE__MAX
};

#define HOOKER_FIELDS_MAX 12

/* Behind which call in the function the site is. */
enum hooker_after {
	AFTER_NOTHING,		/* among the function's first instructions */
	AFTER_FAILED_CALL,	/* where it goes on after a failed call of GRPC_CALL's function */
	AFTER_FIELDS,		/* where it checks the error of the call of FEAT_CLIENT_FIELDS' function */
	AFTER__MAX,
};

struct hooker {
	enum gobin_rule rule;
	uint32_t wants, excludes;	/* enum feature */
	enum go_pkg pkg;
	const char *receiver, *method;
	const char *signature;		/* abi.h */
	const char *args;		/* names of words, separated by spaces: gobin_site.args */
	uint8_t fields[HOOKER_FIELDS_MAX];	/* members that must be known, each + 1; 0 ends the list */
	enum hooker_after after;
	bool returns;			/* with all of its return instructions */
};

const struct hooker *rules_hookers(size_t *ret_n);

/* Functions that identify features, beside those of rules_hookers. */
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
