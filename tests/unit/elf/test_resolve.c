// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolving in a worker: the parent's results for real files, and the answers that it refuses. */
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

static const char inlining[] =
	"#include <stdio.h>\nvolatile int v;\n"
	"static inline __attribute__((always_inline)) int inner(int a)\n{\n\tv += a;\n\treturn v * 3;\n}\n"
	"static inline __attribute__((always_inline)) int middle(int a)\n"
	"{\n\tint b = inner(a);\n\n\treturn b + v;\n}\n"
	"__attribute__((noinline)) int outer(int a)\n{\n\tv++;\n\treturn middle(a) - v;\n}\n"
	"int main(void)\n{\n\treturn outer(v) == 12345;\n}\n";

/* One function of addr2line's output: name, then file and line. */
static bool next_func(FILE *f, char name[256], char place[512])
{
	if (!fgets(name, 256, f) || !fgets(place, 512, f))
		return false;
	name[strcspn(name, "\n")] = '\0';
	place[strcspn(place, " \n")] = '\0';
	return true;
}

static void check_chain(const struct resolve_addr *d, FILE *f, size_t *ret_lines)
{
	char name[256], place[512], want[600];

	for (uint32_t k = 0; k < d->n; k++) {
		assert_true(next_func(f, name, place));
		assert_string_equal(d->funcs[k].raw, name);
		snprintf(want, sizeof(want), "%s:%u", d->funcs[k].file, d->funcs[k].line);
		if (!strchr(place, '?'))
			assert_string_equal(want, place);
		++*ret_lines;
	}
}

/* Each address of two functions and main, against binutils. */
static void check_lines(const char *flags)
{
	struct resolve_request q = { .kind = RESOLVE_ELF, .lines = true };
	struct resolve_answer *a;
	uint64_t addrs[512];
	size_t lines = 0, deepest = 0;
	char cmd[1024];
	FILE *f;

	util_write("in.c", inlining, sizeof(inlining) - 1);
	assert_true(util_sh("gcc -O2 %s in.c -o in", flags));
	snprintf(cmd, sizeof(cmd), "objdump -d --no-show-raw-insn %s | "
		 "awk '/^[0-9a-f]+ <(outer|main)>:/{p=1} /^$/{p=0} p && /^ +[0-9a-f]+:/{print $1}' | sort",
		 util_path("in"));
	q.n = (uint32_t)addresses_of(cmd, addrs, ARRAY_SIZE(addrs));
	q.addrs = addrs;
	assert_true(q.n > 10);
	assert_int_equal(resolve_file(&q, "in", &a), 0);
	for (uint32_t i = 0; i < q.n; i++) {
		snprintf(cmd, sizeof(cmd), "addr2line -fi -e %s 0x%llx", util_path("in"),
			 (unsigned long long)addrs[i]);
		f = popen(cmd, "re");
		assert_non_null(f);
		check_chain(&a->addrs[i], f, &lines);	/* unknown: padding behind the end of main */
		assert_true(!fgets(cmd, sizeof(cmd), f) || !a->addrs[i].n);
		pclose(f);
		deepest = MAX(deepest, (size_t)a->addrs[i].n);
	}
	assert_true(lines > q.n && deepest == 3);
	resolve_answer_free(a);
}

static void lines_and_inlined_functions_are_those_of_addr2line(void **state)
{
	(void)state;
	if (!util_sh("command -v gcc && command -v addr2line"))
		skip();
	check_lines("-gdwarf-4");
	check_lines("-gdwarf-5");
	check_lines("-gdwarf-5 -gz -no-pie");
}

static void a_jitdump_is_resolved_too(void **state)
{
	static const uint64_t addrs[] = { 0x5008 };
	struct resolve_request q = { .kind = RESOLVE_JITDUMP, .lines = true, .addrs = addrs, .n = 1 };
	struct resolve_answer *a;
	unsigned char d[256] = { 0 };
	uint32_t head[] = { 0x4a695444, 1, 40, 62 }, load[] = { 0, 16 + 40 + 4 };
	uint64_t code[] = { 0x5000, 0x5000, 0x20, 1 };

	(void)state;
	memcpy(d, head, sizeof(head));
	memcpy(d + 40, load, sizeof(load));
	memcpy(d + 40 + 16 + 8, code, sizeof(code));
	memcpy(d + 40 + 16 + 40, "fib", 4);
	util_write("jit.dump", d, 40 + 16 + 40 + 4);
	assert_int_equal(resolve_file(&q, "jit.dump", &a), 0);
	assert_string_equal(a->addrs[0].funcs[0].name, "fib");
	assert_int_equal(a->addrs[0].funcs[0].start, 0x5000);
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

/* ---- forged answers ---- */

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
	assert_ptr_equal(resolve_answer_better(&none, &symbol), &symbol);
	assert_ptr_equal(resolve_answer_better(&symbol, &none), &symbol);
	assert_ptr_equal(resolve_answer_better(&line, &symbol), &line);
	assert_ptr_equal(resolve_answer_better(&line, &inlined), &inlined);
	assert_ptr_equal(resolve_answer_better(&inlined, &line), &inlined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_names_functions),
		cmocka_unit_test(a_perf_map_is_resolved_too),
		cmocka_unit_test(lines_and_inlined_functions_are_those_of_addr2line),
		cmocka_unit_test(a_jitdump_is_resolved_too),
		cmocka_unit_test(what_is_no_object_gives_no_answer),
		cmocka_unit_test(an_answer_that_does_not_fit_is_refused),
		cmocka_unit_test(the_better_answer_is_the_one_that_knows_more),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
