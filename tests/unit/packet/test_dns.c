// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers as name servers send them: chains, compression, truncated and malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "packet/dns.h"

static void put_16(struct buf *b, unsigned v)
{
	buf_add_char(b, (char)(v >> 8));
	buf_add_char(b, (char)v);
}

static void put_name(struct buf *b, const char *name)
{
	for (size_t n; *name; name += n + (name[n] == '.')) {
		n = strcspn(name, ".");
		buf_add_char(b, (char)n);
		buf_add(b, name, n);
	}
	buf_add_char(b, 0);
}

/* Offset 12 is the queried name. */
static void put_head(struct buf *b, unsigned flags, unsigned questions, unsigned answers, const char *name,
		     unsigned type)
{
	put_16(b, 0x1234);
	put_16(b, flags);
	put_16(b, questions);
	put_16(b, answers);
	put_16(b, 0);
	put_16(b, 0);
	put_name(b, name);
	put_16(b, type);
	put_16(b, 1);
}

static void put_fixed(struct buf *b, unsigned type, unsigned ttl, unsigned len)
{
	put_16(b, type);
	put_16(b, 1);
	put_16(b, ttl >> 16);
	put_16(b, ttl & 0xffff);
	put_16(b, len);
}

static void put_a(struct buf *b, unsigned pointer, unsigned ttl, const char addr[4])
{
	put_16(b, 0xc000 | pointer);
	put_fixed(b, 1, ttl, 4);
	buf_add(b, addr, 4);
}

static void one_address(void **state)
{
	struct buf b = { 0 };
	struct dns_answer a;

	(void)state;
	put_head(&b, 0x8180, 1, 2, "Www.Example.ORG", 1);
	put_a(&b, 12, 300, "\x0a\x00\x00\x01");
	put_a(&b, 12, 60, "\x0a\x00\x00\x02");
	assert_int_equal(dns_answer_parse(b.data, b.len, &a), 0);
	assert_string_equal(a.name, "www.example.org");
	assert_int_equal(a.n, 2);
	assert_int_equal(a.addresses[0].family, 4);
	assert_memory_equal(a.addresses[1].addr, "\x0a\x00\x00\x02", 4);
	assert_int_equal(a.addresses[1].ttl, 60);
	for (size_t len = 0; len < b.len; len++) {	/* truncated anywhere: only the bytes present */
		int r = dns_answer_parse(b.data, len, &a);

		assert_true(r == 0 || r == -EBADMSG);
		assert_true(r < 0 || a.n <= (len >= b.len - 16 ? 1 : 0));
	}
	buf_fini(&b);
}

static void a_chain_has_the_name_that_was_asked_for(void **state)
{
	struct buf b = { 0 };
	struct dns_answer a;
	size_t target;

	(void)state;
	put_head(&b, 0x8180, 1, 4, "www.example.org", 28);
	put_16(&b, 0xc00c);
	put_fixed(&b, 5, 20, 11);
	target = b.len;
	put_name(&b, "cdn.other");
	put_16(&b, 0xc00c);	/* of the name with the CNAME, no longer of its chain */
	put_fixed(&b, 28, 999, 16);
	buf_add(&b, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x99", 16);
	put_16(&b, (unsigned)(0xc000 | target));
	put_fixed(&b, 28, 300, 16);
	buf_add(&b, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	put_16(&b, (unsigned)(0xc000 | target));
	put_fixed(&b, 28, 300, 15);	/* a wrong length */
	buf_add(&b, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0", 15);
	assert_int_equal(dns_answer_parse(b.data, b.len, &a), 0);
	assert_string_equal(a.name, "www.example.org");
	assert_int_equal(a.n, 1);
	assert_int_equal(a.addresses[0].family, 6);
	assert_int_equal(a.addresses[0].addr[15], 1);
	assert_int_equal(a.addresses[0].ttl, 20);
	buf_fini(&b);
}

static void parse_refuses(const char *name, unsigned flags, unsigned questions, unsigned type)
{
	struct buf b = { 0 };
	struct dns_answer a;

	put_head(&b, flags, questions, 1, name, type);
	put_a(&b, 12, 300, "\x0a\x00\x00\x01");
	assert_int_equal(dns_answer_parse(b.data, b.len, &a), -EBADMSG);
	buf_fini(&b);
}

static void what_is_no_answer_is_refused(void **state)
{
	(void)state;
	parse_refuses("a.org", 0x0100, 1, 1);	/* a question */
	parse_refuses("a.org", 0xa180, 1, 1);	/* an update */
	parse_refuses("a.org", 0x8180, 2, 1);
	parse_refuses("a.org", 0x8180, 0, 1);
	parse_refuses("a.org", 0x8180, 1, 16);	/* for texts */
	parse_refuses("a\x1b[31m.org", 0x8180, 1, 1);
	parse_refuses("", 0x8180, 1, 1);
}

static void names_that_loop_end(void **state)
{
	struct buf b = { 0 };
	struct dns_answer a;

	(void)state;
	put_head(&b, 0x8180, 1, 2, "a.org", 1);
	put_16(&b, (unsigned)(0xc000 | b.len));	/* points to itself */
	put_fixed(&b, 1, 300, 4);
	buf_add(&b, "\x0a\x00\x00\x01", 4);
	assert_int_equal(dns_answer_parse(b.data, b.len, &a), 0);
	assert_int_equal(a.n, 0);
	buf_fini(&b);
}

static void addresses_are_bounded(void **state)
{
	struct buf b = { 0 };
	struct dns_answer a;

	(void)state;
	put_head(&b, 0x8180, 1, 40, "a.org", 1);
	for (unsigned i = 0; i < 40; i++)
		put_a(&b, 12, 300, (char[]){ 10, 0, 0, (char)i });
	assert_int_equal(dns_answer_parse(b.data, b.len, &a), 0);
	assert_int_equal(a.n, DNS_ADDRESSES_MAX);
	assert_int_equal(a.addresses[15].addr[3], 15);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_address),
		cmocka_unit_test(a_chain_has_the_name_that_was_asked_for),
		cmocka_unit_test(what_is_no_answer_is_refused),
		cmocka_unit_test(names_that_loop_end),
		cmocka_unit_test(addresses_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
