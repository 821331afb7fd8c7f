// SPDX-License-Identifier: GPL-2.0-or-later
/* HPACK: blocks of python3-hpack in order, and from the second one on. The second one has Huffman codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "call/call_pool.h"
#include "call/protocol/hpack.h"

static const struct {
	size_t len;
	const char *bytes;
} blocks[] = {
	{ 80,
	  "\x83\x44\x10\x2f\x70\x6b\x67\x2e\x53\x76\x63\x2f\x47\x65\x74\x3f\x78\x3d\x31\x5f\x10\x61\x70\x70\x6c"
	  "\x69\x63\x61\x74\x69\x6f\x6e\x2f\x67\x72\x70\x63\x40\x03\x78\x2d\x30\x18\x76\x61\x6c\x75\x65\x20\x30"
	  "\x20\x77\x69\x74\x68\x20\x22\x6f\x64\x64\x22\x20\x62\x79\x74\x65\x73\x40\x02\x74\x65\x08\x74\x72\x61"
	  "\x69\x6c\x65\x72\x73" },
	{ 29,
	  "\x83\xc1\xc0\x40\x83\xf2\xb0\x7f\x93\xee\x3a\x2d\x2a\x81\x53\xc1\x93\x3a\x9f\xc9\xe4\x93\xf9\x52\x3f"
	  "\x49\x2a\x3f\xbf" },
	{ 34,
	  "\x83\xc2\xc1\x40\x03\x78\x2d\x32\x18\x76\x61\x6c\x75\x65\x20\x32\x20\x77\x69\x74\x68\x20\x22\x6f\x64"
	  "\x64\x22\x20\x62\x79\x74\x65\x73\xc0" },
};

/* The fields of a block as text; "?N" is an old entry. */
static const char *decode(struct hpack *h, struct call_pool *pool, int at, struct buf *out)
{
	struct cursor c = cur_init(blocks[at].bytes, blocks[at].len);
	struct hpack_field f;
	int r;

	buf_reset(out);
	while ((r = hpack_next(h, pool, &c, &f)) > 0) {
		if (f.unknown) {
			buf_printf(out, "?%u\n", (unsigned)f.old);
			continue;
		}
		buf_add(out, f.name, f.name_len);
		buf_add_char(out, '=');
		buf_add(out, f.value, f.value_len);
		buf_add_char(out, '\n');
	}
	assert_int_equal(r, 0);
	return buf_str(out);
}

#define FIELDS(n) \
	":method=POST\n:path=/pkg.Svc/Get?x=1\ncontent-type=application/grpc\nx-" n "=value " n \
	" with \"odd\" bytes\nte=trailers\n"

static void test_in_order(void **state)
{
	struct buf out = { 0 };
	struct hpack h = { 0 };
	struct call_pool pool;

	(void)state;
	call_pool_init(&pool, NULL, NULL);
	assert_string_equal(decode(&h, &pool, 0, &out), FIELDS("0"));
	assert_string_equal(decode(&h, &pool, 1, &out), FIELDS("1"));
	assert_string_equal(decode(&h, &pool, 2, &out), FIELDS("2"));
	hpack_fini(&h, &pool);
	assert_int_equal(pool.bytes, 0);
	buf_fini(&out);
}

/* Fields that the first block put into the table are unknown, and have the same number in each block. */
static void test_late(void **state)
{
	struct buf out = { 0 };
	struct hpack h = { 0 };
	struct call_pool pool;

	(void)state;
	call_pool_init(&pool, NULL, NULL);
	assert_string_equal(decode(&h, &pool, 1, &out),
			    ":method=POST\n?3\n?2\nx-1=value 1 with \"odd\" bytes\n?0\n");
	assert_string_equal(decode(&h, &pool, 2, &out),
			    ":method=POST\n?3\n?2\nx-2=value 2 with \"odd\" bytes\n?0\n");
	hpack_fini(&h, &pool);
	assert_int_equal(pool.bytes, 0);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
