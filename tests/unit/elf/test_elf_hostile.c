// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile files: truncated at each header, counts and offsets out of bounds, holes of a terabyte, overlapping
 * sections. A worker with its usual limits resolves each: it answers or gives up, never crashes, never exceeds its
 * memory or time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "elf/mapped_file.h"
#include "elf/resolve.h"
#include "elf_util.h"
#include "worker/worker.h"

#define MS 1000000ull
#define DEADLINE_NS (30000 * MS)	/* per file: milliseconds on an idle machine; others may use the CPUs */

static const struct worker_opts opts = { .name = "resolve", .cpu_seconds = 4 };
static const uint64_t addrs[] = { 0, 0x1000, 0x1040, 0x1130, 0x1140, 0x401000, 0x401136, 0x7fffffffffff, UINT64_MAX };
static size_t n_files;

static void resolve_one(int fd, enum resolve_kind kind)
{
	struct resolve_request q = { .kind = kind, .lines = true, .addrs = addrs, .n = ARRAY_SIZE(addrs) };
	size_t cap = resolve_answer_cap(&q);
	struct resolve_answer *a = NULL;
	char *bytes = malloc(cap);
	struct err err = { 0 };
	ssize_t len;

	assert_non_null(bytes);
	len = worker_call(&opts, resolve_run, &q, fd, bytes, cap, DEADLINE_NS, &err);
	if (len < 0 && !strstr(err.msg, "gave up"))
		fail_msg("file %zu: %s", n_files, err.msg);
	if (len >= 0)
		assert_int_equal(resolve_answer_parse(&q, bytes, (size_t)len, &a), 0);
	resolve_answer_free(a);
	free(bytes);
	n_files++;
}

static void resolve_bytes(const char *data, size_t len, off_t hole_to)
{
	int fd;

	util_write("hostile", data, len);
	if (hole_to)
		assert_int_equal(truncate(util_path("hostile"), hole_to), 0);
	fd = util_open("hostile");
	assert_true(fd >= 0);
	resolve_one(fd, RESOLVE_ELF);
	close(fd);
}

/* A small program with symbols, compressed debug information and all other parts. */
static char *build_base(size_t *ret_len)
{
	static const char source[] = "int f(int a) { return a * 3; }\n"
				     "int main(int c, char **v) { return f(c) + !v; }\n";

	util_write("b.c", source, sizeof(source) - 1);
	if (!util_sh("gcc -g -O1 -gz b.c -o b"))
		skip();
	return util_read("b", ret_len);
}

static void files_cut_short(void **state)
{
	size_t len;
	char *base = build_base(&len);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(base + eh->e_shoff);

	(void)state;
	for (size_t i = 0; i < 24; i++)
		resolve_bytes(base, i * 7, 0);
	for (size_t i = 0; i < eh->e_shnum; i++) {
		resolve_bytes(base, sh[i].sh_offset + 1, 0);
		/* the same length, empty: a hole replaces the rest */
		resolve_bytes(base, sh[i].sh_offset + 1, (off_t)len);
	}
	free(base);
}

/* Each number of each header in turn gets an absurd value. */
static void numbers_beyond_all_bounds(void **state)
{
	static const uint64_t absurd[] = { UINT64_MAX, 1ull << 63, 1ull << 40 };
	size_t len;
	char *base = build_base(&len), *copy = malloc(len);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	size_t fields = 0;

	(void)state;
	assert_non_null(copy);
	for (size_t i = 0; i < eh->e_shnum; i++) {
		size_t at = eh->e_shoff + i * sizeof(Elf64_Shdr);

		for (size_t f = 0; f < 2; f++) { /* its offset; its size */
			size_t field = at + (f ? offsetof(Elf64_Shdr, sh_size) : offsetof(Elf64_Shdr, sh_offset));

			memcpy(copy, base, len);
			memcpy(copy + field, &absurd[fields++ % ARRAY_SIZE(absurd)], 8);
			resolve_bytes(copy, len, (fields & 3) ? 0 : (off_t)1 << 40);
		}
	}
	for (size_t at = EI_NIDENT; at + 2 <= sizeof(*eh); at += 2) {
		memcpy(copy, base, len);
		memset(copy + at, 0xff, 2);
		resolve_bytes(copy, len, 0);
	}
	free(copy);
	free(base);
}

/* All sections are the same bytes: the whole file. */
static void sections_over_each_other(void **state)
{
	size_t len;
	char *base = build_base(&len);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	Elf64_Shdr *sh = (Elf64_Shdr *)(base + eh->e_shoff);

	(void)state;
	for (size_t i = 1; i < eh->e_shnum; i++) {
		sh[i].sh_offset = 0;
		sh[i].sh_size = len;
		resolve_bytes(base, len, 0);
	}
	free(base);
}

/* Excessive symbols: a sparse table of a terabyte, and a table within the limits. */
static void tables_of_holes(void **state)
{
	static const uint64_t sizes[] = { 1ull << 40, 24ull << 20, 300ull << 20 };
	size_t len;
	char *base = build_base(&len);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	Elf64_Shdr *sh = (Elf64_Shdr *)(base + eh->e_shoff);

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++)
		for (size_t i = 1; i < eh->e_shnum; i++) {
			if (sh[i].sh_type != SHT_SYMTAB && sh[i].sh_type != SHT_STRTAB)
				continue;
			sh[i].sh_size = sizes[k];
			resolve_bytes(base, len, (off_t)1 << 41);
		}
	free(base);
}

static void other_kinds_are_bounded_too(void **state)
{
	int fd;

	(void)state;
	util_write("hole", "1000 10 f\n", 10);
	assert_int_equal(truncate(util_path("hole"), (off_t)1 << 40), 0);
	fd = util_open("hole");
	resolve_one(fd, RESOLVE_PERFMAP);
	resolve_one(fd, RESOLVE_JITDUMP);
	resolve_one(fd, RESOLVE_ELF);
	close(fd);
}

/* The file openers already refuse everything but regular files. */
static void the_opener_takes_regular_files_only(void **state)
{
	int root = open(util_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	(void)state;
	assert_true(root >= 0);
	assert_int_equal(mkfifo(util_path("fifo"), 0600), 0);
	assert_true(util_sh("ln -sf fifo link && ln -sf /proc/self/exe magic"));
	assert_true(mapped_file_open_at(root, "/fifo", true) < 0);
	assert_true(mapped_file_open_at(root, "/link", true) < 0);
	assert_true(mapped_file_open_at(root, "/magic", true) < 0);
	util_write("plain", "x", 1);
	r = mapped_file_open_at(root, "/plain", true);
	assert_true(r >= 0);
	close(r);
	close(root);
}

static void there_were_200_of_them(void **state)
{
	(void)state;
	assert_true(n_files >= 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_cut_short),
		cmocka_unit_test(numbers_beyond_all_bounds),
		cmocka_unit_test(sections_over_each_other),
		cmocka_unit_test(tables_of_holes),
		cmocka_unit_test(other_kinds_are_bounded_too),
		cmocka_unit_test(the_opener_takes_regular_files_only),
		cmocka_unit_test(there_were_200_of_them),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
