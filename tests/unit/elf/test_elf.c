// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF headers, segments, sections and build ids against readelf's and objcopy's output for the same files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "elf_util.h"

#define BUDGET (64u << 20)

static const char *const real_files[] = {
	"/bin/ls", "/bin/sh", "/usr/bin/python3", "/usr/bin/git", "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2",
	"/lib/ld-linux-aarch64.so.1",
};

static struct elf *open_file(const char *name)
{
	int fd = util_open(name), r;
	struct elf *e = NULL;

	assert_true(fd >= 0);
	r = elf_open_fd(fd, BUDGET, &e);
	assert_int_equal(r, 0);
	return e;	/* borrowed: the descriptor stays open until the test ends */
}

/* ---- against readelf ---- */

static void check_section_line(const struct elf *e, const char *line, size_t *n)
{
	unsigned long long addr, off, size, entsize;
	char name[300] = "", type[64];
	const struct elf_section *all;
	unsigned index;
	size_t count;

	if (sscanf(line, " [%u] %299s %63s %llx %llx %llx %llx", &index, name, type, &addr, &off, &size,
		   &entsize) != 7 || !index) /* section 0 has no name to scan */
		return;
	all = elf_sections(e, &count);
	assert_true(index < count);
	assert_string_equal(all[index].name, name);
	assert_int_equal(all[index].addr, addr);
	assert_int_equal(all[index].off, off);
	assert_int_equal(all[index].size, size);
	assert_int_equal(all[index].entsize, entsize);
	++*n;
}

static void check_segment_line(const struct elf *e, const char *line, size_t *n)
{
	unsigned long long off, vaddr, paddr, filesz, memsz;
	const struct elf_segment *all;
	char flags[8] = "";
	size_t count;

	if (sscanf(line, " LOAD %llx %llx %llx %llx %llx %4c", &off, &vaddr, &paddr, &filesz, &memsz, flags) != 6)
		return;
	all = elf_segments(e, &count);
	assert_true(*n < count);
	assert_int_equal(all[*n].off, off);
	assert_int_equal(all[*n].vaddr, vaddr);
	assert_int_equal(all[*n].filesz, filesz);
	assert_int_equal(all[*n].memsz, memsz);
	assert_int_equal(all[*n].exec, strchr(flags, 'E') != NULL);
	++*n;
}

static void check_build_id_line(struct elf *e, const char *line, size_t *n)
{
	const char *p = strstr(line, "Build ID: ");
	uint8_t id[ELF_BUILD_ID_MAX];
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";
	size_t len;

	if (!p)
		return;
	len = elf_build_id(e, id);
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	assert_memory_equal(p + 10, hex, strlen(hex));
	assert_int_equal(p[10 + strlen(hex)], '\n');
	++*n;
}

static void headers_are_those_of_readelf(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(real_files); i++) {
		size_t sections = 0, segments = 0, ids = 0, count;
		struct elf *e;
		char line[1024];
		FILE *f;

		if (access(real_files[i], R_OK) != 0)
			continue;
		e = open_file(real_files[i]);
		snprintf(line, sizeof(line), "readelf -SW -lW -n %s 2>/dev/null",
			 strcmp(real_files[i], "/proc/self/exe") ? real_files[i] : "/proc/$PPID/exe");
		f = popen(line, "re");
		assert_non_null(f);
		while (fgets(line, sizeof(line), f)) {
			check_section_line(e, line, &sections);
			check_segment_line(e, line, &segments);
			check_build_id_line(e, line, &ids);
		}
		pclose(f);
		(void)elf_segments(e, &count);
		assert_true(segments == count && count >= 2);
		(void)elf_sections(e, &count);
		assert_int_equal(sections + 1, count);
		assert_true(ids <= 1);
		elf_free(e);
	}
}

static void an_address_and_its_file_offset_belong_together(void **state)
{
	struct elf *e = open_file("/bin/ls");
	struct elf_section text;
	const uint8_t *by_section, *by_vaddr;
	uint64_t off, vaddr;
	size_t len;

	(void)state;
	assert_int_equal(elf_section_find(e, ".text", &text), 0);
	assert_int_equal(elf_off_to_vaddr(e, text.off + 5, &vaddr), 0);
	assert_int_equal(vaddr, text.addr + 5);
	assert_int_equal(elf_vaddr_to_off(e, vaddr, &off), 0);
	assert_int_equal(off, text.off + 5);
	assert_int_equal(elf_off_to_vaddr(e, 1, &vaddr), -ENOENT);	/* not executable */
	assert_int_equal(elf_vaddr_to_off(e, UINT64_MAX, &off), -ENOENT);
	assert_int_equal(elf_section_data(e, &text, &by_section, &len), 0);
	assert_int_equal(len, text.size);
	assert_int_equal(elf_vaddr_data(e, text.addr, len, &by_vaddr), 0);
	assert_memory_equal(by_section, by_vaddr, len);
	assert_int_equal(elf_vaddr_data(e, text.addr, SIZE_MAX, &by_vaddr), -ENOENT);
	assert_true(elf_entry(e) >= text.addr && elf_entry(e) < text.addr + text.size);
	elf_free(e);
}

/* ---- compressed sections ---- */

static void same_section(const char *plain, const char *packed, const char *name)
{
	struct elf *a = open_file(plain), *b = open_file(packed);
	struct elf_section sa, sb;
	const uint8_t *da, *db, *again;
	size_t la, lb;

	assert_int_equal(elf_section_find(a, name, &sa), 0);
	assert_int_equal(elf_section_find(b, name, &sb), 0);
	assert_true(sb.flags & SHF_COMPRESSED);
	assert_true(sb.size < sa.size);
	assert_int_equal(elf_section_data(a, &sa, &da, &la), 0);
	assert_int_equal(elf_section_data(b, &sb, &db, &lb), 0);
	assert_int_equal(la, lb);
	assert_memory_equal(da, db, la);
	assert_int_equal(elf_section_data(b, &sb, &again, &lb), 0);
	assert_ptr_equal(db, again);
	elf_free(a);
	elf_free(b);
}

static void compressed_sections_are_unpacked(void **state)
{
	static const char *const kinds[] = { "zlib-gabi", "zstd" };
	bool any = false;

	(void)state;
	if (!util_sh("printf '#include <stdio.h>\nint main(void) { return puts(\"\"); }' >a.c && "
		     "gcc -g3 -c a.c -o plain"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!util_sh("objcopy --compress-debug-sections=%s plain packed", kinds[i]))
			continue;
		same_section("plain", "packed", ".debug_str");
		any = true;
	}
	assert_true(any);
}

/* ---- budget ---- */

static void more_than_the_budget_is_refused(void **state)
{
	int fd = util_open("/bin/ls");
	struct elf_section text;
	const uint8_t *data;
	struct elf *e = NULL;
	size_t len;

	(void)state;
	assert_int_equal(elf_open_fd(fd, 100, &e), -E2BIG);
	assert_int_equal(elf_open_fd(fd, 32u << 10, &e), 0);
	assert_int_equal(elf_section_find(e, ".text", &text), 0);
	assert_int_equal(elf_section_data(e, &text, &data, &len), -E2BIG);
	elf_free(e);
	close(fd);
}

static void a_buffer_is_read_like_a_file(void **state)
{
	size_t len, n, m, la, lb;
	char *data = util_read("/bin/ls", &len);
	const uint8_t *da, *db;
	struct elf *e, *f = open_file("/bin/ls");
	const struct elf_section *s, *t;

	(void)state;
	assert_int_equal(elf_open_mem(data, len, BUDGET, &e), 0);
	s = elf_sections(e, &n);
	t = elf_sections(f, &m);
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		int r = elf_section_data(e, &s[i], &da, &la);

		assert_string_equal(s[i].name, t[i].name);
		assert_int_equal(r, elf_section_data(f, &t[i], &db, &lb));
		if (r == 0)
			assert_memory_equal(da, db, la);
	}
	elf_free(e);
	elf_free(f);
	free(data);
}

static void a_file_without_sections_keeps_its_segments_and_id(void **state)
{
	uint8_t with[ELF_BUILD_ID_MAX], without[ELF_BUILD_ID_MAX];
	size_t len, n;
	char *data = util_read("/bin/ls", &len);
	struct elf *e, *f = open_file("/bin/ls");
	Elf64_Ehdr *h = (Elf64_Ehdr *)data;

	(void)state;
	h->e_shoff = len + 1;
	assert_int_equal(elf_open_mem(data, len, BUDGET, &e), 0);
	(void)elf_sections(e, &n);
	assert_int_equal(n, 0);
	n = elf_build_id(f, with);
	assert_int_equal(n, 20);
	assert_int_equal(elf_build_id(e, without), n);
	assert_memory_equal(with, without, n);
	elf_free(e);
	elf_free(f);
	free(data);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	int fd = util_open("/etc/passwd"), pipes[2];
	struct elf *e = NULL;

	(void)state;
	assert_int_equal(elf_open_fd(fd, BUDGET, &e), -EBADMSG);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(elf_open_fd(pipes[0], BUDGET, &e), -ESPIPE);
	assert_int_equal(elf_open_fd(-1, BUDGET, &e), -EBADF);
	assert_int_equal(elf_open_mem("", 0, BUDGET, &e), -EBADMSG);
	close(pipes[0]);
	close(pipes[1]);
	elf_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_those_of_readelf),
		cmocka_unit_test(an_address_and_its_file_offset_belong_together),
		cmocka_unit_test(compressed_sections_are_unpacked),
		cmocka_unit_test(more_than_the_budget_is_refused),
		cmocka_unit_test(a_buffer_is_read_like_a_file),
		cmocka_unit_test(a_file_without_sections_keeps_its_segments_and_id),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
