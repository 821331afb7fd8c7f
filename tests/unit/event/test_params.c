// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "event/params.h"
#include "scap/schema.h"

static void values_come_back(void **state)
{
	struct params_out o = { 0 };
	struct arena a = { 0 };
	struct params p;
	const void *data;
	uint32_t len;
	uint64_t u;
	int64_t i;
	size_t n;

	(void)state;
	params_begin(&o, SCAP_OPENAT_2_X, 42);
	params_add_u64(&o, (uint64_t)-2);
	params_add_str(&o, "/etc/x", 6);
	params_add_u32(&o, 0xfffffff0);
	params_add_str(&o, NULL, 0);
	params_add(&o, "ab", 1);
	params_append(&o, "cd", 2);
	data = params_finish(&o, &a, &len);
	assert_non_null(data);
	assert_int_equal(params_read(data, len, &p), 0);
	assert_int_equal(p.head->type, SCAP_OPENAT_2_X);
	assert_int_equal(p.head->tid, 42);
	assert_int_equal(p.n, 5);
	assert_true(params_i64(&p, 0, &i) && i == -2);
	assert_true(params_u64(&p, 2, &u) && u == 0xfffffff0u);
	assert_true(params_i64(&p, 2, &i) && i == -16);
	assert_memory_equal(params_str(&p, 1, &n), "/etc/x", 7);
	assert_int_equal(n, 6);
	assert_null(params_str(&p, 3, &n));
	assert_memory_equal(params_bytes(&p, 4, &n), "acd", 3);
	assert_null(params_bytes(&p, 5, &n));
	assert_false(params_u64(&p, 4, &u));
	for (uint32_t cut = 0; cut < len; cut++)
		assert_int_equal(params_read(data, cut, &p), -EBADMSG);
	params_out_fini(&o);
	arena_fini(&a);
}

static void too_many_are_refused(void **state)
{
	struct params_out o = { 0 };
	struct buf b = { 0 };

	(void)state;
	params_begin(&o, 0, 1);
	for (unsigned i = 0; i < PARAMS_MAX; i++)
		params_add_u8(&o, 1);
	assert_int_equal(params_write(&o, &b), 0);
	params_add_u8(&o, 1);
	params_add_u8(&o, 1);
	assert_int_equal(params_write(&o, &b), -E2BIG);
	params_out_fini(&o);
	buf_fini(&b);
}

/* Numbers and parameters that readers of the format rely on, from its description. */
static void schema_is_that_of_the_format(void **state)
{
	static const struct { uint16_t type; const char *name; unsigned least; const char *last; } rows[] = {
		{ 307, "openat", 6, "dev" }, { 23, "connect", 2, "tuple" }, { 293, "execve", 20, "flags" },
		{ 223, "clone", 20, "vpid" }, { 186, "procexit", 4, "core" }, { 81, "poll", 2, "fds" },
		{ 1, "syscall", 1, "ID" }, { 324, "container", 1, "json" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct scap_event_info *info = scap_schema_event_info(rows[i].type);

		assert_non_null(info);
		assert_string_equal(info->name, rows[i].name);
		assert_true(info->n_params >= rows[i].least);
		assert_string_equal(info->params[rows[i].least - 1].name, rows[i].last);
	}
	assert_int_equal(SCAP_EVENT_MAX, 454);
	assert_null(scap_schema_event_info(SCAP_EVENT_MAX));
	assert_string_equal(scap_schema_syscall_name(99), "sched_yield");
	assert_int_equal(scap_schema_syscall_id("exit_group"), 164);
	assert_int_equal(scap_schema_syscall_id("no_such_call"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(too_many_are_refused),
		cmocka_unit_test(schema_is_that_of_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
