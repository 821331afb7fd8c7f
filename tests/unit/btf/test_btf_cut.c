// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types reduced to those that an object names: their layout is unchanged, and invalid input is refused.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "btf/btf_cut.h"

/* struct inner { int a; }; struct outer { struct inner in[3]; struct far *p; fn_t *f; }; struct far { int x; }; */
static struct btf *make_types(void)
{
	struct btf *b = btf__new_empty();
	int num = btf__add_int(b, "int", 4, BTF_INT_SIGNED), far, inner, array, ptr, proto, fn, outer;

	far = btf__add_struct(b, "far", 4);
	btf__add_field(b, "x", num, 0, 0);
	inner = btf__add_struct(b, "inner", 4);
	btf__add_field(b, "a", num, 0, 0);
	array = btf__add_array(b, num, inner, 3);
	ptr = btf__add_ptr(b, far);
	proto = btf__add_func_proto(b, num);
	btf__add_func_param(b, "arg", ptr);
	fn = btf__add_ptr(b, btf__add_typedef(b, "fn_t", proto));
	outer = btf__add_struct(b, "outer", 32);
	btf__add_field(b, "in", array, 0, 0);
	btf__add_field(b, "p", ptr, 128, 0);
	btf__add_field(b, "f", fn, 192, 0);
	assert_true(outer > 0);
	btf__add_enum(b, "colour", 4);
	btf__add_enum_value(b, "RED", 7);
	return b;
}

static struct btf *make_names(const char *first, const char *second)
{
	struct btf *b = btf__new_empty();

	btf__add_struct(b, first, 0);
	if (second)
		btf__add_enum(b, second, 4);
	return b;
}

static struct btf *cut(const struct btf *from, const struct btf *names)
{
	uint32_t len;
	const void *raw = btf__raw_data(from, &len);
	struct buf out = { 0 };
	struct btf *ret;

	assert_int_equal(btf_cut(raw, len, names, &out), 0);
	ret = btf__new(out.data, (uint32_t)out.len);
	assert_non_null(ret);
	buf_fini(&out);
	return ret;
}

static const struct btf_type *find(const struct btf *b, const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(b, name, kind);

	return id < 0 ? NULL : btf__type_by_id(b, (uint32_t)id);
}

static void test_small(void **state)
{
	struct btf *types = make_types(), *names = make_names("outer___old", "colour"), *got = cut(types, names);
	const struct btf_type *outer = find(got, "outer", BTF_KIND_STRUCT), *array, *colour;

	(void)state;
	assert_non_null(outer);
	assert_int_equal(outer->size, 32);
	assert_int_equal(btf_vlen(outer), 3);
	assert_string_equal(btf__name_by_offset(got, btf_members(outer)[1].name_off), "p");
	assert_int_equal(btf_members(outer)[2].offset, 192);
	array = btf__type_by_id(got, btf_members(outer)[0].type);
	assert_true(btf_is_array(array));
	assert_int_equal(btf_array(array)->nelems, 3);
	array = btf__type_by_id(got, btf_array(array)->type);
	assert_string_equal(btf__name_by_offset(got, array->name_off), "inner");
	assert_int_equal(btf__type_by_id(got, btf_members(outer)[1].type)->type, 0);
	assert_null(find(got, "far", BTF_KIND_STRUCT));
	colour = find(got, "colour", BTF_KIND_ENUM);
	assert_non_null(colour);
	assert_int_equal(btf_enum(colour)[0].val, 7);
	assert_string_equal(btf__name_by_offset(got, btf_enum(colour)[0].name_off), "RED");
	btf__free(got);
	btf__free(names);
	btf__free(types);
}

/* An object that names no type leaves no type. */
static void test_nothing(void **state)
{
	struct btf *types = make_types(), *names = make_names("other", NULL), *got = cut(types, names);

	(void)state;
	assert_int_equal(btf__type_cnt(got), 1);
	btf__free(got);
	btf__free(names);
	btf__free(types);
}

static void test_broken(void **state)
{
	struct btf *types = make_types(), *names = make_names("outer", NULL);
	uint32_t len;
	const uint8_t *raw = btf__raw_data(types, &len);
	struct buf out = { 0 };

	(void)state;
	for (uint32_t n = 0; n < len; n++) {
		uint8_t *copy = malloc(n + 1);	/* so that a sanitizer reports reads past the end */

		memcpy(copy, raw, n);
		assert_int_equal(btf_cut(copy, n, names, &out), -EBADMSG);
		free(copy);
	}
	for (uint32_t i = 0; i < len; i++) {
		uint8_t *copy = malloc(len);

		memcpy(copy, raw, len);
		copy[i] ^= 0xff;
		buf_reset(&out);
		btf_cut(copy, len, names, &out);	/* whatever it contains, within bounds */
		free(copy);
	}
	buf_fini(&out);
	btf__free(names);
	btf__free(types);
}

/* Every member of a large type of the running kernel keeps its offset and size. */
static void test_kernel(void **state)
{
	struct btf *all = btf__load_vmlinux_btf(), *names = make_names("task_struct", NULL), *got;
	const struct btf_type *before, *after;
	struct stat st;
	char path[64];
	int fd;

	(void)state;
	if (!all)
		skip();
	fd = btf_cut_kernel(names);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_in_range(st.st_size, 1000, 1 << 20);	/* of 5 MB */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	got = btf__parse(path, NULL);
	assert_non_null(got);
	before = find(all, "task_struct", BTF_KIND_STRUCT);
	after = find(got, "task_struct", BTF_KIND_STRUCT);
	assert_int_equal(before->size, after->size);
	assert_int_equal(btf_vlen(before), btf_vlen(after));
	for (int i = 0; i < btf_vlen(before); i++) {
		const struct btf_member *x = btf_members(before) + i, *y = btf_members(after) + i;

		assert_string_equal(btf__name_by_offset(all, x->name_off), btf__name_by_offset(got, y->name_off));
		assert_int_equal(x->offset, y->offset);
		assert_int_equal(btf__resolve_size(all, x->type), btf__resolve_size(got, y->type));
	}
	btf__free(got);
	btf__free(names);
	btf__free(all);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
