// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "event/names.h"
#include "sym_feed.h"

static struct sym *new_sym(bool live)
{
	const struct sym_opts o = { .live = live };
	struct sym *s = NULL;
	struct err err = { 0 };

	assert_int_equal(sym_new(&o, &s, &err), 0);
	return s;
}

__attribute__((noinline)) static int local_function(int x)
{
	return x * 3 + (int)getpid();
}

/* Names of our own code: of the test program (an executable that moves), and of a library. */
static void test_own_process(void **state)
{
	struct sym *s = new_sym(true);
	const uint32_t pid = (uint32_t)getpid();
	const uint64_t pc[] = {
		(uintptr_t)local_function + 2, (uintptr_t)test_own_process,
		(uintptr_t)dlsym(RTLD_NEXT, "qsort") + 1, 16,
	};
	const struct sym_func *f;
	struct sym_loc loc[4];

	(void)state;
	assert_true(local_function(1) != 0);
	feed_process(s, 5, pid);
	assert_int_equal(feed_locate(s, 6, pid, pc, 4, loc), 4);
	f = feed_name(s, &loc[0], false);
	assert_string_equal(f->name, "local_function");
	assert_int_equal(f->off, 2);
	assert_int_equal(f->start, loc[0].addr - 2);
	f = feed_name(s, &loc[1], false);
	assert_string_equal(f->name, "test_own_process");
	/* As a return address it belongs to what is before: the call was the last instruction there. */
	assert_string_not_equal(feed_name(s, &loc[1], true)->name, "test_own_process");
	f = feed_name(s, &loc[2], false);
	assert_non_null(strstr(f->name, "qsort"));
	assert_int_equal(sym_module(s, loc[2].module)->kind, SYM_FILE);
	assert_non_null(strstr(sym_module(s, loc[2].module)->path, "libc"));
	assert_int_equal(loc[3].module, 0);
	assert_int_equal(loc[3].addr, 16);
	assert_string_equal(feed_name(s, &loc[3], false)->name, "");
	sym_free(s);
}

static void test_kernel(void **state)
{
	static const uint64_t pc[] = { 0xffffffff81000010, 0xffffffffc0000020, 0xffffffff81000099 };
	struct names *names = event_names_new();
	struct sym *s = new_sym(false);
	struct event ev = feed_event(&feed_sample_desc, 6, 1, NULL);
	struct sym_loc loc[3];
	const struct sym_func *f;

	(void)state;
	event_names_set(names, SONDE_NAME_KSYM, pc[0], "do_thing+0x10", 13);
	event_names_set(names, SONDE_NAME_KSYM, pc[1], "nf_hook+0x20 [nf_tables]", 24);
	ev.names = names;
	event_add_section(&ev, SEC_STACK_KERN, pc, sizeof(pc));
	assert_int_equal(sym_locate_kernel(s, &ev, loc, 3), 3);
	event_names_free(names);
	f = feed_name(s, &loc[0], false);
	assert_string_equal(f->name, "do_thing");
	assert_int_equal(f->off, 0x10);
	assert_int_equal(f->start, 0xffffffff81000000);
	assert_string_equal(sym_module(s, loc[0].module)->path, "[kernel.kallsyms]");
	f = feed_name(s, &loc[1], true);
	assert_string_equal(f->name, "nf_hook");
	assert_int_equal(f->off, 0x20);
	assert_string_equal(sym_module(s, loc[1].module)->path, "[nf_tables]");
	assert_int_equal(sym_module(s, loc[1].module)->kind, SYM_KERNEL);
	assert_string_equal(feed_name(s, &loc[2], false)->name, "");
	sym_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_process),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
