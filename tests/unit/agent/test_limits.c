// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of readers: every size that an option can set counts against a limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/access/agent_use.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/opt.h"
#include "probe/probe.h"

/* Does the row hold a number, by its kind or placeholder? */
static bool holds_number(const struct opt *o)
{
	static const char *const words[] = { "SIZE", "BYTES", "HZ", "N" };

	if (o->kind == OPT_U32 || o->kind == OPT_U64 || o->kind == OPT_BYTES || o->kind == OPT_DURATION)
		return true;
	for (size_t i = 0; o->arg && i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(o->arg), n = strlen(words[i]);

		if (len >= n && !strcmp(o->arg + len - n, words[i]) && (len == n || o->arg[len - n - 1] == ']'))
			return true;
	}
	return false;
}

static unsigned check_rows(const struct probe_ops *p, const struct opt *rows)
{
	unsigned n = 0;

	for (const struct opt *o = rows; o && opt_is_row(o); o++) {
		if (!holds_number(o))
			continue;
		if (o->use == OPT_USE_UNSAID)
			fail_msg("probe %s, --%s: its row does not say what it takes (enum opt_use)", p->name,
				 o->name);
		n++;
	}
	return n;
}

static void test_every_size_counts_against_a_limit(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const struct probe_ops *const *p = all_probes; *p; p++)
		n += check_rows(*p, (*p)->opts) + check_rows(*p, (*p)->command_opts);
	assert_true(n >= 20);
}

/* The defaults of @probe and @words. */
static struct inst_use use_of(const char *probe, const char *const *words, int n_words)
{
	const struct probe_ops *ops = probe_find(probe);
	void *conf = calloc(1, ops->conf_size);
	struct opt_set sets[2] = {
		{ .opts = ops->opts, .conf = conf }, { .opts = ops->command_opts, .conf = conf },
	};
	size_t n_sets = ops->command_opts ? 2 : 1;
	char *argv[8] = { (char *)probe };
	struct opt_strv rest = { 0 };
	struct inst_use use;
	struct err err;

	assert_non_null(conf);
	if (ops->conf_base)
		memcpy(conf, ops->conf_base, ops->conf_size);
	for (int i = 0; i < n_words; i++)
		argv[i + 1] = (char *)words[i];
	assert_int_equal(opt_parse(sets, n_sets, n_words + 1, argv, &rest, NULL, &err), 0);
	agent_use_measure(sets, n_sets, 4, &use);
	opt_strv_fini(&rest);
	opt_fini(sets, n_sets);
	free(conf);
	return use;
}

#define WORDS(...) ((const char *const[]){ "", ##__VA_ARGS__ })
#define USE(probe, ...) use_of(probe, WORDS(__VA_ARGS__) + 1, ARRAY_SIZE(WORDS(__VA_ARGS__)) - 1)

static void test_what_options_take(void **state)
{
	(void)state;
	assert_int_equal(USE("cpu").of[OPT_USE_HZ], 49);
	assert_int_equal(USE("cpu").of[OPT_USE_MEMORY], 64 << 20);
	assert_int_equal(USE("cpu", "--frequency=100000").of[OPT_USE_HZ], 100000);
	assert_true(USE("cpu", "--period=1000").of[OPT_USE_HZ] >= 5000000);
	assert_int_equal(USE("net").of[OPT_USE_MEMORY], 0);
	assert_int_equal(USE("net").of[OPT_USE_BYTES], 0);
	assert_int_equal(USE("net", "--keep-memory=2G").of[OPT_USE_MEMORY], 0);	/* nothing is kept */
	assert_int_equal(USE("net", "--keep=5s", "--keep-memory=2G").of[OPT_USE_MEMORY], 2ull << 30);
	assert_int_equal(USE("net", "--keep=5s").of[OPT_USE_MEMORY], 64 << 20);
	assert_true(USE("net", "--flows").of[OPT_USE_MEMORY] > 65536 * 300);
	assert_true(USE("net", "--flows", "--flow-max=4294967295").of[OPT_USE_MEMORY] > 1ull << 40);
	assert_true(USE("net", "--count", "--count-max=1000000").of[OPT_USE_MEMORY] > 4ull * 1000000 * 40);
	assert_int_equal(USE("net", "--snaplen=64", "--snaplen=drop=256").of[OPT_USE_BYTES], 256);
	assert_int_equal(USE("net", "--snaplen=drop=0").of[OPT_USE_BYTES], 262144);
	assert_int_equal(USE("net", "--whole-packets").of[OPT_USE_BYTES], 262144);
	assert_int_equal(USE("net", "--count-interval=1ms").of[OPT_USE_INTERVAL], 1000000);
	assert_int_equal(USE("sys", "--snaplen=16k").of[OPT_USE_BYTES], 16384);
	assert_int_equal(USE("gohttp2", "--payload=2k").of[OPT_USE_BYTES], 2048);
}

static void test_no_sum_wraps(void **state)
{
	const struct opt rows[] = {
		{ .name = "a", .kind = OPT_BYTES, .off = 0, .arg = "SIZE", .use = OPT_USE_MEMORY, .unit = 1u << 20,
		  .per_cpu = true },
		{ .name = "b", .kind = OPT_U64, .off = 8, .arg = "N", .use = OPT_USE_MEMORY, .unit = 3 },
		OPT_END,
	};
	uint64_t conf[2] = { UINT64_MAX / 2, UINT64_MAX };
	const struct opt_set set = { .opts = rows, .conf = conf };
	struct inst_use use;

	(void)state;
	agent_use_measure(&set, 1, 256, &use);
	assert_true(use.of[OPT_USE_MEMORY] == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size_counts_against_a_limit),
		cmocka_unit_test(test_what_options_take),
		cmocka_unit_test(test_no_sum_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
