// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf maps as run-time compilers write them, and malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "elf/perfmap.h"
#include "elf/symtab.h"
#include "elf_util.h"

static void need_name(const char *map, uint64_t addr, const char *name)
{
	struct symtab_hit hit;

	assert_int_equal(perfmap_lookup_mem(map, strlen(map), &addr, 1, &hit), name ? 1 : 0);
	if (name)
		assert_string_equal(hit.name, name);
	else
		assert_null(hit.name);
	free(hit.name);
}

static void lines_of_all_writers_are_read(void **state)
{
	static const char map[] =
		"7f0000001000 40 LazyCompile:~fib /srv/my scripts/fib.js:3\n"	/* V8 */
		"0x00007f0000002000 0x80 int Fib.fib(int)\n"				/* OpenJDK 25 */
		"7F0000003000 10 py::main:/x.py\r\n"
		"7f0000004000 0 empty\n"
		"7f0000005000 10 last";

	(void)state;
	need_name(map, 0x7f0000001000, "LazyCompile:~fib /srv/my scripts/fib.js:3");
	need_name(map, 0x7f000000103f, "LazyCompile:~fib /srv/my scripts/fib.js:3");
	need_name(map, 0x7f0000001040, NULL);
	need_name(map, 0x7f000000207f, "int Fib.fib(int)");
	need_name(map, 0x7f0000003001, "py::main:/x.py");
	need_name(map, 0x7f0000004000, "empty");
	need_name(map, 0x7f0000004001, NULL);
	need_name(map, 0x7f000000500f, "last");
}

static void the_newest_entry_wins(void **state)
{
	(void)state;
	need_name("1000 100 old\n1080 10 new\n", 0x1080, "new");
	need_name("1000 100 old\n1080 10 new\n", 0x1090, "old");
	need_name("1080 10 old\n1000 100 new\n", 0x1080, "new");
}

static void nonsense_is_skipped(void **state)
{
	(void)state;
	need_name("1000\n1000 \n1000 10\n1000 10 \nzz 10 a\n 1000 10 a\n-1 10 a\n1000  10  b\n", 0x1000, "b");
	need_name("ffffffffffffffff ffffffffffffffff top\n", UINT64_MAX, "top");
	need_name("10000000000000000 10 seventeen digits\n", 0, NULL);
	need_name("", 0, NULL);
}

static void a_file_is_read_like_a_buffer_in_pieces(void **state)
{
	FILE *f = fopen(util_path("map"), "we");
	uint64_t addrs[3] = { 0x1000, 0x1000 + 5000 * 16, 0x1000 + 19999 * 16 + 15 };
	struct symtab_hit hits[3];
	int fd;

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < 20000; i++) {
		fprintf(f, "%x 10 function number %d\n", 0x1000 + i * 16, i);
		if (i == 100) /* a line longer than what is read at a time */
			for (int j = 0; j < 200000; j++)
				fputc('a', f);
	}
	fclose(f);
	fd = util_open("map");
	assert_int_equal(perfmap_lookup_fd(fd, 64u << 20, addrs, 3, hits), 3);
	assert_string_equal(hits[0].name, "function number 0");
	assert_string_equal(hits[1].name, "function number 5000");
	assert_string_equal(hits[2].name, "function number 19999");
	for (int i = 0; i < 3; i++)
		free(hits[i].name);
	assert_int_equal(perfmap_lookup_fd(fd, 4096, addrs, 3, hits), 1);	/* the end of it only */
	assert_string_equal(hits[2].name, "function number 19999");
	free(hits[2].name);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_all_writers_are_read),
		cmocka_unit_test(the_newest_entry_wins),
		cmocka_unit_test(nonsense_is_skipped),
		cmocka_unit_test(a_file_is_read_like_a_buffer_in_pieces),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
