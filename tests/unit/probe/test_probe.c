// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel symbols, and why a kernel refused what it refused. The last part loads BPF and is skipped without rights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "host/kname.h"
#include "host/ksym.h"
#include "probe/load_error.h"
#include "tests/bpf/load.h"

/* ---- kernel symbols ---- */

static struct ksyms *symbols(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct ksyms *k = NULL;

	assert_non_null(f);
	assert_int_equal(ksym_read(f, &k), 0);
	fclose(f);
	return k;
}

static void check_name(const struct ksyms *k, uint64_t addr, const char *expected)
{
	char name[64] = "";

	assert_int_equal(ksym_name(k, addr, name, sizeof(name)), expected ? 0 : -ENOENT);
	assert_string_equal(name, expected ? expected : "");
}

static void test_ksym_names(_unused_ void **state)
{
	struct ksyms *k = symbols("ffffffff81002000 T second\n"
				  "ffffffff81001000 t first\n"
				  "ffffffff81003000 D data\n"
				  "ffffffffc0001000 t hook\t[nf_tables]\n"
				  "ffffffffc0002000 W weak [bpf]\n");

	check_name(k, 0xffffffff81000fff, NULL);
	check_name(k, 0xffffffff81001000, "first+0x0");
	check_name(k, 0xffffffff81001fff, "first+0xfff");
	check_name(k, 0xffffffff81002010, "second+0x10");
	check_name(k, 0xffffffff81003004, "second+0x1004");	/* data is in no function: not known here */
	check_name(k, 0xffffffff91002000, NULL);		/* far behind everything */
	check_name(k, 0xffffffffc0001003, "hook+0x3 [nf_tables]");
	check_name(k, 0xffffffffc0002001, "weak+0x1 [bpf]");
	ksym_free(k);
}

/* Facts that a later table may refine: modules, programs, and unused addresses. */
static void test_ksym_change(_unused_ void **state)
{
	struct ksyms *k = symbols("ffffffff81000000 T fixed\nffffffffc0000000 t bpf_prog_1_x\t[bpf]\n"
				  "ffffffffc0200000 t nf_hook\t[nf_tables]\n");
	struct ksyms *none = symbols("");

	assert_false(ksym_may_change(k, 0xffffffff81000010));
	assert_true(ksym_may_change(k, 0xffffffffc0000010));
	assert_true(ksym_may_change(k, 0xffffffffc0200010));
	assert_true(ksym_may_change(k, 0xffffffff00000000));
	assert_true(ksym_may_change(k, 0xffffffff90000000));
	assert_false(ksym_may_change(none, 0xffffffffc0000010)); /* hidden they stay */
	ksym_free(k);
	ksym_free(none);
}

static void test_ksym_hidden(_unused_ void **state)
{
	struct ksyms *k = symbols("0000000000000000 T first\n0000000000000000 T second\n");

	check_name(k, 0, NULL);
	check_name(k, 0xffffffff81001000, NULL);
	ksym_free(k);
	ksym_free(NULL);
}

static void test_ksym_bad_lines(_unused_ void **state)
{
	struct ksyms *k = symbols("\n \nf\nff\nff T\nff T \nxyz T name\nffffffffffffffff1 T toolong\n"
				  "ff T\tname\nff  name\nff T open [\nfff0 T open2 [mod\n1000 T good");

	check_name(k, 0xfe, NULL);
	check_name(k, 0xff, "open+0x0");
	check_name(k, 0xfff0, "open2+0x0");	/* an unfinished module is none */
	check_name(k, 0x1001, "good+0x1");
	ksym_free(k);
}

static void test_ksym_range(_unused_ void **state)
{
	struct ksyms *k = symbols("1000 T f\n1000 T alias\n1100 t f.part.0\n1200 t fun\n1300 t f\n");
	uint64_t start, end;

	assert_int_equal(ksym_range(k, "f", 0, &start, &end), 0);
	assert_int_equal(start, 0x1000);
	assert_int_equal(end, 0x1100);
	assert_int_equal(ksym_range(k, "f", 1, &start, &end), 0);
	assert_int_equal(start, 0x1100);
	assert_int_equal(ksym_range(k, "f", 2, &start, &end), 0);
	assert_int_equal(start, 0x1300);
	assert_int_equal(ksym_range(k, "f", 3, &start, &end), -ENOENT);
	ksym_free(k);
}

/* ---- refusals ---- */

static const struct {
	int code;
	const char *words, *log, *expected;
} refusals[] = {
	{ -ESRCH, "prog 'x': failed to find kernel BTF type ID of 'btf_trace_gone': -3", "",
	  "this kernel has no btf_trace_gone" },
	{ -EINVAL, "prog 'x': BPF program load failed: Invalid argument", "unknown func bpf_loop#181",
	  "this kernel does not offer bpf_loop to programs of this kind" },
	{ -EINVAL, "prog 'x': BPF program load failed: Invalid argument",
	  "program of this type cannot use helper bpf_get_socket_cookie#46",
	  "this kernel does not offer bpf_get_socket_cookie to programs of this kind" },
	{ -EINVAL, "prog 'x': BPF program load failed: Invalid argument", "invalid func unknown#181",
	  "this kernel lacks a helper that the program calls (number 181)" },
	{ -EACCES, "prog 'x': BPF program load failed: Permission denied", "R1 invalid mem access 'scalar'",
	  "the verifier refused x: R1 invalid mem access 'scalar'" },
	{ -E2BIG, "prog 'x': BPF program load failed: Argument list too long", "BPF program is too large.",
	  "the program is too long for this kernel's verifier" },
	{ -ESRCH, "kernel BTF is missing at '/sys/kernel/btf/vmlinux', was CONFIG_DEBUG_INFO_BTF enabled?", "",
	  "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)" },
	{ -ENOMEM, "map 'm': failed to create: Cannot allocate memory(-12)", "",
	  "the kernel refused the program (map 'm': failed to create: Cannot allocate memory(-12)): "
	  "Cannot allocate memory" },
	{ -EIO, "", "", "the kernel refused the program: Input/output error" },
	{ -EINVAL, "prog 'cut", "what", "the kernel refused the program (prog 'cut): Invalid argument" },
};

static void check_printed(const char *printed, const char *expected)
{
	char name[64] = "";

	assert_int_equal(kname_parse(printed, name, sizeof(name)), expected ? 0 : -ENOENT);
	assert_string_equal(name, expected ? expected : "");
}

static void test_printed_names(_unused_ void **state)
{
	check_printed("tcp_v4_rcv+0x1a/0xe40", "tcp_v4_rcv+0x1a");
	check_printed("nf_hook+0x3/0x20 [nf_tables]", "nf_hook+0x3 [nf_tables]");
	check_printed("bpf_prog_6deef7357e7b4530_dump+0x5/0x9", "bpf_prog_6deef7357e7b4530_dump+0x5 [bpf]");
	check_printed("0xffffffff81000000", NULL);
	check_printed("", NULL);
}

/* The kernel's own answers, against its own table. */
static void test_names_of_the_kernel(_unused_ void **state)
{
	struct ksyms *table = NULL;
	struct kname *k = NULL;
	uint64_t start, end;
	char asked[256], read[256];

	if (ksym_new(&table) < 0 || ksym_range(table, "tcp_v4_rcv", 0, &start, &end) < 0 || kname_new(&k) < 0) {
		ksym_free(table);
		skip();
	}
	for (uint64_t addr = start; addr < end; addr += 7) {
		assert_int_equal(kname_get(k, addr, asked, sizeof(asked)), 0);
		assert_int_equal(ksym_name(table, addr, read, sizeof(read)), 0);
		assert_string_equal(asked, read);
	}
	assert_int_equal(kname_get(k, 4096, asked, sizeof(asked)), -ENOENT);
	kname_free(k);
	ksym_free(table);
}

static void test_refusals(_unused_ void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct err err = { 0 };

		assert_int_equal(load_error_explain(&err, refusals[i].code, refusals[i].words, refusals[i].log),
				 refusals[i].code);
		assert_string_equal(err.msg, refusals[i].expected);
	}
}

static void test_last_line(_unused_ void **state)
{
	char line[16];

	load_error_last_line("0: (85) call\nthe reason\nprocessed 3 insns (limit 1000000)\n\nstack depth 8\n", line,
			     sizeof(line));
	assert_string_equal(line, "the reason");
	load_error_last_line("a reason that is longer than there is room", line, sizeof(line));
	assert_string_equal(line, "a reason that i");
	load_error_last_line("", line, sizeof(line));
	assert_string_equal(line, "");
}

/* ---- this kernel's ---- */

static void refused(struct probe_env *env, const char *prog, const char *expected)
{
	struct err err = { 0 };

	assert_true(load_one(env, prog, &err) < 0);
	if (!strstr(err.msg, expected))
		fail_msg("%s: '%s' lacks '%s'", prog, err.msg, expected);
}

static void test_refused_here(_unused_ void **state)
{
	const struct probe_env_opts o = { .ring_bytes = 4096, .life_ring_bytes = 4096 };
	struct probe_env *env = NULL;
	struct err err = { 0 };
	int r = probe_env_new(&o, &env, &err);

	if (r == -EPERM || r == -EACCES) {
		print_message("skipped: %s\n", err.msg);
		skip();
	}
	assert_int_equal(r, 0);
	refused(env, "load_bad_access", "the verifier refused load_bad_access: ");
	refused(env, "load_bad_access", "memory range");
	refused(env, "load_bad_helper", "this kernel lacks a helper that the program calls (number 9999)");
	refused(env, "load_bad_tracepoint", "this kernel has no no_such_tracepoint");
	assert_int_equal(load_one(env, "load_empty", &err), 0);	/* nothing of that sticks */
	probe_env_free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ksym_names),
		cmocka_unit_test(test_ksym_change),
		cmocka_unit_test(test_ksym_hidden),
		cmocka_unit_test(test_ksym_bad_lines),
		cmocka_unit_test(test_ksym_range),
		cmocka_unit_test(test_printed_names),
		cmocka_unit_test(test_names_of_the_kernel),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_last_line),
		cmocka_unit_test(test_refused_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
