// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"

#define MAP_BYTES 4096

struct world {
	char dir[32], path[48];
	int proc_fd;
	void *map;		/* of the file at path */
	struct mapped_file m;
};

static void write_file(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, MAP_BYTES), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	_cleanup_close_ int fd = -1;
	struct stat st;

	strcpy(w->dir, "/tmp/sonde-mapped-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/code", w->dir);
	write_file(w->path, "first");
	fd = open(w->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	w->map = mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(w->map != MAP_FAILED);
	w->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	w->m = (struct mapped_file){
		.start = (uintptr_t)w->map, .end = (uintptr_t)w->map + MAP_BYTES, .path = w->path, .ino = st.st_ino,
	};
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	munmap(w->map, MAP_BYTES);
	close(w->proc_fd);
	unlink(w->path);
	rmdir(w->dir);
	free(w);
	return 0;
}

/* The first bytes of the opened file, or the error. */
static const char *content(const struct world *w, const struct mapped_file *m)
{
	static char text[16];
	_cleanup_close_ int fd = mapped_file_open(w->proc_fd, (uint32_t)getpid(), m);

	memset(text, 0, sizeof(text));
	if (fd < 0)
		return strerror(-fd);
	assert_int_equal(pread(fd, text, 6, 0), 6);
	return text;
}

/* map_files needs more privileges than reading a file. */
static bool can_see_ranges(const struct world *w)
{
	char link[80], target[8];

	snprintf(link, sizeof(link), "%d/map_files/%llx-%llx", getpid(), (unsigned long long)w->m.start,
		 (unsigned long long)w->m.end);
	if (faccessat(w->proc_fd, link, R_OK, 0) == 0 && readlinkat(w->proc_fd, link, target, sizeof(target)) > 0)
		return geteuid() == 0;
	return false;
}

static void test_same_file(void **state)
{
	const struct world *w = *state;
	struct mapped_file m = w->m;

	assert_string_equal(content(w, &m), "first");
	m.end = 0;
	assert_string_equal(content(w, &m), "first");
	m.ino = 0;
	assert_string_equal(content(w, &m), "first");
	m.ino = w->m.ino + 1;
	assert_string_equal(content(w, &m), strerror(ESTALE));
}

/* The address range still leads to the old file; the path leads to another file, which is reported. */
static void test_replaced_and_deleted(void **state)
{
	struct world *w = *state;
	struct mapped_file by_path = w->m, by_range = w->m;

	by_path.end = 0;
	unlink(w->path);
	assert_string_equal(content(w, &by_path), strerror(ENOENT));
	write_file(w->path, "second");
	/* The kernel may reuse a free inode number at once: the mapping holds the old one. */
	assert_string_equal(content(w, &by_path), strerror(ESTALE));
	if (!can_see_ranges(w))
		skip();
	assert_string_equal(content(w, &by_range), "first");
	by_range.ino = 0;
	assert_string_equal(content(w, &by_range), "first");
}

/* Another file at the same addresses, without an inode number to compare: its name decides. */
static void test_other_name_in_range(void **state)
{
	const struct world *w = *state;
	struct mapped_file m = w->m;

	if (!can_see_ranges(w))
		skip();
	m.ino = 0;
	m.path = "/nowhere/other";
	assert_string_equal(content(w, &m), strerror(ENOENT));
}

static void test_not_regular(void **state)
{
	struct world *w = *state;
	struct mapped_file m = { .path = w->path };

	unlink(w->path);
	assert_int_equal(mkfifo(w->path, 0600), 0);	/* would block without the care taken */
	assert_string_equal(content(w, &m), strerror(EINVAL));
	m.path = "/dev/zero";
	assert_string_equal(content(w, &m), strerror(EINVAL));
	m.path = w->dir;
	assert_string_equal(content(w, &m), strerror(EINVAL));
	m.path = "/proc/self/exe";
	assert_string_equal(content(w, &m), strerror(ELOOP));
}

static void test_links_and_root(void **state)
{
	struct world *w = *state;
	_cleanup_close_ int root = open(w->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "%s/link", w->dir);
	assert_int_equal(symlink("../../../../code", link), 0);
	fd = mapped_file_open_at(root, "link", false); /* ".." ends at the root */
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mapped_file_open_at(root, "/link", true), -EINVAL); /* the link itself is not a regular
									      * file */
	unlink(link);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(mapped_file_open_at(root, "link", false), -ENOENT);
	unlink(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replaced_and_deleted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_name_in_range, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_regular, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links_and_root, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
