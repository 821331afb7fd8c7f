// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which stack belongs to which line of a call, and in which order lines leave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/buf.h"
#include "compat/strace/strace_stacks.h"
#include "event/event.h"

#define SECOND 1000000000ull

static struct buf written;

static void add_written(void *ctx, FILE *out, const struct buf *text)
{
	(void)ctx;
	(void)out;
	buf_add(&written, text->data, text->len);
}

static void stack_at(struct strace_stacks *s, uint32_t tid, uint64_t ts_ns, uint64_t ip)
{
	const struct section sec = { .kind = SEC_STACK_USER, .len = sizeof(ip), .data = &ip };
	struct event ev = { .tid = tid, .ts_ns = ts_ns, .sec = { sec }, .n_sec = 1 };

	assert_int_equal(strace_stacks_take(s, NULL, &ev), 0);
}

/* The instruction pointer goes behind the first blank. */
static void line_of(struct strace_stacks *s, const char *text, uint32_t tid, uint64_t after_ns, uint64_t until_ns)
{
	struct buf b = { 0 };
	struct strace_stacks_line line = { .text = &b, .ip_at = strcspn(text, " ") + 1, .tid = tid,
					   .after_ns = after_ns, .until_ns = until_ns };

	buf_add_str(&b, text);
	assert_int_equal(strace_stacks_put(s, &line), 0);
	buf_fini(&b);
}

static void is_written(struct strace_stacks *s, bool all, const char *want)
{
	buf_reset(&written);
	assert_int_equal(strace_stacks_flush(s, NULL, all), 0);
	assert_string_equal(buf_str(&written), want);
}

static void a_call_has_the_stack_of_its_entry(void **state)
{
	struct strace_stacks *s = strace_stacks_new(false, add_written, NULL);

	(void)state;
	stack_at(s, 1, 10, 0xa);
	stack_at(s, 2, 11, 0xb);
	line_of(s, "2 close\n", 2, 0, 12);
	stack_at(s, 2, 13, 0xc);
	line_of(s, "1 open\n", 1, 0, 14);
	line_of(s, "2 read\n", 2, 12, 15);
	line_of(s, "2 +++\n", 2, 0, 0);
	is_written(s, false, "2 [000000000000000b] close\n1 [000000000000000a] open\n2 [000000000000000c] read\n"
			     "2 [????????????????] +++\n");
	is_written(s, true, "");
	strace_stacks_free(s);
}

static void a_late_stack_holds_the_lines_behind_its_own(void **state)
{
	struct strace_stacks *s = strace_stacks_new(true, add_written, NULL);

	(void)state;
	line_of(s, "1 open\n", 1, 5, 10);
	stack_at(s, 2, 11, 0xb);
	line_of(s, "2 read\n", 2, 0, 12);
	is_written(s, false, "");
	stack_at(s, 1, 8, 0xa);
	is_written(s, false, "1 [000000000000000a] open\n2 [000000000000000b] read\n");
	line_of(s, "1 close\n", 1, 10, 20);
	is_written(s, false, "");
	stack_at(s, 9, 20 + 3 * SECOND, 1);
	is_written(s, false, "1 [????????????????] close\n");
	strace_stacks_free(s);
}

/* The call before was not selected, so its stack is still there. */
static void a_stack_of_another_call_is_not_taken(void **state)
{
	struct strace_stacks *s = strace_stacks_new(true, add_written, NULL);

	(void)state;
	stack_at(s, 1, 10, 0xa);
	line_of(s, "1 read\n", 1, 15, 20);
	is_written(s, false, "");
	stack_at(s, 1, 18, 0xc);
	is_written(s, false, "1 [000000000000000c] read\n");
	strace_stacks_free(s);
}

/* Calls without a line leave no stacks behind, however many there are. */
static void stacks_of_calls_without_lines_are_dropped(void **state)
{
	struct strace_stacks *s = strace_stacks_new(true, add_written, NULL);

	(void)state;
	stack_at(s, 1, 10, 0xa);
	stack_at(s, 2, 11, 0xb);
	strace_stacks_drop(s, 1, 20);
	stack_at(s, 1, 30, 0xc);
	strace_stacks_drop(s, 1, 20);
	line_of(s, "1 read\n", 1, 5, 25);
	line_of(s, "2 read\n", 2, 5, 25);
	line_of(s, "1 close\n", 1, 25, 35);
	is_written(s, true,
		   "1 [????????????????] read\n2 [000000000000000b] read\n"
		   "1 [000000000000000c] close\n");
	strace_stacks_free(s);
}

static void a_new_program_has_its_own_stack(void **state)
{
	struct strace_stacks *s = strace_stacks_new(true, add_written, NULL);

	(void)state;
	stack_at(s, 1, 10, 0xa);
	stack_at(s, 1, 19, 0xe);
	line_of(s, "1 execve\n", 1, 0, 20);
	is_written(s, false, "1 [000000000000000e] execve\n");
	stack_at(s, 1, 30, 0xe);
	line_of(s, "1 execve\n", 1, 20, 40);
	stack_at(s, 1, 25, 0xa); /* late, of the entry */
	is_written(s, true, "1 [000000000000000e] execve\n");
	strace_stacks_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_the_stack_of_its_entry),
		cmocka_unit_test(a_late_stack_holds_the_lines_behind_its_own),
		cmocka_unit_test(a_stack_of_another_call_is_not_taken),
		cmocka_unit_test(stacks_of_calls_without_lines_are_dropped),
		cmocka_unit_test(a_new_program_has_its_own_stack),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	buf_fini(&written);
	return r;
}
