// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests of the page, who may make them, frames of columns, trees, escaping: without a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/json.h"
#include "ui/answers/ui_columns.h"
#include "ui/answers/ui_scan.h"
#include "ui/answers/ui_tree.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/ui_walls.h"
#include "view/view.h"
#include "view/view_history.h"
#include "view/view_rows.h"

/* ---- a recording that is being read ---- */

static void expect_head(const struct ui_memory *m, const char *end)
{
	const struct ui_scan s = { .m = m };
	struct buf b = { 0 };
	struct json j = { .out = &b };

	json_open(&j, '{');
	ui_scan_head(&s, &j);
	json_close(&j, '}');
	assert_string_equal(buf_str(&b) + b.len - strlen(end), end);
	buf_fini(&b);
}

static void test_an_answer_says_how_much_was_read(void **state)
{
	struct ui_memory m;

	(void)state;
	assert_int_equal(ui_memory_init(&m, 1 << 20), 0);
	expect_head(&m, "\"lost\":0}");
	m.reading = true;
	expect_head(&m, "\"lost\":0,\"reading\":true}");
	m.read_permille = 42;
	expect_head(&m, "\"reading\":true,\"read\":0.042}");
	m.read_permille = 1000;
	expect_head(&m, "\"read\":1.000}");
	ui_memory_fini(&m);
}

/* ---- the past ---- */

#define S 1000000000ull

static void take_call(struct ui_memory *m, uint64_t ts_ns)
{
	struct body { char name[8]; } b = { "read" };
	static const struct field fields[] = { FIELD_ROW(struct body, name, "syscall.name", FIELD_STR, "") };
	static const struct event_desc call = {
		.name = "sys.exit", .class = EVENT_DATA, .fields = fields, .n_fields = 1, .body_size = sizeof(b),
	};
	const struct event ev = { .desc = &call, .ts_ns = ts_ns, .body = &b, .body_len = sizeof(b) };

	assert_int_equal(ui_memory_take(m, &ev), 0);
}

static uint64_t calls_of(const struct ui_memory *m, uint64_t second)
{
	const struct ui_past *p = ui_memory_past(m, view_find("syscalls"));
	struct view_rows rows = { 0 };
	uint64_t n;

	assert_int_equal(view_history_rows(p->history, second * S, (second + 1) * S, &rows), 0);
	n = rows.len ? rows.items[0].events : 0;
	view_rows_fini(&rows);
	return n;
}

/* A page that got no CPU time reads events of seconds that are over: they count there. */
static void test_late_events_stay_in_their_second(void **state)
{
	struct ui_memory m;

	(void)state;
	assert_int_equal(ui_memory_init(&m, 1 << 20), 0);
	assert_int_equal(ui_memory_keep_past(&m), 0);
	take_call(&m, 10 * S);
	assert_int_equal(ui_memory_until(&m, 13 * S), 0);
	assert_int_equal(ui_memory_until(&m, 14 * S), 0);
	take_call(&m, 10 * S + S / 2);
	assert_int_equal(ui_memory_until(&m, 15 * S), 0);
	assert_int_equal(calls_of(&m, 10), 0);	/* it goes on */
	take_call(&m, 11 * S);
	assert_int_equal(calls_of(&m, 10), 2);
	for (uint64_t now = 16; now < 19; now++)
		assert_int_equal(ui_memory_until(&m, now * S), 0);
	assert_int_equal(calls_of(&m, 11), 1);	/* idle: the clock ends it */
	ui_memory_fini(&m);
}

/* ---- queries ---- */

static int parse(const char *target, struct ui_query *q)
{
	struct err err = { 0 };
	int r = ui_query_parse(target, q, &err);

	assert_true(r >= 0 || (err.code == r && *err.msg));
	return r;
}

static int result_of(const char *target)
{
	struct ui_query q;
	int r = parse(target, &q);

	ui_query_fini(&q);
	return r;
}

static void test_a_query_has_its_parameters(void **state)
{
	struct ui_query q;

	(void)state;
	assert_int_equal(parse("/view/processes?q=proc.name%3D%22a%20b%22+and+x&from=12&to=now&top=7&reverse=1", &q),
			 0);
	assert_int_equal(q.path, UI_VIEW);
	assert_string_equal(q.name, "processes");
	assert_string_equal(q.q, "proc.name=\"a b\" and x");
	assert_int_equal(q.from.kind, UI_TIME_AT);
	assert_int_equal(q.from.ns, 12);
	assert_int_equal(q.to.kind, UI_TIME_BACK);
	assert_int_equal(q.to.ns, 0);
	assert_int_equal(q.top, 7);
	assert_true(q.reverse);
	assert_null(q.series);
	ui_query_fini(&q);

	assert_int_equal(parse("/flame?mode=off&by=operation&against=-60s..-500ms", &q), 0);
	assert_int_equal(q.mode, UI_MODE_OFF);
	assert_int_equal(q.by, UI_BY_OPERATION);
	assert_true(q.against.on);
	assert_int_equal(q.against.from.ns, 60000000000);
	assert_int_equal(q.against.to.ns, 500000000);
	ui_query_fini(&q);

	assert_int_equal(parse("/live?sub=%2Fview%2Fcalls%3Fq%3Da%26top%3D1&sub=%2Fmeta", &q), 0);
	assert_int_equal(q.n_subs, 2);
	assert_string_equal(q.subs[0], "/view/calls?q=a&top=1");
	assert_string_equal(q.subs[1], "/meta");
	ui_query_fini(&q);

	assert_int_equal(parse("/live", &q), 0);	/* heartbeats alone */
	assert_int_equal(q.n_subs, 0);
	ui_query_fini(&q);

	assert_int_equal(parse("/event/18446744073709551615", &q), 0);
	assert_true(q.seq == UINT64_MAX);
	ui_query_fini(&q);
}

static void test_bad_queries_are_refused(void **state)
{
	static const char *const missing[] = { "", "/", "meta", "/meta/", "/view", "/view/", "/view/A", "/view/../x",
					       "/event/x", "/event/18446744073709551616", "/x?q=1", "//meta" };
	static const char *const wrong[] = {
		"/meta?q=1", "/view/x?top=0", "/view/x?top=1001", "/view/x?top=", "/view/x?top=-1",
		"/view/x?top=1&top=1",
		"/view/x?from=18446744073709551615", "/view/x?from=-x", "/view/x?from=", "/view/x?q",
		"/view/x?=1",
		"/view/x?q=%", "/view/x?q=%4", "/view/x?q=%zz", "/view/x?q=%00", "/view/x?reverse=2", "/check",
		"/trace",
		"/tracks", "/tracks?pid=4294967296", "/flame?mode=", "/flame?against=1", "/flame?against=1..x",
		"/events?after=1&before=1", "/events?limit=10001", "/events?after=18446744073709551615",
		"/live?sub=1&sub=2&sub=3&sub=4&sub=5&sub=6&sub=7&sub=8&sub=9",
	};
	char longer[UI_QUERY_BYTES + 20] = "/events?q=";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		assert_int_equal(result_of(missing[i]), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(result_of(wrong[i]), -EINVAL);
	memset(longer + 10, 'x', sizeof(longer) - 11);
	assert_int_equal(result_of(longer), -E2BIG);
	longer[UI_QUERY_BYTES] = '\0';
	assert_int_equal(result_of(longer), 0);
}

/* ---- walls ---- */

static struct ui_walls walls;

static unsigned check(struct ui_request r)
{
	const char *why = NULL;
	unsigned status = ui_walls_check(&walls, &r, &why);

	assert_true(!status || (why && *why));
	return status;
}

static void test_an_address_has_the_token(void **state)
{
	static const struct { const char *address, *want; } rows[] = {
		{ "127.0.0.1:9778", "http://127.0.0.1:9778/#t=xyz" }, { "9778", "http://127.0.0.1:9778/#t=xyz" },
		{ "[::1]:9778", "http://[::1]:9778/#t=xyz" },
		{ "unix:/run/ui.sock", "/run/ui.sock (http://localhost/#t=xyz)" },
		{ "/run/ui.sock", "/run/ui.sock (http://localhost/#t=xyz)" },
	};
	const struct ui_token token = { "xyz" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf b = { 0 };

		ui_walls_address(rows[i].address, &token, &b);
		assert_string_equal(buf_str(&b), rows[i].want);
		buf_fini(&b);
	}
}

static void test_tokens_are_random_and_compared_whole(void **state)
{
	struct ui_token other;
	char text[80];
	struct ui_request r = { .method = "GET", .path = "/api/v1/meta", .host = "localhost", .authorization = text };

	(void)state;
	assert_int_equal(ui_walls_token(&walls.token, NULL), 0);
	assert_int_equal(ui_walls_token(&other, NULL), 0);
	assert_int_equal(strlen(walls.token.text), UI_TOKEN_TEXT);
	assert_string_not_equal(walls.token.text, other.text);
	snprintf(text, sizeof(text), "Bearer %s", walls.token.text);
	assert_int_equal(check(r), 0);
	for (size_t i = 7; i < 7 + UI_TOKEN_TEXT; i++) {
		text[i] ^= 1;
		assert_int_equal(check(r), 401);
		text[i] ^= 1;
	}
	strcat(text, "A");
	assert_int_equal(check(r), 401);
	text[7 + UI_TOKEN_TEXT - 1] = '\0';
	assert_int_equal(check(r), 401);
	strcpy(text, "Bearer ");
	assert_int_equal(check(r), 401);
	r.authorization = NULL;
	assert_int_equal(check(r), 401);
	r.path = "/apis";	/* the page needs none */
	assert_int_equal(check(r), 0);
	r.path = "/api";
	assert_int_equal(check(r), 401);
}

static void test_hosts_and_origins(void **state)
{
	static const struct { const char *host, *origin, *site; unsigned status; } rows[] = {
		{ "localhost", NULL, NULL, 0 }, { "LocalHost:1", NULL, NULL, 0 },
		{ "127.0.0.1:65535", NULL, NULL, 0 },
		{ "[::1]", NULL, NULL, 0 }, { "[::1]:80", NULL, NULL, 0 }, { NULL, NULL, NULL, 421 },
		{ "", NULL, NULL, 421 }, { "localhost.", NULL, NULL, 421 }, { "localhost:", NULL, NULL, 421 },
		{ "localhost:1x", NULL, NULL, 421 }, { "localhost:123456", NULL, NULL, 421 },
		{ "127.0.0.1.evil", NULL, NULL, 421 }, { "127.0.0.2", NULL, NULL, 421 }, { "::1", NULL, NULL, 421 },
		{ "[::1", NULL, NULL, 421 }, { "[::1]x", NULL, NULL, 421 }, { "127.0.0.1@evil", NULL, NULL, 421 },
		{ "proxy.example", NULL, NULL, 0 }, { "Proxy.Example:443", NULL, NULL, 0 },
		{ "proxy.example.evil", NULL, NULL, 421 }, { "proxy.exampl", NULL, NULL, 421 },
		{ "localhost:8", "http://localhost:8", NULL, 0 },
		{ "localhost:8", "http://localhost:9", NULL, 403 },
		{ "localhost:8", "http://127.0.0.1:8", NULL, 403 },
		{ "localhost:8", "https://localhost:8", NULL, 403 },
		{ "localhost:8", "null", NULL, 403 }, { "localhost:8", "", NULL, 403 },
		{ "localhost:8", "http://localhost:8/", NULL, 403 },
		{ "proxy.example", "https://proxy.example", NULL, 0 },
		{ "proxy.example", "http://proxy.example", NULL, 403 },
		{ "localhost", NULL, "same-origin", 0 }, { "localhost", NULL, "none", 0 },
		{ "localhost", NULL, "same-site", 403 }, { "localhost", NULL, "cross-site", 403 },
		{ "localhost", NULL, "", 403 },
	};

	(void)state;
	walls.host = "proxy.example";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(check((struct ui_request){ .method = "GET", .path = "/", .host = rows[i].host,
							    .origin = rows[i].origin, .fetch_site = rows[i].site }),
				 rows[i].status);
	walls.host = NULL;
	assert_int_equal(check((struct ui_request){ .method = "GET", .path = "/", .host = "proxy.example" }), 421);
	assert_int_equal(check((struct ui_request){ .method = "POST", .path = "/", .host = "localhost" }), 405);
	assert_int_equal(check((struct ui_request){ .method = "get", .path = "/", .host = "localhost" }), 405);
	assert_int_equal(check((struct ui_request){ .method = "GET", .path = "/", .host = "localhost", .hosts = 2 }),
			 400);
	assert_int_equal(check((struct ui_request){ .method = "GET", .path = "/", .host = "localhost",
						    .header_bytes = UI_WALLS_HEADERS + 1 }), 431);
}

/* ---- columns ---- */

static uint32_t u32_at(const struct buf *b, size_t at)
{
	uint32_t v;

	assert_true(at + sizeof(v) <= b->len);
	memcpy(&v, b->data + at, sizeof(v));
	return v;
}

static uint64_t u64_at(const struct buf *b, size_t at)
{
	return u32_at(b, at) | (uint64_t)u32_at(b, at + 4) << 32;
}

static void add(struct ui_columns *c, uint64_t ns, uint64_t seq, const char *text)
{
	const struct ui_columns_row row = {
		.ns = ns, .seq = seq, .type = "sys.exit", .type_len = 8, .process = "", .host = "", .text = text,
		.text_len = strlen(text), .pid = 7, .tid = 8, .cpu = 1,
	};

	assert_int_equal(ui_columns_add(c, &row), 0);
}

static void test_frames_end_before_their_numbers_do(void **state)
{
	struct buf out = { 0 };
	struct ui_columns c;
	size_t at = 0;

	(void)state;
	ui_columns_init(&c, &out);
	c.n = 9;
	add(&c, 1000, 1, "one");
	add(&c, 1000ull + UINT32_MAX, 2, "two");
	add(&c, 1001ull + UINT32_MAX, 3, "far");	/* its distance needs 33 bits */
	add(&c, 5, 4, "before");
	assert_int_equal(ui_columns_end(&c), 0);
	assert_int_equal(u32_at(&out, 4), 2);
	assert_int_equal(u64_at(&out, 8), 1000);
	assert_int_equal(u64_at(&out, 24), 9);
	for (unsigned n = 0; n < 3; n++, at += u32_at(&out, at)) {
		assert_int_equal(u32_at(&out, at) % 8, 0);
		assert_true(at + u32_at(&out, at) <= out.len);
		assert_int_equal(u32_at(&out, at + 32), 9);
		assert_int_equal(u32_at(&out, at + 36), n ? 0 : 11);	/* names of columns, a type, an empty name */
	}
	assert_int_equal(at, out.len);
	ui_columns_fini(&c);
	buf_fini(&out);
}

static void test_many_rows_are_many_frames(void **state)
{
	struct buf out = { 0 };
	struct ui_columns c;
	uint64_t rows = 0, frames = 0;

	(void)state;
	ui_columns_init(&c, &out);
	for (uint64_t i = 0; i < 10000; i++)
		add(&c, i, i, "text");
	assert_int_equal(ui_columns_end(&c), 0);
	for (size_t at = 0; at < out.len; at += u32_at(&out, at)) {
		rows += u32_at(&out, at + 4);
		frames++;
	}
	assert_int_equal(rows, 10000);
	assert_int_equal(frames, 3);
	ui_columns_fini(&c);
	buf_reset(&out);
	ui_columns_init(&c, &out);
	assert_int_equal(ui_columns_end(&c), 0);	/* without a row: a frame with the head */
	assert_int_equal(u32_at(&out, 4), 0);
	assert_int_equal(u32_at(&out, 0), out.len);
	ui_columns_fini(&c);
	buf_fini(&out);
}

/* ---- trees ---- */

static void stack(struct ui_tree *t, enum ui_tree_side side, uint64_t weight, const char *frames)
{
	struct ui_tree_frame list[8];
	char text[32];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", frames);
	for (char *at = strtok(text, ";"); at; at = strtok(NULL, ";"))
		list[n++] = (struct ui_tree_frame){ .name = at, .part = 1 };
	assert_int_equal(ui_tree_add(t, list, n, side, weight), 0);
}

static void test_a_tree_is_laid_out(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct ui_tree t;

	(void)state;
	assert_int_equal(ui_tree_init(&t), 0);
	stack(&t, UI_TREE_NOW, 4, "b;a");
	stack(&t, UI_TREE_NOW, 2, "a;a");	/* recursion counts once */
	stack(&t, UI_TREE_NOW, 3, "b");
	stack(&t, UI_TREE_OLD, 5, "c");
	assert_int_equal(ui_tree_write(&t, 1000, true, &j), 0);
	assert_string_equal(buf_str(&out),
		"\"total\":9,\"total_old\":5,\"trimmed\":{\"frames\":0,\"value\":0},"
		"\"names\":[\"all\",\"b\",\"a\",\"c\"],"
		"\"frames\":[[0,0,0,9,0,0,5],[2,1,0,2,0,1,0],[1,1,2,7,3,1,0],[3,1,9,0,0,1,5],[2,2,0,2,2,1,0],"
		"[2,2,2,4,4,1,0]],\"functions\":[{\"name\":\"a\",\"self\":6,\"total\":6},"
		"{\"name\":\"b\",\"self\":3,\"total\":7}]");
	ui_tree_fini(&t);
	buf_fini(&out);
}

static void test_narrow_frames_are_left_out(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct ui_tree t;

	(void)state;
	assert_int_equal(ui_tree_init(&t), 0);
	stack(&t, UI_TREE_NOW, 9990, "wide;deep");
	stack(&t, UI_TREE_NOW, 10, "thin;deep");
	assert_int_equal(ui_tree_write(&t, 100, false, &j), 0);	/* half a pixel: 50 */
	assert_non_null(strstr(buf_str(&out), "\"trimmed\":{\"frames\":1,\"value\":10}"));
	assert_non_null(strstr(buf_str(&out),
			       "\"frames\":[[0,0,0,10000,0,0],[1,1,10,9990,0,1],[2,2,10,9990,9990,1]]"));
	ui_tree_fini(&t);
	buf_fini(&out);
}

/* ---- texts ---- */

static void test_texts_are_harmless(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct ui_answer a = { 0 };

	(void)state;
	ui_answer_put_text(&j, "k", "a\x1b[1m\xe2\x80\xae\"\\\n<b>");
	assert_string_equal(buf_str(&out), "\"k\":\"a\\\\e[1m\\\\xe2\\\\x80\\\\xae\\\"\\\\\\\\\\\\n<b>\"");
	buf_reset(&out);
	buf_add_str(&out, "{\"\xe2\x80\xae\":\"x\xd8\x9cy\xe2\x81\xa6\xe2\x82\xac\"}");
	assert_int_equal(ui_answer_plain(&out, 0), 0);
	assert_string_equal(buf_str(&out), "{\"\\\\xe2\\\\x80\\\\xae\":"
					   "\"x\\\\xd8\\\\x9cy\\\\xe2\\\\x81\\\\xa6\xe2\x82\xac\"}");
	ui_answer_fail(&a, -EINVAL, &(struct err){ .code = -EINVAL, .msg = "no \"x\"\na=1 or x\n       ^" },
		       "a=1 or x");
	assert_int_equal(a.status, 400);
	assert_string_equal(buf_str(&a.body), "{\"error\":\"no \\\"x\\\"\",\"offset\":7}");
	ui_answer_fini(&a);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_says_how_much_was_read),
		cmocka_unit_test(test_late_events_stay_in_their_second),
		cmocka_unit_test(test_a_query_has_its_parameters),
		cmocka_unit_test(test_bad_queries_are_refused),
		cmocka_unit_test(test_an_address_has_the_token),
		cmocka_unit_test(test_tokens_are_random_and_compared_whole),
		cmocka_unit_test(test_hosts_and_origins),
		cmocka_unit_test(test_frames_end_before_their_numbers_do),
		cmocka_unit_test(test_many_rows_are_many_frames),
		cmocka_unit_test(test_a_tree_is_laid_out),
		cmocka_unit_test(test_narrow_frames_are_left_out),
		cmocka_unit_test(test_texts_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
