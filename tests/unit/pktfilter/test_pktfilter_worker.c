// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packet filters compiled by a worker process: the same code, no name resolution, limited time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "pktfilter/pktfilter.h"
#include "worker/confine.h"
#include "worker/worker.h"

#define SECOND_NS 1000000000ull

static void explain(struct pktfilter *f, struct buf *ret)
{
	assert_non_null(f);
	assert_true(pktfilter_explain(f, ret) >= 0);
	pktfilter_free(f);
}

static void the_code_is_the_same(void **state)
{
	static const char *const exprs[] = {
		"", "tcp port 80", "vlan 5 and ip6", "host 10.1.2.3 or net 10.0.0.0/8", "ip protochain 6",
		"tcp[tcpflags] & tcp-syn != 0 and not (src host 1.2.3.4 or port 53)",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(exprs); i++) {
		struct pktfilter *apart = NULL, *here = NULL;
		struct buf a = { 0 }, b = { 0 };
		struct err err = { 0 };

		assert_int_equal(pktfilter_compile(exprs[i], 10 * SECOND_NS, &apart, &err), 0);
		assert_int_equal(pktfilter_compile_here(exprs[i], &here, &err), 0);
		explain(apart, &a);
		explain(here, &b);
		assert_string_equal(buf_str(&a), buf_str(&b));
		buf_fini(&a);
		buf_fini(&b);
	}
}

static void mistakes_are_reported(void **state)
{
	struct pktfilter *f = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(pktfilter_compile("tcp prt 80", 10 * SECOND_NS, &f, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "syntax error\n  tcp prt 80\n      ^^^"));
	assert_int_equal(pktfilter_compile("tcp and inbound", 10 * SECOND_NS, &f, &err), -EOPNOTSUPP);
	assert_null(f);
}

static void names_are_refused_and_replaced(void **state)
{
	static const struct { const char *expr, *numbers; } rows[] = {
		{ "src host 127.0.0.1 and port domain", "src host 127.0.0.1 and port 53" },
		{ "portrange ssh-domain or tcp port 22", "portrange 22-53 or tcp port 22" },
		{ "port ssh and (portrange 22-domain or ssh-23)", "port 22 and (portrange 22-53 or 22-23)" },
		{ "port domain or udp port domain", "port 53 or udp port 53" },
	};

	(void)state;
	if (!confine_works())	/* sanitizers: the worker may look up names */
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pktfilter *f = NULL;
		struct buf numbers = { 0 };
		struct err err = { 0 };

		assert_int_equal(pktfilter_compile(rows[i].expr, 10 * SECOND_NS, &f, &err), -ENOKEY);
		assert_int_equal(pktfilter_resolve(rows[i].expr, 10 * SECOND_NS, &numbers, &err), 0);
		assert_string_equal(buf_str(&numbers), rows[i].numbers);
		assert_int_equal(pktfilter_compile(buf_str(&numbers), 10 * SECOND_NS, &f, &err), 0);
		pktfilter_free(f);
		buf_fini(&numbers);
	}
}

static void an_unknown_name_is_an_error(void **state)
{
	struct buf numbers = { 0 };
	struct err err = { 0 };

	(void)state;
	if (!confine_works())
		skip();
	assert_int_equal(pktfilter_resolve("port no-such-service", SECOND_NS, &numbers, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "unknown port 'no-such-service'"));
	buf_fini(&numbers);
}

static void a_long_compilation_ends(void **state)
{
	struct pktfilter *f = NULL;
	struct buf expr = { 0 };
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 400; i++)
		buf_printf(&expr, "%shost 10.%d.%d.%d", i ? " or " : "", i & 7, i & 255, i * 7 & 255);
	assert_int_equal(pktfilter_compile(buf_str(&expr), SECOND_NS / 10, &f, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.msg, "too long to compile"));
	assert_null(f);
	buf_fini(&expr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_code_is_the_same),
		cmocka_unit_test(mistakes_are_reported),
		cmocka_unit_test(names_are_refused_and_replaced),
		cmocka_unit_test(an_unknown_name_is_an_error),
		cmocka_unit_test(a_long_compilation_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
