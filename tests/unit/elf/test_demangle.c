// SPDX-License-Identifier: GPL-2.0-or-later
/* Demangled names against c++filt, and their short forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "elf/demangle.h"
#include "elf_util.h"

static void need(const char *raw, const char *readable)
{
	char buf[DEMANGLE_OUT_MAX] = "";
	size_t len = demangle(raw, buf);

	assert_int_equal(len, readable ? strlen(readable) : 0);
	if (readable)
		assert_string_equal(buf, readable);
}

static void cxx_and_rust_become_readable(void **state)
{
	(void)state;
	need("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)");
	need("_ZdlPv@@GLIBCXX_3.4", "operator delete(void*)");
	need("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	need("_RNvCs4fqI2P2rA04_11rust_simple4main", "rust_simple::main");
	need("_RNvCs4fqI2P2rA04_11rust_sim", NULL);	/* truncated: not a name */
	need("main", NULL);
	need("", NULL);
	need("_Z", NULL);
	need("main.(*server).Serve", NULL);
}

static void names_of_libstdcxx_are_those_of_cxxfilt(void **state)
{
	FILE *raw, *want;
	char cmd[512], mangled[8192], line[DEMANGLE_OUT_MAX + 1];
	char buf[DEMANGLE_OUT_MAX];
	size_t n = 0;

	(void)state;
	if (!util_sh("nm -D --defined-only --format=just-symbols /usr/lib/x86_64-linux-gnu/libstdc++.so.6 | "
		     "grep ^_Z | sed 's/@.*//' | sort -u >raw && test -s raw && c++filt --no-verbose <raw >want"))
		skip();
	snprintf(cmd, sizeof(cmd), "%s", util_path("raw"));
	raw = fopen(cmd, "re");
	want = fopen(util_path("want"), "re");
	assert_true(raw && want);
	while (fgets(mangled, sizeof(mangled), raw) && fgets(line, sizeof(line), want)) {
		mangled[strcspn(mangled, "\n")] = line[strcspn(line, "\n")] = '\0';
		if (!strcmp(mangled, line))
			continue;
		assert_true(demangle(mangled, buf) > 0);
		assert_string_equal(buf, line);
		n++;
	}
	fclose(raw);
	fclose(want);
	assert_true(n > 1000);
}

/* Two substitutions per level, each of the level before: 2^60 times the innermost name. */
static void a_name_that_explodes_is_left_alone(void **state)
{
	char raw[4000] = "_Z1fSt4pairIiiE", *p = raw + strlen(raw);

	(void)state;
	for (int i = 0; i < 60; i++) {
		char sub[4] = { i < 1 ? 0 : "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(i - 1) % 36], 0 };

		p += sprintf(p, "St4pairIS%s_S%s_E", sub, sub);
	}
	assert_true(demangle(raw, (char[DEMANGLE_OUT_MAX]){ 0 }) < DEMANGLE_OUT_MAX);
	need("_Z1fIXsZT_EEvv", NULL);
}

static void long_names_are_no_deep_names(void **state)
{
	char raw[4000], out[DEMANGLE_OUT_MAX];

	(void)state;
	memcpy(raw, "_Z1f", 4);
	for (int i = 0; i < 400; i++)	/* parameters of classes with names of seven letters */
		sprintf(raw + 4 + 8 * i, "7c%06d", i);
	assert_int_equal(demangle(raw, out), 3 + 400 * 9 - 2);
	memset(raw + 4, 'P', sizeof(raw) - 4);	/* 3994 pointers */
	raw[sizeof(raw) - 2] = 'i';
	raw[sizeof(raw) - 1] = '\0';
	assert_int_equal(demangle(raw, out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_and_rust_become_readable),
		cmocka_unit_test(names_of_libstdcxx_are_those_of_cxxfilt),
		cmocka_unit_test(a_name_that_explodes_is_left_alone),
		cmocka_unit_test(long_names_are_no_deep_names),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
