// SPDX-License-Identifier: GPL-2.0-or-later
/* DNS: recorded queries to unbound 1.17, over TCP and as datagrams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

#define CALLS(second, fourth) \
	"dns A www.example.test status=0 NOERROR\n" \
	"dns AAAA www.example.test status=0 NOERROR" second "\n" \
	"dns A no.example.test status=3 NXDOMAIN client-error\n" \
	"dns TXT refused.test status=5 REFUSED failed" fourth "\n"

static void test_tcp(void **state)
{
	(void)state;
	assert_replay("call_dns/tcp", CALLS("", ""));
}

/* Two at a time. */
static void test_udp(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = f.datagrams = true;
	feed_file(&f, "call_dns/udp");
	assert_string_equal(feed_calls(&f), CALLS(" index=1", " index=1"));
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_udp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
