/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQL statements without their literals.
 *
 * A lexer of the dialects of PostgreSQL, MySQL and Cassandra. Literals and parameters become "?", lists of them
 * behind IN a single one, equal rows behind VALUES the first of them; comments vanish. It accepts cut text: an open
 * string is a literal. If it cannot be decided where a string ends, the rest of the statement is left out, so no
 * literal passes as a word.
 */
#ifndef CALL_CALL_SQL_H
#define CALL_CALL_SQL_H

#include "call/call_pool.h"

enum call_sql_dialect { CALL_SQL_POSTGRESQL, CALL_SQL_MYSQL, CALL_SQL_CQL, CALL_SQL__MAX };

/* Whether a backslash escapes the quote behind it in '...'; in E'...' of PostgreSQL it always does. */
enum call_sql_backslash {
	CALL_SQL_BACKSLASH_UNKNOWN,
	CALL_SQL_BACKSLASH_PLAIN,
	CALL_SQL_BACKSLASH_ESCAPES,
	CALL_SQL_BACKSLASH__MAX,
};

struct call_sql {
	uint64_t id;		/* hash of the words, in lower case, and signs, not of blanks; never 0 */
	size_t len;
	char text[CALL_TEXT_BYTES];
	char verb[24];		/* "SELECT"; "" = none. Upper case */
	char table[128];	/* first one; "" = none. As written, without quotes */
	bool cut;		/* text or table did not fit, or a string was ambiguous */
	bool secret;		/* sets a password: not to be shown as it was sent */
};

void call_sql_digest(const void *sql, size_t len, enum call_sql_dialect dialect, enum call_sql_backslash backslash,
		     struct call_sql *ret);

/* Sets operation, resource, statement and its id. @cut: @sql is not the whole statement. */
void call_sql_describe(struct call *c, const struct call_pool_conf *conf, const void *sql, size_t len, bool cut,
		       enum call_sql_dialect dialect, enum call_sql_backslash backslash);

#endif
