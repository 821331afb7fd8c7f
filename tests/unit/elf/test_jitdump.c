// SPDX-License-Identifier: GPL-2.0-or-later
/* Jitdumps: loads, moves and lines, byte for byte as in the specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "elf/jitdump.h"
#include "elf/symtab.h"

static void add_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_header(struct buf *b, uint32_t magic)
{
	add_u32(b, magic);
	for (int i = 0; i < 5; i++)
		add_u32(b, (uint32_t[]){ 1, 40, 62, 0, 7 }[i]);
	add_u64(b, 0);	/* time */
	add_u64(b, 0);	/* flags */
}

static void add_head(struct buf *b, uint32_t id, size_t len)
{
	add_u32(b, id);
	add_u32(b, (uint32_t)(16 + len));
	add_u64(b, 1);
}

static void add_load(struct buf *b, uint64_t addr, uint64_t size, uint64_t index, const char *name)
{
	static const char code[64];

	add_head(b, 0, 40 + strlen(name) + 1 + size);
	add_u64(b, 0);	/* process, thread */
	add_u64(b, addr);
	add_u64(b, addr);
	add_u64(b, size);
	add_u64(b, index);
	buf_add(b, name, strlen(name) + 1);
	buf_add(b, code, size);
}

static void add_move(struct buf *b, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	add_head(b, 1, 48);
	add_u64(b, 0);
	add_u64(b, to);
	add_u64(b, from);
	add_u64(b, to);
	add_u64(b, size);
	add_u64(b, index);
}

/* Two lines, eight bytes apart, of one file. */
static void add_lines(struct buf *b, uint64_t addr, const char *file)
{
	add_head(b, 2, 16 + 2 * 16 + strlen(file) + 1 + 2);
	add_u64(b, addr);
	add_u64(b, 2);
	add_u64(b, addr);
	add_u32(b, 3);
	add_u32(b, 0);
	buf_add(b, file, strlen(file) + 1);
	add_u64(b, addr + 8);
	add_u32(b, 5);
	add_u32(b, 0);
	buf_add(b, "\xff", 2);	/* the same file */
}

static void need(const struct buf *b, uint64_t addr, const char *name, uint32_t line)
{
	struct symtab_hit hit;
	struct jitdump_line at;

	assert_int_equal(jitdump_lookup_mem(b->data, b->len, &addr, 1, &hit, &at), name ? 1 : 0);
	if (name)
		assert_string_equal(hit.name, name);
	assert_int_equal(at.line, line);
	assert_true(!line || !strcmp(at.file, "fib.js"));
	free(hit.name);
	free(at.file);
}

static void the_newest_record_of_an_address_is_right(void **state)
{
	struct buf b = { 0 };

	(void)state;
	add_header(&b, 0x4a695444);
	add_lines(&b, 0x5000, "fib.js");
	add_load(&b, 0x5000, 0x20, 1, "fib");
	add_load(&b, 0x6000, 0x20, 2, "other");
	add_head(&b, 99, 4);	/* of an unknown kind */
	add_u32(&b, 0);
	need(&b, 0x5000, "fib", 3);
	need(&b, 0x5007, "fib", 3);
	need(&b, 0x501f, "fib", 5);
	need(&b, 0x5020, NULL, 0);
	need(&b, 0x6000, "other", 0);
	add_move(&b, 0x5000, 0x7000, 0x20, 1);
	need(&b, 0x7008, "fib", 0);
	add_load(&b, 0x5000, 0x10, 3, "third");
	need(&b, 0x5008, "third", 0);
	need(&b, 0x5010, "fib", 5);
	buf_fini(&b);
}

static void a_file_that_is_being_written_is_read_so_far(void **state)
{
	struct buf b = { 0 };
	size_t whole;

	(void)state;
	add_header(&b, 0x4a695444);
	add_load(&b, 0x5000, 0x20, 1, "fib");
	whole = b.len;
	add_load(&b, 0x6000, 0x20, 2, "other");
	for (b.len = whole; b.len < whole + 40; b.len++)
		need(&b, 0x5000, "fib", 0);
	buf_fini(&b);
}

static void what_is_no_jitdump_is_refused(void **state)
{
	struct buf swapped = { 0 };
	uint64_t addr = 0x5000;
	struct symtab_hit hit;

	(void)state;
	add_header(&swapped, 0x4454694a);	/* the other byte order */
	assert_int_equal(jitdump_lookup_mem(swapped.data, swapped.len, &addr, 1, &hit, NULL), -EBADMSG);
	assert_int_equal(jitdump_lookup_mem("JiTD", 4, &addr, 1, &hit, NULL), -EBADMSG);
	assert_null(hit.name);
	buf_fini(&swapped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_record_of_an_address_is_right),
		cmocka_unit_test(a_file_that_is_being_written_is_read_so_far),
		cmocka_unit_test(what_is_no_jitdump_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
