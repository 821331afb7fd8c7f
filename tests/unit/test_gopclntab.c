// SPDX-License-Identifier: GPL-2.0-or-later
/* Go programs of each compiler that is installed, against go tool nm and go tool addr2line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <glob.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "elf/gopclntab.h"
#include "elf_util.h"

#define BUDGET (64u << 20)

static const char program[] =
	"package main\nimport \"fmt\"\ntype T struct{ n int }\n"
	"//go:noinline\nfunc (t *T) Method(a int) int { return t.n + helper(a) }\n"
	"func helper(a int) int { return a*3 + 1 }\n"
	"func main() {\n\tt := &T{4}\n\tf := func(x int) int { return t.Method(x) }\n\tfmt.Println(f(3))\n}\n";

struct opened {
	struct elf *e;
	struct gopclntab *t;
	int fd;
};

static void open_table(const char *name, struct opened *o)
{
	o->fd = util_open(name);
	assert_int_equal(elf_open_fd(o->fd, BUDGET, &o->e), 0);
	assert_int_equal(gopclntab_open(o->e, &o->t), 0);
}

static void close_table(struct opened *o)
{
	gopclntab_free(o->t);
	elf_free(o->e);
	close(o->fd);
}

static bool build(const char *go, const char *flags, const char *out)
{
	util_write("main.go", program, sizeof(program) - 1);
	return util_sh("HOME=%s GOCACHE=%s/cache GO111MODULE=off CGO_ENABLED=0 GOTOOLCHAIN=local "
		       "%s build %s -o %s main.go", util_dir, util_dir, go, flags, out);
}

/* Each function that nm lists starts where the table says. */
static void check_names(const char *go, const char *with_symbols, const char *file)
{
	char line[1024];
	struct opened o;
	size_t n = 0;
	FILE *f;

	snprintf(line, sizeof(line), "%s tool nm %s", go, util_path(with_symbols));
	open_table(file, &o);
	f = popen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long addr;
		struct gofunc by_pc, by_name;
		char type, name[512];

		if (sscanf(line, "%llx %c %511[^\n]", &addr, &type, name) != 3 || type != 'T')
			continue;
		if (strncmp(name, "main.", 5) && strncmp(name, "fmt.", 4) && strncmp(name, "strconv.", 8))
			continue;	/* assembler symbols have other names in the table */
		assert_int_equal(gopclntab_find_pc(o.t, addr + 1, &by_pc), 0);
		assert_string_equal(by_pc.name, name);
		assert_int_equal(by_pc.entry, addr);
		assert_int_equal(gopclntab_find_name(o.t, name, &by_name), 0);
		assert_int_equal(by_name.entry, addr);
		n++;
	}
	pclose(f);
	assert_true(n > 50);
	close_table(&o);
}

static void write_addresses(const struct gopclntab *t)
{
	FILE *f = fopen(util_path("addresses"), "we");

	assert_non_null(f);
	for (size_t i = 0; i < gopclntab_n(t); i += 7) {
		struct gofunc fn;

		assert_int_equal(gopclntab_func(t, i, &fn), 0);
		fprintf(f, "0x%llx\n", (unsigned long long)(fn.entry + (fn.end - fn.entry) / 3));
	}
	fclose(f);
}

/* Names, files and lines of addresses within functions. */
static void check_lines(const char *go, const char *with_symbols, const char *file)
{
	char cmd[1024], name[1024], place[1024], want[1200];
	struct opened o;
	size_t n = 0, lines = 0;
	FILE *f;

	open_table(file, &o);
	write_addresses(o.t);
	snprintf(cmd, sizeof(cmd), "%s tool addr2line %s <%s", go, util_path(with_symbols), util_path("addresses"));
	f = popen(cmd, "re");
	assert_non_null(f);
	while (fgets(name, sizeof(name), f) && fgets(place, sizeof(place), f)) {
		struct gofunc fn;
		const char *path;
		uint32_t line;
		uint64_t pc;

		name[strcspn(name, "\n")] = place[strcspn(place, "\n")] = '\0';
		assert_int_equal(gopclntab_func(o.t, 7 * n++, &fn), 0);
		pc = fn.entry + (fn.end - fn.entry) / 3;
		assert_string_equal(fn.name, name);
		if (gopclntab_line(o.t, &fn, pc, &path, &line) < 0) {
			assert_true(!strcmp(place, "?:0") || !strcmp(place, ":-1"));
			continue;
		}
		snprintf(want, sizeof(want), "%s:%u", path, line);
		assert_string_equal(want, place);
		lines++;
	}
	pclose(f);
	assert_true(n > 200 && lines > n / 2);
	close_table(&o);
}

static void check_compiler(const char *go, bool slow)
{
	assert_true(build(go, "", "plain"));
	assert_true(build(go, "-ldflags='-s -w'", "stripped"));
	assert_true(util_sh("objcopy --rename-section .gopclntab=.other stripped unnamed"));
	check_names(go, "plain", "plain");
	check_names(go, "plain", "stripped");
	check_names(go, "plain", "unnamed");
	check_lines(go, "plain", "plain");
	check_lines(go, "plain", "stripped");
	if (!slow)
		return;
	assert_true(build(go, "-buildmode=pie", "pie"));
	assert_true(build(go, "-buildmode=pie -ldflags='-s -w'", "pie_stripped"));
	check_names(go, "pie", "pie");
	check_names(go, "pie", "pie_stripped");
}

/* Later compilers bring no compiled library, and making one takes a minute: with SONDE_TEST_SLOW=1 only. */
static bool has_library(const char *go)
{
	char path[512];

	snprintf(path, sizeof(path), "%.*s/pkg/linux_amd64/fmt.a", (int)(strlen(go) - strlen("/bin/go")), go);
	return access(path, R_OK) == 0;
}

static void programs_of_each_compiler_are_read(void **state)
{
	bool all = getenv("SONDE_TEST_SLOW") != NULL;
	size_t n = 0;
	glob_t found;

	(void)state;
	if (glob("/usr/lib/go-*/bin/go", 0, NULL, &found) != 0)
		skip();
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (all || has_library(found.gl_pathv[i])) {
			check_compiler(found.gl_pathv[i], all);
			n++;
		}
	globfree(&found);
	if (!n)
		skip();
}

static void other_programs_have_none(void **state)
{
	struct gopclntab *t;
	struct elf *e;
	int fd = util_open("/bin/ls");

	(void)state;
	assert_int_equal(elf_open_fd(fd, BUDGET, &e), 0);
	assert_int_equal(gopclntab_open(e, &t), -ENOENT);
	elf_free(e);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_each_compiler_are_read),
		cmocka_unit_test(other_programs_have_none),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
