// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statements without literals: whatever the text, no quote of a string is left; the digest of a digest is itself, if
 * the text was whole. Input: one byte for dialect and backslashes, then the statement.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "call/call_sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(const void *text, size_t len, char c)
{
	return len && memchr(text, c, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum call_sql_dialect dialect;
	enum call_sql_backslash backslash;
	struct call_sql d, again;

	if (!size)
		return 0;
	dialect = data[0] & 1 ? CALL_SQL_MYSQL : CALL_SQL_POSTGRESQL;
	backslash = (enum call_sql_backslash)((data[0] >> 1) % CALL_SQL_BACKSLASH__MAX);
	call_sql_digest(data + 1, size - 1, dialect, backslash, &d);
	if (d.len > sizeof(d.text) || !d.id || strlen(d.verb) >= sizeof(d.verb) || strlen(d.table) >= sizeof(d.table))
		abort();
	if (has(d.text, d.len, '\'') && !has(data + 1, size - 1, '"') && !has(data + 1, size - 1, '`'))
		abort();
	call_sql_digest(data + 1, size - 1, dialect, backslash, &again);
	if (again.id != d.id || again.len != d.len)
		abort();
	/* A dollar or comment sign at the end of the digest may join what the statement had apart. */
	if (d.cut || has(d.text, d.len, '$') || has(d.text, d.len, '-') || has(d.text, d.len, '"') ||
	    has(d.text, d.len, '`'))
		return 0;
	call_sql_digest(d.text, d.len, dialect, backslash, &again);
	if (!again.cut && again.id != d.id)
		abort();
	return 0;
}
