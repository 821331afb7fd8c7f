// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions by name against the names of their addresses; files without tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "elf/symfind.h"
#include "elf/symtab.h"
#include "elf_util.h"

#define BUDGET (64u << 20)

static void check_name(struct elf *e, const char *name, uint64_t addr)
{
	struct symtab_hit hit = { 0 };
	struct symtab *t = NULL;
	int r = symtab_new(e, BUDGET, &t);

	assert_int_equal(r, 0);
	r = symtab_lookup(t, &addr, 1, &hit);
	assert_int_equal(r, 1);
	assert_int_equal(hit.start, addr);
	assert_string_equal(hit.name, name);
	free(hit.name);
	symtab_free(t);
}

static struct elf *build(const char *flags)
{
	struct elf *e = NULL;
	char path[128];
	int fd, r;

	assert_true(util_sh("printf 'static int inner(int n) { return n + 1; }\\nint data = 3;\\n"
			    "int outer(int n) { return inner(n) * 2; }\\n' > f.c && "
			    "cc -O0 -shared -fPIC %s -o f.so f.c", flags));
	snprintf(path, sizeof(path), "%s/f.so", util_dir);
	fd = util_open(path);
	assert_true(fd >= 0);
	r = elf_open_fd(fd, BUDGET, &e);
	assert_int_equal(r, 0);
	return e;
}

static void test_functions(void **state)
{
	static const char *const names[] = { "outer", "inner", "data", "printf" };
	uint64_t addrs[ARRAY_SIZE(names)];
	struct elf *e = build("");
	int r = symfind_functions(e, names, ARRAY_SIZE(names), addrs);

	(void)state;
	assert_int_equal(r, 2);
	check_name(e, "outer", addrs[0]);
	check_name(e, "inner", addrs[1]);
	assert_int_equal(addrs[2], 0);	/* no function */
	assert_int_equal(addrs[3], 0);	/* not defined there */
	elf_free(e);
}

static void test_stripped(void **state)
{
	static const char *const names[] = { "inner", "outer" };
	uint64_t addrs[ARRAY_SIZE(names)] = { 1, 1 };
	struct elf *e = build("-s");
	int r = symfind_functions(e, names, ARRAY_SIZE(names), addrs);

	(void)state;
	assert_int_equal(r, 1);	/* .dynsym stays */
	assert_int_equal(addrs[0], 0);
	assert_true(addrs[1] > 0);
	elf_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_stripped),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
