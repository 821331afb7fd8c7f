// SPDX-License-Identifier: GPL-2.0-or-later
/* Statements without their literals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "call/call_sql.h"

static const struct row {
	enum call_sql_dialect dialect;
	const char *sql, *text, *verb, *table;
} rows[] = {
	{ CALL_SQL_POSTGRESQL, "select 1", "select ?", "SELECT", "" },
	{ CALL_SQL_POSTGRESQL, "SELECT a, 'it''s', -1.5e+3, 0xff, $1 FROM s.\"My T\" -- 'x'\n WHERE b=$2;",
	  "SELECT a, ?, -?, ?, ? FROM s.\"My T\" WHERE b=?", "SELECT", "s.My T" },
	{ CALL_SQL_POSTGRESQL, "/* a /* b */ 'c */ insert into t(a,b) values ($$x'$$, E'\\''), ($t$y$t$, N'z'),(1,2) "
	  "RETURNING id", "insert into t(a,b) values (?, ?) RETURNING id", "INSERT", "t" },
	{ CALL_SQL_POSTGRESQL, "delete from only u where id IN (1,2, 3) or x in (-1) or y in (1, f(2))",
	  "delete from only u where id IN (?) or x in (-?) or y in (?, f(?))", "DELETE", "u" },
	{ CALL_SQL_POSTGRESQL, "with q as (select extract(year from ts) from a) update b set c = 1 from q",
	  "with q as (select extract(year from ts) from a) update b set c = ? from q", "UPDATE", "a" },
	{ CALL_SQL_POSTGRESQL, "select * from (select x from inner_t) z", "select * from (select x from inner_t) z",
	  "SELECT", "inner_t" },
	{ CALL_SQL_POSTGRESQL, "select a::text, t1.c2 from t1, t2", "select a::text, t1.c2 from t1, t2", "SELECT",
	  "t1" },
	{ CALL_SQL_POSTGRESQL, "(select 1)", "(select ?)", "SELECT", "" },
	{ CALL_SQL_POSTGRESQL, "create table if not exists x (a int)", "create table if not exists x (a int)",
	  "CREATE", "x" },
	{ CALL_SQL_POSTGRESQL, "select * from t for update", "select * from t for update", "SELECT", "t" },
	{ CALL_SQL_POSTGRESQL, "select 'open string with a secr", "select ?", "SELECT", "" },
	{ CALL_SQL_POSTGRESQL, "select $tag$open secr", "select ?", "SELECT", "" },
	{ CALL_SQL_POSTGRESQL, "select /* open", "select", "SELECT", "" },
	{ CALL_SQL_POSTGRESQL, "", "", "", "" },
	{ CALL_SQL_MYSQL, "INSERT INTO `db`.`t` VALUES (1,\"a\\\"b\",now()),(2,'c',now()) # end",
	  "INSERT INTO `db`.`t` VALUES (?,?,now())", "INSERT", "db.t" },
	{ CALL_SQL_MYSQL, "select 5--1, x'ff', b'01', _utf8'a', @v from t where a = ? and b in (?, ?)",
	  "select ?--?, ?, ?, ?, @v from t where a = ? and b in (?)", "SELECT", "t" },
	{ CALL_SQL_MYSQL, "update low_priority t set a = 1 -- secret", "update low_priority t set a = ?", "UPDATE",
	  "t" },
	{ CALL_SQL_MYSQL, "REPLACE t SELECT replace(a, 'b', 'c') from u", "REPLACE t SELECT replace(a, ?, ?) from u",
	  "REPLACE", "t" },
	{ CALL_SQL_MYSQL, "CALL p(1, 'x')", "CALL p(?, ?)", "CALL", "p" },
	{ CALL_SQL_CQL, "SELECT a FROM k.t WHERE id = f47ac10b-58cc-4372-a567-0e02b2c3d479 AND b = 'it''s' // it's",
	  "SELECT a FROM k.t WHERE id = ? AND b = ?", "SELECT", "k.t" },
	{ CALL_SQL_CQL, "INSERT INTO \"T\" (a, b) VALUES (?, {'x': 1, 'y': 0xff}) USING TTL 5",
	  "INSERT INTO \"T\" (a, b) VALUES (?, {?: ?, ?: ?}) USING TTL ?", "INSERT", "T" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct call_sql d;

		call_sql_digest(rows[i].sql, strlen(rows[i].sql), rows[i].dialect,
				rows[i].dialect == CALL_SQL_MYSQL ? CALL_SQL_BACKSLASH_ESCAPES
								  : CALL_SQL_BACKSLASH_PLAIN, &d);
		d.text[d.len] = '\0';
		assert_string_equal(d.text, rows[i].text);
		assert_string_equal(d.verb, rows[i].verb);
		assert_string_equal(d.table, rows[i].table);
		assert_false(d.cut);
	}
}

static uint64_t id_of(const char *sql)
{
	struct call_sql d;

	call_sql_digest(sql, strlen(sql), CALL_SQL_MYSQL, CALL_SQL_BACKSLASH_ESCAPES, &d);
	return d.id;
}

static void test_id(void **state)
{
	(void)state;
	assert_true(id_of("select a from t where b in (1)") == id_of("SELECT\ta FROM t WHERE b IN ('x','y') ;"));
	assert_true(id_of("insert into t values (1, 2)") == id_of("insert into t values (1, 2), (3, 4)"));
	assert_true(id_of("select a = 1") == id_of("select a=1"));
	assert_true(id_of("select a from t") != id_of("select b from t"));
	assert_true(id_of("select `A`") != id_of("select `a`"));
	assert_true(id_of("select a b") != id_of("select ab"));
}

/* Whether the backslash escapes is unknown: the rest, which may be a string, is left out. */
static void test_ambiguous(void **state)
{
	static const char sql[] = "select 'a\\', 'secret' from t";
	struct call_sql d;

	(void)state;
	call_sql_digest(sql, strlen(sql), CALL_SQL_POSTGRESQL, CALL_SQL_BACKSLASH_UNKNOWN, &d);
	d.text[d.len] = '\0';
	assert_true(d.cut);
	assert_string_equal(d.text, "select");
}

/* A thousand literals leave one; a thousand columns are cut. */
static void test_long(void **state)
{
	static char sql[64000];
	struct call_sql d;
	size_t at;

	(void)state;
	at = (size_t)sprintf(sql, "select a from t where b in (0");
	for (int i = 1; i < 1000; i++)
		at += (size_t)sprintf(sql + at, ", %d", i);
	at += (size_t)sprintf(sql + at, ") and c");
	call_sql_digest(sql, at, CALL_SQL_MYSQL, CALL_SQL_BACKSLASH_ESCAPES, &d);
	d.text[d.len] = '\0';
	assert_string_equal(d.text, "select a from t where b in (?) and c");
	assert_false(d.cut);
	at = (size_t)sprintf(sql, "select a");
	for (int i = 1; i < 1000; i++)
		at += (size_t)sprintf(sql + at, ", a%d", i);
	call_sql_digest(sql, at, CALL_SQL_MYSQL, CALL_SQL_BACKSLASH_ESCAPES, &d);
	assert_true(d.cut);
	assert_in_range(d.len, CALL_TEXT_BYTES - 16, CALL_TEXT_BYTES);
}

/* Passwords stay hidden also where literals are shown. */
static void test_password(void **state)
{
	static const char *const sql[] = { "ALTER ROLE x PASSWORD 'geheim'", "create user y identified by 'geheim'" };
	struct call_pool_conf conf = { .literals = true };
	struct call c = { 0 };
	size_t len;

	(void)state;
	for (int i = 0; i < 2; i++) {
		call_sql_describe(&c, &conf, sql[i], strlen(sql[i]), false, CALL_SQL_MYSQL,
				  CALL_SQL_BACKSLASH_ESCAPES);
		assert_null(memmem(c.bytes.data, c.bytes.len, "geheim", 6));
	}
	call_sql_describe(&c, &conf, "select 'x'", 10, false, CALL_SQL_MYSQL, CALL_SQL_BACKSLASH_ESCAPES);
	assert_memory_equal(call_entry_text(&c, CALL_TEXT_STATEMENT, &len), "select 'x'", 10);
	buf_fini(&c.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_password),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
