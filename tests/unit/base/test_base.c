// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/crc32.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/library/library.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"

static void check_escape(const char *in, size_t len, const char *want)
{
	char out[256];

	str_escape(out, sizeof(out), in, len);
	assert_string_equal(out, want);
}

static void escape_passes_text_and_stops_control_bytes(void **state)
{
	(void)state;
	check_escape("nginx: w\xc3\xb6rker", 14, "nginx: w\xc3\xb6rker");
	check_escape("a\nb\tc\x1b[31m", 10, "a\\nb\\tc\\e[31m");
	check_escape("\x00\x01\x7f", 3, "\\x00\\x01\\x7f");
	check_escape("\xff\xc3", 2, "\\xff\\xc3");
	check_escape("\xc0\xaf", 2, "\\xc0\\xaf");			/* overlong */
	check_escape("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");		/* surrogate */
	check_escape("\xe2\x80\xae", 3, "\\xe2\\x80\\xae");		/* right-to-left override */
	check_escape("\xc2\x9b", 2, "\\xc2\\x9b");			/* C1: CSI */
	check_escape("\\", 1, "\\\\");
}

/* An empty string may come without an address. */
static void escape_takes_nothing(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(str_escape_buf(&b, NULL, 0), 0);
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

/* Every byte in every position of a short string: no control sequence comes out. */
static void escape_never_lets_a_control_byte_through(void **state)
{
	(void)state;
	for (int pos = 0; pos < 4; pos++) {
		for (int byte = 0; byte < 256; byte++) {
			char in[4] = { 'a', 'a', 'a', 'a' }, out[64];
			size_t n;

			in[pos] = (char)byte;
			n = str_escape(out, sizeof(out), in, sizeof(in));
			for (size_t i = 0; i < n; i++)
				assert_true((unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
		}
	}
}

static void escape_cuts_at_a_character(void **state)
{
	char out[4];

	(void)state;
	assert_int_equal(str_escape(out, sizeof(out), "ab\xc3\xb6", 4), 2);
	assert_string_equal(out, "ab");
	assert_int_equal(str_escape(out, sizeof(out), "ab\n", 3), 2);
}

static void numbers_are_strict(void **state)
{
	uint64_t v = 7;
	uint32_t w;

	(void)state;
	assert_int_equal(str_to_u64("18446744073709551615", 10, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(str_to_u64("18446744073709551616", 10, &v), -ERANGE);
	assert_int_equal(str_to_u64(" 1", 10, &v), -EINVAL);
	assert_int_equal(str_to_u64("-1", 10, &v), -EINVAL);
	assert_int_equal(str_to_u64("1x", 10, &v), -EINVAL);
	assert_int_equal(str_to_u64("", 10, &v), -EINVAL);
	assert_int_equal(str_to_u64("0x10", 0, &v), 0);
	assert_int_equal(v, 16);
	assert_int_equal(str_to_u32("4294967296", 10, &w), -ERANGE);
	assert_int_equal(str_to_duration_ns("1.5s", &v), 0);
	assert_int_equal(v, 1500000000);
	assert_int_equal(str_to_duration_ns("10ms", &v), 0);
	assert_int_equal(v, 10000000);
	assert_int_equal(str_to_duration_ns("10parsec", &v), -EINVAL);
	assert_int_equal(str_to_bytes("8M", &v), 0);
	assert_int_equal(v, 8 << 20);
	assert_int_equal(str_to_bytes("8MB", &v), -EINVAL);
	assert_int_equal(str_to_bytes("99999999999G", &v), -ERANGE);
}

static void cursor_goes_bad_once_and_stays_bad(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7 };
	struct cursor c = cur_init(bytes, sizeof(bytes)), sub;

	(void)state;
	assert_int_equal(cur_u16be(&c), 0x0102);
	assert_int_equal(cur_u32(&c), 0x06050403);
	assert_int_equal(cur_peek(&c, 0), 7);
	assert_int_equal(cur_u16(&c), 0);
	assert_false(cur_ok(&c));
	assert_int_equal(cur_u8(&c), 0);
	assert_int_equal(cur_left(&c), 0);
	c = cur_init(bytes, sizeof(bytes));
	sub = cur_sub(&c, 3);
	assert_int_equal(cur_left(&sub), 3);
	assert_int_equal(cur_left(&c), 4);
	sub = cur_sub(&c, 5);
	assert_false(cur_ok(&sub));
	assert_false(cur_ok(&c));
}

static void buffer_grows_and_prints(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_printf(&b, "%d,", i), 0);
	assert_int_equal(b.len, 3890);
	buf_consume(&b, 3886);
	assert_string_equal(buf_str(&b), "999,");
	buf_align(&b, 8);
	assert_int_equal(b.len, 8);
	buf_reset(&b);
	buf_add_u64(&b, UINT64_MAX);
	assert_string_equal(buf_str(&b), "18446744073709551615");
	buf_fini(&b);
	assert_int_equal(buf_add(&b, NULL, 0), 0);	/* nothing, to nowhere */
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

/* Against a plain array as the model, with many removals: probe chains must stay whole. */
static void map_agrees_with_a_model(void **state)
{
	enum { KEYS = 512, STEPS = 200000 };
	int64_t model[KEYS];
	uint64_t seed = 1;
	struct map m;
	size_t pos = 0, seen = 0;
	void *key, *val;

	(void)state;
	memset(model, 0xff, sizeof(model));
	map_init(&m, sizeof(uint32_t), sizeof(int64_t));
	for (int i = 0; i < STEPS; i++) {
		uint32_t k;
		int64_t *v;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		k = (uint32_t)(seed >> 40) % KEYS;
		if (seed >> 63) {
			bool is_new;

			v = map_add(&m, &k, &is_new);
			assert_int_equal(is_new, model[k] < 0);
			*v = model[k] = i;
		} else {
			assert_int_equal(map_remove(&m, &k), model[k] >= 0);
			model[k] = -1;
		}
		v = map_find(&m, &k);
		assert_true(v ? *v == model[k] : model[k] < 0);
	}
	while (map_next(&m, &pos, &key, &val)) {
		assert_true(*(int64_t *)val == model[*(uint32_t *)key]);
		seen++;
	}
	assert_int_equal(seen, m.len);
	map_fini(&m);
}

static void arena_keeps_its_limit(void **state)
{
	struct arena a = { .limit_bytes = 100000 };
	char *p;

	(void)state;
	p = arena_copy(&a, "name", 4);
	assert_string_equal(p, "name");
	assert_non_null(arena_alloc(&a, 50000));
	assert_null(arena_alloc(&a, 60000));
	arena_reset(&a);
	assert_non_null(arena_alloc(&a, 60000));
	arena_fini(&a);
}

/* In a child: does the page of @p exist? */
static bool is_forked(const void *p)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char there;
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(mincore((void *)((uintptr_t)p & ~(page - 1)), 1, &there) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void arena_is_not_forked(void **state)
{
	struct arena a = { .not_forked = true }, plain = { 0 };
	char *p, *q, *large;

	(void)state;
	p = arena_copy(&a, "name", 4);
	large = arena_alloc(&a, 1 << 20);
	q = arena_copy(&plain, "name", 4);
	assert_non_null(p);
	assert_non_null(large);
	assert_string_equal(p, "name");
	large[(1 << 20) - 1] = 1;
	assert_false(is_forked(p));
	assert_false(is_forked(large));
	assert_true(is_forked(q));
	arena_reset(&a);
	p = arena_alloc(&a, 5000);
	assert_non_null(p);
	assert_int_equal(p[4999], 0);
	assert_false(is_forked(p));
	arena_fini(&a);
	assert_true(a.not_forked);
	arena_fini(&plain);
}

static void errors_carry_context(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_errno(&e, -ENOENT, "cannot open %s", "x"), -ENOENT);
	assert_string_equal(e.msg, "cannot open x: No such file or directory");
	assert_int_equal(err_prefix(&e, "probe %s", "net"), -ENOENT);
	assert_string_equal(e.msg, "probe net: cannot open x: No such file or directory");
	assert_int_equal(err_set(NULL, -EINVAL, "nobody reads this"), -EINVAL);
}

struct calls { size_t (*length)(const char *); };

static const struct library_symbol symbols[] = { { "strlen", offsetof(struct calls, length) } };

static void a_library_is_loaded_by_the_first_name_that_exists(void **state)
{
	struct library l = { .name = "libx", .package = "libx1", .files = { "libx.so.1", "libc.so.6" },
			     .symbols = symbols, .n = ARRAY_SIZE(symbols) };
	struct calls calls = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(library_load(&l, &calls, &e), 0);
	assert_int_equal(calls.length("four"), 4);
	l.files[1] = NULL;
	assert_int_equal(library_load(&l, &calls, &e), -ELIBACC);
	assert_string_equal(e.msg, "libx cannot be loaded: install the Debian package libx1");
	l.files[0] = "libm.so.6";
	l.symbols = (struct library_symbol[]){ { "no_such_function", 0 } };
	assert_int_equal(library_load(&l, &calls, &e), -ELIBACC);
	assert_string_equal(e.msg, "libx has no no_such_function: install the package libx1 of this release");
	assert_int_equal(library_load(&l, &calls, NULL), -ELIBACC);
}

static void assert_text(struct buf *b, const char *want, int len)
{
	assert_int_equal(b->len, len);
	assert_memory_equal(b->data, want, b->len);
	buf_reset(b);
}

/* The text of @v by buf_printf() is the one by the C library. */
#define ASSERT_FORMAT(b, fmt, v) \
	(buf_printf((b), fmt, (v)), assert_text((b), want, snprintf(want, sizeof(want), fmt, (v))))

/* Conversions that buf_printf() does itself and those it leaves to the C library, over numbers of all lengths. */
static void formats_are_those_of_libc(void **state)
{
	const char *volatile none = NULL;
	struct buf b = { 0 };
	char want[64];

	(void)state;
	for (unsigned i = 0; i < 65 * 3; i++) {
		const unsigned long long u = (i / 3 < 64 ? 1ull << i / 3 : 0) + i % 3 - 1;
		const long long v = (long long)u;

		ASSERT_FORMAT(&b, "%lld", v);
		ASSERT_FORMAT(&b, "%5lld|", v);
		ASSERT_FORMAT(&b, "%-5lld|", v);
		ASSERT_FORMAT(&b, "%05lld", v);
		ASSERT_FORMAT(&b, "%+lld", v);
		ASSERT_FORMAT(&b, "%.5lld", v);
		ASSERT_FORMAT(&b, "<%llu>", u);
		ASSERT_FORMAT(&b, "%#llx", u);
		ASSERT_FORMAT(&b, "%08llx", u);
		ASSERT_FORMAT(&b, "%#018llx", u);
		ASSERT_FORMAT(&b, "%llX", u);
		ASSERT_FORMAT(&b, "%#llo", u);
		ASSERT_FORMAT(&b, "%#03llo", u);
		ASSERT_FORMAT(&b, "%-#6llo|", u);
		ASSERT_FORMAT(&b, "%d", (int)v);
		ASSERT_FORMAT(&b, "%3u%%", (unsigned)v);
		ASSERT_FORMAT(&b, "%02x", (unsigned)v);
		ASSERT_FORMAT(&b, "%c|", (int)v);
		buf_add_u64(&b, u);
		assert_text(&b, want, snprintf(want, sizeof(want), "%llu", u));
		buf_add_i64(&b, v);
		assert_text(&b, want, snprintf(want, sizeof(want), "%lld", v));
		buf_add_hex(&b, u);
		assert_text(&b, want, snprintf(want, sizeof(want), "%#llx", u));
	}
	buf_printf(&b, "%s %.2s %.*s|%6s|%-6s|%*d|%zu %5.1f %s", "all", "cut", 1, "few", "right", "left", 4, 7,
		   (size_t)9, 2.5, none);
	assert_string_equal(buf_str(&b), "all cu f| right|left  |   7|9   2.5 (null)");
	buf_fini(&b);
}

/* A buffer in the caller's memory moves to the heap with what it has. */
static void a_borrowed_buffer_grows(void **state)
{
	char memory[16] = { 0 }, text[100];
	struct buf b = buf_in(memory, sizeof(memory));

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(buf_add_str(&b, "begun here"), 0);
	assert_ptr_equal(b.data, memory);
	assert_int_equal(buf_add(&b, text, sizeof(text)), 0);
	assert_ptr_not_equal(b.data, memory);
	assert_int_equal(b.len, 10 + sizeof(text));
	assert_memory_equal(b.data, "begun herex", 11);
	assert_memory_equal(memory, "begun here", 10);
	buf_fini(&b);
	assert_null(b.data);
}

static void copies_of_all_lengths(void **state)
{
	char from[40], to[42];

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)('A' + i);
	for (size_t len = 0; len <= sizeof(from); len++) {
		memset(to, '.', sizeof(to));
		buf_copy(to + 1, from, len);
		assert_memory_equal(to + 1, from, len);
		assert_int_equal(to[0], '.');
		assert_int_equal(to[1 + len], '.');
	}
}

/* Escaping must find the one byte that is not plain, wherever it is in a string of whatever length. */
static void plain_spans_of_all_lengths(void **state)
{
	static const char others[] = { '\\', '"', '\n', 0x7f, (char)0xc3 };
	char s[40];

	(void)state;
	for (size_t len = 0; len < sizeof(s); len++) {
		memset(s, 'p', sizeof(s));
		assert_int_equal(str_plain_span(s, len, '"'), len);
		for (size_t at = 0; at < len; at++)
			for (size_t i = 0; i < sizeof(others); i++) {
				s[at] = others[i];
				assert_int_equal(str_plain_span(s, len, '"'), at);
				s[at] = 'p';
			}
	}
}

static void percent_encoded_text(void **state)
{
	static const struct { const char *text, *want; } rows[] = {
		{ "", "" }, { "a b", "a b" }, { "a%20b", "a b" }, { "%41%4a%4A", "AJJ" }, { "100%", "100%" },
		{ "%4", "%4" }, { "%4x%x4%%41", "%4x%x4%A" },
	};
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_reset(&b);
		assert_int_equal(str_percent_decode(&b, rows[i].text, strlen(rows[i].text)), 0);
		assert_string_equal(buf_str(&b), rows[i].want);
	}
	buf_reset(&b);
	assert_int_equal(str_percent_decode(&b, "%00%41", 5), 0); /* the length ends it */
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "\0%4", 3);
	buf_fini(&b);
}

/* Bit by bit, as the standard defines it. */
static uint32_t crc_of(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void checksums_of_all_lengths(void **state)
{
	uint8_t data[300];

	(void)state;
	assert_int_equal(crc32_add(0, "123456789", 9), 0xcbf43926u);	/* the check value of the standard */
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i * 7 + i / 3);
	for (size_t len = 0; len < sizeof(data) - 16; len++)
		for (size_t at = 0; at < 16; at++)
			assert_int_equal(crc32_add((uint32_t)len * 77777u, data + at, len),
					 crc_of((uint32_t)len * 77777u, data + at, len));
}

static void checksums_behind_a_number(void **state)
{
	static const uint32_t numbers[] = { 5, 5, 0, 0, 5, 1u << 31 };
	struct crc32_prefix prefix = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(crc32_prefixed(&prefix, numbers[i], "record", 6),
				 crc_of(crc_of(0, (const void *)&numbers[i], 4), (const void *)"record", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_borrowed_buffer_grows),
		cmocka_unit_test(copies_of_all_lengths),
		cmocka_unit_test(percent_encoded_text), cmocka_unit_test(plain_spans_of_all_lengths),
		cmocka_unit_test(checksums_behind_a_number),
		cmocka_unit_test(escape_passes_text_and_stops_control_bytes),
		cmocka_unit_test(escape_takes_nothing),
		cmocka_unit_test(escape_never_lets_a_control_byte_through),
		cmocka_unit_test(escape_cuts_at_a_character),
		cmocka_unit_test(numbers_are_strict),
		cmocka_unit_test(cursor_goes_bad_once_and_stays_bad),
		cmocka_unit_test(buffer_grows_and_prints),
		cmocka_unit_test(formats_are_those_of_libc),
		cmocka_unit_test(checksums_of_all_lengths),
		cmocka_unit_test(map_agrees_with_a_model),
		cmocka_unit_test(arena_keeps_its_limit),
		cmocka_unit_test(arena_is_not_forked),
		cmocka_unit_test(errors_carry_context),
		cmocka_unit_test(a_library_is_loaded_by_the_first_name_that_exists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
