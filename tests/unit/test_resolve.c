// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolving in a worker: what the parent gets for real files, and what it does not believe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "base/err.h"
#include "base/macros.h"
#include "elf/resolve.h"
#include "elf_util.h"
#include "worker/worker.h"

static const struct worker_opts opts = { .name = "resolve", .cpu_seconds = 20 };

static int resolve_fd(struct resolve_request *q, int fd, struct resolve_answer **ret)
{
	size_t cap = resolve_answer_cap(q);
	char *bytes = malloc(cap);
	struct err err = { 0 };
	ssize_t len;
	int r;

	assert_non_null(bytes);
	len = worker_call(&opts, resolve_run, q, fd, bytes, cap, 20000000000ull, &err);
	r = len < 0 ? (int)len : resolve_answer_parse(q, bytes, (size_t)len, ret);
	free(bytes);
	return r;
}

static int resolve_file(struct resolve_request *q, const char *name, struct resolve_answer **ret)
{
	int fd = util_open(name), r;

	assert_true(fd >= 0);
	r = resolve_fd(q, fd, ret);
	close(fd);
	return r;
}

/* ---- real files ---- */

static size_t addresses_of(const char *cmd, uint64_t *addrs, size_t cap)
{
	FILE *f = popen(cmd, "re");
	unsigned long long addr;
	size_t n = 0;
	char line[4096];

	assert_non_null(f);
	while (n < cap && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx", &addr) == 1 && (!n || addr > addrs[n - 1]))
			addrs[n++] = addr;
	pclose(f);
	return n;
}

static void a_worker_names_functions(void **state)
{
	uint64_t addrs[200];
	struct resolve_request q = { .kind = RESOLVE_ELF, .addrs = addrs };
	struct resolve_answer *a;
	size_t plain = 0;

	(void)state;
	q.n = (uint32_t)addresses_of("nm -D --defined-only -n /usr/lib/x86_64-linux-gnu/libstdc++.so.6 2>/dev/null "
				     "| grep ' T '", addrs, ARRAY_SIZE(addrs));
	if (q.n < ARRAY_SIZE(addrs))
		skip();
	assert_int_equal(resolve_file(&q, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", &a), 0);
	for (uint32_t i = 0; i < q.n; i++) {
		assert_int_equal(a->addrs[i].quality, RESOLVE_SYMBOL);
		assert_int_equal(a->addrs[i].n, 1);
		assert_int_equal(a->addrs[i].funcs[0].start, addrs[i]);
		plain += !strcmp(a->addrs[i].funcs[0].raw, a->addrs[i].funcs[0].name);
	}
	assert_true(plain < q.n / 5);	/* C++ */
	resolve_answer_free(a);
	q.raw_names = true;
	assert_int_equal(resolve_file(&q, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", &a), 0);
	for (uint32_t i = 0; i < q.n; i++)
		assert_ptr_equal(a->addrs[i].funcs[0].raw, a->addrs[i].funcs[0].name);
	resolve_answer_free(a);
}

static void a_perf_map_is_resolved_too(void **state)
{
	static const uint64_t addrs[] = { 0x1005, 0x3000 };
	struct resolve_request q = { .kind = RESOLVE_PERFMAP, .addrs = addrs, .n = ARRAY_SIZE(addrs) };
	struct resolve_answer *a;

	(void)state;
	util_write("perf.map", "1000 10 LazyCompile:a b\n", 24);
	assert_int_equal(resolve_file(&q, "perf.map", &a), 0);
	assert_string_equal(a->addrs[0].funcs[0].name, "LazyCompile:a b");
	assert_int_equal(a->addrs[0].funcs[0].start, 0x1000);
	assert_int_equal(a->addrs[1].quality, RESOLVE_UNKNOWN);
	assert_int_equal(a->addrs[1].n, 0);
	resolve_answer_free(a);
}

static void what_is_no_object_gives_no_answer(void **state)
{
	static const uint64_t addrs[] = { 0x1005 };
	struct resolve_request q = { .kind = RESOLVE_ELF, .addrs = addrs, .n = ARRAY_SIZE(addrs) };
	struct resolve_answer *a;

	(void)state;
	assert_int_equal(resolve_file(&q, "/etc/passwd", &a), -ECHILD);
}

/* ---- answers that lie ---- */

static void an_answer_that_does_not_fit_is_refused(void **state)
{
	static const uint64_t addrs[] = { 0x1005 };
	struct resolve_request q = { .kind = RESOLVE_PERFMAP, .addrs = addrs, .n = ARRAY_SIZE(addrs) };
	struct resolve_answer *a;
	unsigned char good[256], bad[256];
	int fd, out[2], r;
	ssize_t len;

	(void)state;
	util_write("perf.map", "1000 10 f\n", 10);
	fd = util_open("perf.map");
	assert_int_equal(pipe(out), 0);
	assert_int_equal(resolve_run(&q, fd, out[1]), 0);
	len = read(out[0], good, sizeof(good));
	assert_true(len > 16 && resolve_answer_parse(&q, good, (size_t)len, &a) == 0);
	resolve_answer_free(a);
	for (ssize_t i = 0; i < len; i++) /* no shorter one, and none with bytes behind it */
		assert_int_equal(resolve_answer_parse(&q, good, (size_t)i, &a), -EBADMSG);
	assert_int_equal(resolve_answer_parse(&q, good, (size_t)len + 1, &a), -EBADMSG);
	for (ssize_t i = 0; i < len; i++) {
		memcpy(bad, good, sizeof(bad));
		bad[i] ^= 0xff;
		r = resolve_answer_parse(&q, bad, (size_t)len, &a);
		assert_true(r == 0 || r == -EBADMSG);
		if (r < 0)
			continue;
		assert_true(a->addrs[0].funcs[0].start <= addrs[0]);
		resolve_answer_free(a);
	}
	close(fd);
	close(out[0]);
	close(out[1]);
}

static void the_better_answer_is_the_one_that_knows_more(void **state)
{
	struct resolve_addr none = { 0 }, symbol = { .quality = RESOLVE_SYMBOL, .n = 1 };
	struct resolve_addr line = { .quality = RESOLVE_LINE, .n = 1 }, inlined = { .quality = RESOLVE_LINE, .n = 3 };

	(void)state;
	assert_ptr_equal(resolve_better(&none, &symbol), &symbol);
	assert_ptr_equal(resolve_better(&symbol, &none), &symbol);
	assert_ptr_equal(resolve_better(&line, &symbol), &line);
	assert_ptr_equal(resolve_better(&line, &inlined), &inlined);
	assert_ptr_equal(resolve_better(&inlined, &line), &inlined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_names_functions),
		cmocka_unit_test(a_perf_map_is_resolved_too),
		cmocka_unit_test(what_is_no_object_gives_no_answer),
		cmocka_unit_test(an_answer_that_does_not_fit_is_refused),
		cmocka_unit_test(the_better_answer_is_the_one_that_knows_more),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
