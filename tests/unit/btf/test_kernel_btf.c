// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A BTF file of the kernel: read, refused if it describes another kernel, and shown to one thread at the path where
 * libbpf looks.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/rights.h"
#include "btf/btf_root.h"
#include "btf/kernel_btf.h"

DEFINE_CLEANUP(struct btf *, btf__free)
DEFINE_CLEANUP(struct btf_root *, btf_root_free)

static struct btf *make_types(const char *name)
{
	struct btf *b = btf__new_empty();

	btf__add_struct(b, name, 8);
	return b;
}

/* The caller unlinks it. */
static char *write_file(const void *data, size_t len)
{
	char *path = strdup("/tmp/sonde-test-XXXXXX");
	_cleanup_close_ int fd = mkstemp(path);

	assert_int_equal(write(fd, data, len), len);
	return path;
}

static void test_read(void **state)
{
	_cleanup_(btf__freep) struct btf *types = make_types("one"), *got = NULL;
	struct err err = { 0 };
	uint32_t len;
	const void *raw = btf__raw_data(types, &len);
	_cleanup_free_ char *path = write_file(raw, len);

	(void)state;
	assert_int_equal(kernel_btf_read(path, &got, &err), 0);
	assert_int_equal(btf__type_cnt(got), 2);
	assert_int_equal(kernel_btf_check(path, got, types, &err), 0);
	unlink(path);
	assert_int_equal(kernel_btf_read(path, &got, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "cannot open /tmp/sonde-test-"));
}

/* Truncated, of unknown format, empty: one sentence for all of them. */
static void test_broken(void **state)
{
	_cleanup_(btf__freep) struct btf *types = make_types("one"), *got = NULL;
	uint32_t len;
	const void *raw = btf__raw_data(types, &len);
	const struct { const void *data; size_t len; } files[] = {
		{ raw, len - 1 }, { raw, sizeof(struct btf_header) - 1 }, { "no types", 8 }, { "\177ELF", 4 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *path = write_file(files[i].data, files[i].len);
		struct err err = { 0 };

		assert_int_equal(kernel_btf_read(path, &got, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, " holds no BTF: name a copy of /sys/kernel/btf/vmlinux"));
		unlink(path);
	}
}

static void test_other_kernel(void **state)
{
	_cleanup_(btf__freep) struct btf *here = make_types("one"), *longer = make_types("three"),
					  *other = make_types("two");
	struct err err = { 0 };

	(void)state;
	assert_int_equal(kernel_btf_check("FILE", other, here, &err), -ESTALE);
	assert_non_null(strstr(err.msg, "FILE describes another kernel than the running "));
	assert_int_equal(kernel_btf_check("FILE", longer, here, &err), -ESTALE);
	assert_int_equal(kernel_btf_check("FILE", here, here, &err), 0);
	/* Where the kernel has no BTF of its own: this file lacks the tracepoints. */
	assert_int_equal(kernel_btf_check("FILE", here, NULL, &err), -ESTALE);
}

struct seen {
	struct btf *types;
	bool proc;
	uint64_t effective;
};

static void look(void *ctx)
{
	struct seen *s = ctx;

	s->types = btf__load_vmlinux_btf();
	s->proc = access("/proc/self", F_OK) == 0;
	s->effective = rights_effective();
}

/* Only the thread sees the types, and it sees nothing else. */
static void test_root(void **state)
{
	_cleanup_(btf__freep) struct btf *types = make_types("one"), *again = NULL;
	_cleanup_(btf_root_freep) struct btf_root *root = NULL;
	struct seen seen = { 0 };
	struct err err = { 0 };
	char before[256], after[256];

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	if (btf_root_new(types, &root, &err) == -EPERM)
		skip();
	assert_non_null(root);
	for (int i = 0; i < 3; i++) {
		btf_root_run(root, look, &seen);
		assert_non_null(seen.types);
		assert_int_equal(btf__type_cnt(seen.types), 2);
		assert_false(seen.proc);
		assert_true(seen.effective == rights_effective());
		btf__free(seen.types);
	}
	again = btf_root_types(root);
	assert_int_equal(btf__type_cnt(again), 2);
	assert_int_equal(access("/proc/self", F_OK), 0);
	assert_string_equal(getcwd(after, sizeof(after)), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_other_kernel),
		cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
