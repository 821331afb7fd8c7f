// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lexical rules: PostgreSQL's documentation, 4.1; MySQL's reference manual, "Language Structure"; Cassandra's "Data
 * Manipulation" and "Definitions". A double quote begins a string in MySQL, and an identifier in the others.
 */
#include "call/call_sql.h"

#include <string.h>
#include <strings.h>

#include "base/cursor.h"
#include "base/macros.h"

#define DEPTH_MAX 64	/* of parentheses; deeper ones count as this one */
#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

enum kind { KIND_END, KIND_WORD, KIND_NAME, KIND_LITERAL, KIND_SIGN, KIND_AMBIGUOUS, KIND__MAX };

struct token {
	enum kind kind;
	const char *at;		/* KIND_NAME: with its quotes */
	size_t len;
	bool spaced;		/* blanks or comments before it */
};

struct lexer {
	struct cursor c;
	enum call_sql_dialect dialect;
	enum call_sql_backslash backslash;
};

/* A place of the output to which a list can be folded back. */
struct mark {
	uint64_t id;
	size_t len;
	bool cut;
};

enum expect {	/* of the next word */
	EXPECT_NOTHING,
	EXPECT_VERB,
	EXPECT_TABLE,
	EXPECT_DOT,	/* or the end of the table's name */
	EXPECT__MAX,
};

struct digest {
	struct call_sql *out;
	struct mark now;
	enum expect expect;
	unsigned depth;
	uint64_t verbs;		/* bit n: a verb was seen at depth n, whose FROM names a table */
	bool table_done;
	/* IN (?, ?) */
	bool after_in, in_list;
	struct mark first;	/* behind the first literal */
	/* VALUES (...), (...) */
	bool values;		/* rows may follow */
	unsigned rows_depth;
	uint64_t row, previous;	/* hashes of rows; 0 = none */
	struct mark row_end;
};

/* ---- lexer ---- */

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '@' || c >= 0x80;
}

static void skip_line(struct cursor *c)
{
	while (cur_left(c) && cur_u8(c) != '\n')
		;
}

/* Nested in PostgreSQL. */
static void skip_comment(struct lexer *l)
{
	unsigned depth = 0;

	do {
		uint8_t a = cur_u8(&l->c), b = cur_peek(&l->c, 0);
		bool opens = a == '/' && b == '*', closes = a == '*' && b == '/';

		if (opens || closes)
			cur_skip(&l->c, 1);
		if (opens && (!depth || l->dialect == CALL_SQL_POSTGRESQL))
			depth++;
		else if (closes)
			depth--;
	} while (depth && cur_left(&l->c));
}

/* True if something was skipped. */
static bool skip_blanks(struct lexer *l)
{
	const uint8_t *start = l->c.pos;

	while (cur_left(&l->c)) {
		uint8_t a = cur_peek(&l->c, 0), b = cur_peek(&l->c, 1), d = cur_peek(&l->c, 2);
		bool mysql = l->dialect == CALL_SQL_MYSQL;

		if (is_space(a))
			cur_skip(&l->c, 1);
		else if (a == '-' && b == '-' && (!mysql || is_space(d) || cur_left(&l->c) == 2))
			skip_line(&l->c);
		else if ((a == '#' && mysql) || (a == '/' && b == '/' && l->dialect == CALL_SQL_CQL))
			skip_line(&l->c);
		else if (a == '/' && b == '*')
			skip_comment(l);
		else
			break;
	}
	return l->c.pos != start;
}

/* The cursor is behind the opening quote. False if it cannot be decided where the string ends. */
static bool skip_quoted(struct cursor *c, uint8_t quote, enum call_sql_backslash backslash)
{
	while (cur_left(c)) {
		uint8_t a = cur_u8(c);

		if (a == '\\' && backslash == CALL_SQL_BACKSLASH_ESCAPES) {
			cur_skip(c, MIN((size_t)1, cur_left(c)));
		} else if (a == '\\' && backslash == CALL_SQL_BACKSLASH_UNKNOWN && cur_peek(c, 0) == quote) {
			return false;
		} else if (a == quote) {
			if (cur_peek(c, 0) != quote)
				return true;
			cur_skip(c, 1);
		}
	}
	return true;
}

/* $tag$ ... $tag$; the cursor is at the first dollar. False if it does not begin one. */
static bool skip_dollar_quoted(struct cursor *c)
{
	size_t n = 1;
	const uint8_t *tag = c->pos, *end;

	if (is_digit(cur_peek(c, 1)))
		return false;
	while (is_word(cur_peek(c, n)))
		n++;
	if (cur_peek(c, n++) != '$') {
		/* Cut within the tag: all that follows is hidden anyway. */
		return n > cur_left(c) ? cur_bytes(c, cur_left(c)) != NULL : false;
	}
	cur_skip(c, n);
	end = memmem(c->pos, cur_left(c), tag, n);
	cur_skip(c, end ? (size_t)(end - c->pos) + n : cur_left(c));
	return true;
}

static void skip_number(struct cursor *c)
{
	uint8_t a = 0;

	while (is_word(cur_peek(c, 0)) || cur_peek(c, 0) == '.' ||
	       ((a == 'e' || a == 'E') && (cur_peek(c, 0) == '-' || cur_peek(c, 0) == '+')))
		a = cur_u8(c);
}

/* A prefix of strings: x'ff', b'01', n'..', e'..', u&'..', _utf8'..'. Returns its length, 0 = none. */
static size_t string_prefix(const struct lexer *l)
{
	uint8_t a = cur_peek(&l->c, 0) | 0x20;
	size_t n = 0;

	if (l->dialect == CALL_SQL_CQL)
		return 0;
	if (strchr("xbne", a) && cur_peek(&l->c, 1) == '\'')
		return 1;
	if (a == 'u' && cur_peek(&l->c, 1) == '&' && cur_peek(&l->c, 2) == '\'')
		return 2;
	while (l->dialect == CALL_SQL_MYSQL && cur_peek(&l->c, 0) == '_' && is_word(cur_peek(&l->c, n)))
		n++;
	return n && cur_peek(&l->c, n) == '\'' ? n : 0;
}

static bool is_hex(uint8_t c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* f47ac10b-58cc-4372-a567-0e02b2c3d479: a literal without quotes. */
static bool is_uuid(const struct cursor *c)
{
	for (size_t i = 0; i < 36; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? cur_peek(c, i) != '-' : !is_hex(cur_peek(c, i)))
			return false;
	return !is_word(cur_peek(c, 36));
}

static enum kind take_string(struct lexer *l, size_t prefix)
{
	bool escapes = prefix == 1 && (cur_peek(&l->c, 0) | 0x20) == 'e';
	uint8_t quote;

	cur_skip(&l->c, prefix);
	quote = cur_u8(&l->c);
	return skip_quoted(&l->c, quote, escapes ? CALL_SQL_BACKSLASH_ESCAPES : l->backslash) ? KIND_LITERAL
											      : KIND_AMBIGUOUS;
}

static enum kind take_token(struct lexer *l)
{
	uint8_t a = cur_peek(&l->c, 0), b = cur_peek(&l->c, 1);
	bool mysql = l->dialect == CALL_SQL_MYSQL;
	size_t prefix = string_prefix(l);

	if (a == '\'' || (a == '"' && mysql) || prefix)
		return take_string(l, prefix);
	if (a == '"' || (a == '`' && mysql)) {
		cur_skip(&l->c, 1);
		skip_quoted(&l->c, a, CALL_SQL_BACKSLASH_PLAIN);
		return KIND_NAME;
	}
	if (a == '$' && !mysql && skip_dollar_quoted(&l->c))
		return KIND_LITERAL;
	if (l->dialect == CALL_SQL_CQL && is_uuid(&l->c)) {
		cur_skip(&l->c, 36);
		return KIND_LITERAL;
	}
	if (is_digit(a) || ((a == '$' || a == '.') && is_digit(b))) {
		cur_skip(&l->c, 1);
		skip_number(&l->c);
		return KIND_LITERAL;
	}
	if (!is_word(a)) {
		cur_skip(&l->c, 1);
		return a == '?' && l->dialect != CALL_SQL_POSTGRESQL ? KIND_LITERAL : KIND_SIGN;
	}
	while (is_word(cur_peek(&l->c, 0)) || (cur_peek(&l->c, 0) == '$' && cur_left(&l->c)))
		cur_skip(&l->c, 1);
	return KIND_WORD;
}

static struct token next_token(struct lexer *l)
{
	struct token t = { .spaced = skip_blanks(l) };

	t.at = (const char *)l->c.pos;
	t.kind = cur_left(&l->c) ? take_token(l) : KIND_END;
	t.len = (size_t)((const char *)l->c.pos - t.at);
	return t;
}

/* ---- digest ---- */

static bool is(const struct token *t, const char *word)
{
	return t->kind == KIND_WORD && t->len == strlen(word) && strncasecmp(t->at, word, t->len) == 0;
}

static bool is_any(const struct token *t, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is(t, words[i]))
			return true;
	return false;
}

static bool is_sign(const struct token *t, char sign)
{
	return t->kind == KIND_SIGN && t->at[0] == sign;
}

static uint64_t mix(uint64_t h, const char *at, size_t len, bool fold)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)at[i];

		h = (h ^ (fold && c >= 'A' && c <= 'Z' ? c | 0x20 : c)) * FNV_PRIME;
	}
	return (h ^ 0xff) * FNV_PRIME;	/* the end of a token */
}

static void emit(struct digest *d, const struct token *t)
{
	bool literal = t->kind == KIND_LITERAL;
	const char *at = literal ? "?" : t->at;
	size_t len = literal ? 1 : t->len, space = t->spaced && d->now.len;

	d->now.id = mix(d->now.id, at, len, t->kind == KIND_WORD);
	if (d->row)
		d->row = mix(d->row, at, len, t->kind == KIND_WORD) | 1;
	d->now.cut |= d->now.len + space + len > sizeof(d->out->text);
	if (d->now.cut)
		return;
	if (space)
		d->out->text[d->now.len++] = ' ';
	memcpy(d->out->text + d->now.len, at, len);
	d->now.len += len;
}

/* "IN (?, ?, ?)" as "IN (?)": true if the token was dealt with. */
static bool fold_in_list(struct digest *d, const struct token *t)
{
	if (d->in_list && is_sign(t, ')')) {
		if (d->first.id)
			d->now = d->first;
		d->in_list = false;
	} else if (d->in_list && t->kind == KIND_LITERAL && !d->first.id) {
		emit(d, t);
		d->first = d->now;
		return true;
	} else if (d->in_list && t->kind != KIND_LITERAL && !is_sign(t, ',') && !is_sign(t, '-')) {
		d->in_list = false;
	}
	if (d->after_in && is_sign(t, '(')) {
		d->in_list = true;
		d->first = (struct mark){ 0 };
	}
	d->after_in = is(t, "in");
	return false;
}

/* "VALUES (?, now()), (?, now())" as its first row. Called behind the token. */
static void fold_rows(struct digest *d, const struct token *t)
{
	if (is(t, "values")) {
		d->values = true;
		d->rows_depth = d->depth;
		d->row = d->previous = 0;
	} else if (!d->values) {
		return;
	} else if (is_sign(t, '(') && d->depth == d->rows_depth + 1) {
		d->row = FNV_START | 1;
	} else if (d->row && is_sign(t, ')') && d->depth == d->rows_depth) {
		if (d->row == d->previous)
			d->now = d->row_end;
		d->previous = d->row;
		d->row = 0;
		d->row_end = d->now;
	} else if (d->depth == d->rows_depth && !is_sign(t, ',')) {
		d->values = false;
	}
}

static void copy_upper(char *to, size_t cap, const struct token *t)
{
	size_t n = MIN(t->len, cap - 1);

	for (size_t i = 0; i < n; i++)
		to[i] = (char)(t->at[i] >= 'a' && t->at[i] <= 'z' ? t->at[i] - 0x20 : t->at[i]);
	to[n] = '\0';
}

/* A part of the table's name, without quotes. */
static void add_table(struct digest *d, const struct token *t)
{
	struct call_sql *out = d->out;
	size_t old = strlen(out->table), quotes = t->kind == KIND_NAME, len = t->len - quotes;
	size_t n;

	if (quotes && len && t->at[len] == t->at[0])
		len--;
	n = MIN(len, sizeof(out->table) - 1 - old);
	if (n < len)
		out->cut = true;
	memcpy(out->table + old, t->at + quotes, n);
	out->table[old + n] = '\0';
}

/* Words between a verb and the name of a table. */
static bool is_filler(const struct token *t)
{
	static const char *const words[] = {
		"only", "lateral", "table", "tables", "if", "not", "exists", "into", "from", "temporary", "temp",
		"unlogged", "low_priority", "ignore", "quick", "delayed", "high_priority", "concurrently",
		"partition",
	};

	return is_any(t, words, ARRAY_SIZE(words));
}

static bool is_verb(const struct token *t)
{
	static const char *const words[] = { "select", "insert", "update", "delete", "replace", "merge" };

	return is_any(t, words, ARRAY_SIZE(words));
}

/* The table follows the word: "UPDATE t", "INSERT INTO t", "... TABLE t", "COPY t". */
static bool leads_to_table(const struct digest *d, const struct token *t)
{
	static const char *const words[] = { "into", "table", "copy", "truncate", "call", "desc", "describe" };

	if (is(t, "from"))
		return d->verbs & 1ull << MIN(d->depth, DEPTH_MAX - 1u);
	return is_any(t, words, ARRAY_SIZE(words)) ||
	       (is(t, "update") && strcmp(d->out->verb, "UPDATE") == 0) || is(t, "insert") || is(t, "replace");
}

static void find_verb(struct digest *d, const struct token *t)
{
	bool main = is_verb(t);

	if (t->kind != KIND_WORD)
		return;
	if (main)
		d->verbs |= 1ull << MIN(d->depth, DEPTH_MAX - 1u);
	if (d->expect == EXPECT_VERB || (main && !d->depth && strcmp(d->out->verb, "WITH") == 0)) {
		copy_upper(d->out->verb, sizeof(d->out->verb), t);
		d->expect = EXPECT_NOTHING;
	}
}

static void find_table(struct digest *d, const struct token *t)
{
	bool name = t->kind == KIND_WORD || t->kind == KIND_NAME;

	if (d->table_done)
		return;
	if (d->expect == EXPECT_DOT) {
		d->table_done = !is_sign(t, '.');
		d->expect = EXPECT_TABLE;
		if (is_sign(t, '.'))
			add_table(d, t);
	} else if (d->expect == EXPECT_TABLE && name && !is_filler(t) && !is(t, "select")) {
		add_table(d, t);
		d->expect = EXPECT_DOT;
	} else if (leads_to_table(d, t)) {
		d->expect = EXPECT_TABLE;
	} else if (d->expect == EXPECT_TABLE && !is_filler(t)) {
		d->expect = EXPECT_NOTHING;
	}
}

static void take(struct digest *d, const struct token *t)
{
	if (is_sign(t, '('))
		d->depth++;
	if (is_sign(t, ')') && d->depth) {
		d->verbs &= ~(1ull << MIN(d->depth, DEPTH_MAX - 1u));
		d->depth--;
	}
	if (!fold_in_list(d, t))
		emit(d, t);
	fold_rows(d, t);
	find_verb(d, t);
	find_table(d, t);
	d->out->secret |= is(t, "password") || is(t, "identified");
}

void call_sql_digest(const void *sql, size_t len, enum call_sql_dialect dialect, enum call_sql_backslash backslash,
		     struct call_sql *ret)
{
	struct lexer l = { .c = cur_init(len ? sql : "", len), .dialect = dialect, .backslash = backslash };
	struct digest d = { .out = ret, .now = { .id = FNV_START }, .expect = EXPECT_VERB };
	struct token t, end = { .kind = KIND_END };

	ret->verb[0] = ret->table[0] = '\0';
	ret->cut = ret->secret = false;
	for (t = next_token(&l); t.kind != KIND_END && t.kind != KIND_AMBIGUOUS; t = next_token(&l)) {
		if (is_sign(&t, ';')) {	/* at the end: the same statement without it */
			end = t;
			continue;
		}
		if (end.kind != KIND_END && d.now.len)
			take(&d, &end);
		end.kind = KIND_END;
		take(&d, &t);
	}
	ret->cut |= d.now.cut || t.kind == KIND_AMBIGUOUS;
	ret->id = d.now.id ? d.now.id : 1;
	ret->len = d.now.len;
}

void call_sql_describe(struct call *c, const struct call_pool_conf *conf, const void *sql, size_t len, bool cut,
		       enum call_sql_dialect dialect, enum call_sql_backslash backslash)
{
	struct call_sql d;
	bool whole = conf->literals;

	call_sql_digest(sql, len, dialect, backslash, &d);
	whole = whole && !d.secret;
	call_entry_set_str(c, CALL_TEXT_OPERATION, d.verb);
	call_entry_set_str(c, CALL_TEXT_RESOURCE, d.table);
	call_entry_set(c, CALL_TEXT_STATEMENT, whole ? sql : d.text, whole ? len : d.len);
	c->statement_id = d.id;
	if (cut || d.cut)
		c->incomplete |= CALL_INCOMPLETE_CUT;
}
