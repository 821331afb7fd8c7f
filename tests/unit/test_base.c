// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
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

/* Every byte in every position of a short string: nothing that a terminal would obey comes out. */
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

/* In a child: is the page of @p there? */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escape_passes_text_and_stops_control_bytes),
		cmocka_unit_test(escape_takes_nothing),
		cmocka_unit_test(escape_never_lets_a_control_byte_through),
		cmocka_unit_test(escape_cuts_at_a_character),
		cmocka_unit_test(numbers_are_strict),
		cmocka_unit_test(cursor_goes_bad_once_and_stays_bad),
		cmocka_unit_test(buffer_grows_and_prints),
		cmocka_unit_test(map_agrees_with_a_model),
		cmocka_unit_test(arena_keeps_its_limit),
		cmocka_unit_test(arena_is_not_forked),
		cmocka_unit_test(errors_carry_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
