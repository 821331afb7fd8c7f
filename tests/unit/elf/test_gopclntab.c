// SPDX-License-Identifier: GPL-2.0-or-later
/* Go programs of each installed compiler, against go tool nm, go tool addr2line and .debug_frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <glob.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "elf/dwarf/ehframe.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"
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

static int find_name(const struct gopclntab *t, const char *name, struct gofunc *ret)
{
	for (size_t i = 0; i < gopclntab_n(t); i++)
		if (gopclntab_func(t, i, ret) == 0 && !strcmp(ret->name, name))
			return 0;
	return -ENOENT;
}

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

/* Each function that nm lists starts at the table's address. */
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
		assert_int_equal(find_name(o.t, name, &by_name), 0);
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

/* ---- unwind rows ---- */

static uint64_t file_off(const struct elf *e, uint64_t vaddr)
{
	const struct elf_segment *s;
	size_t n;

	s = elf_segments(e, &n);
	for (size_t i = 0; i < n; i++)
		if (vaddr >= s[i].vaddr && vaddr - s[i].vaddr < s[i].filesz)
			return vaddr - s[i].vaddr + s[i].off;
	return UINT64_MAX;
}

static bool is_special(const struct opened *o, uint64_t pc)
{
	struct gofunc f;

	return gopclntab_find_pc(o->t, pc, &f) < 0 || gopclntab_flags(o->t, &f) ||
	       !strncmp(f.name, "runtime.sigreturn", 17);
}

/* Each row of .debug_frame, which the linker writes for debuggers, agrees with the unwind table. */
static void check_rows(const char *file)
{
	_cleanup_(buf_fini) struct buf table = { 0 };
	unsigned long long pc, offset;
	size_t n = 0, special = 0;
	struct opened o;
	char line[512];
	FILE *f;

	open_table(file, &o);
	assert_int_equal(ehframe_compile(o.e, 1 << 20, &table), 0);
	snprintf(line, sizeof(line), "readelf --debug-dump=frames-interp %s 2>&1", util_path(file));
	f = popen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct sonde_unwind_rule rule;

		if (sscanf(line, "%llx rsp+%llu ", &pc, &offset) != 2 || !pc)
			continue;
		rule = ehframe_table_find(table.data, file_off(o.e, pc));
		if (is_special(&o, pc) || is_special(&o, pc + 1)) {
			special++;
			continue;
		}
		assert_int_equal(rule.cfa, SONDE_CFA_REG);
		assert_int_equal(rule.cfa_off, offset);
		assert_int_equal(rule.ra, SONDE_RA_CFA8);
		n++;
	}
	pclose(f);
	assert_true(n > 5000 && special > 5 && special < n / 50);
	close_table(&o);
}

/* The runtime's functions: where stacks begin, and where one continues on another. */
static void check_special(const char *file)
{
	static const struct { const char *name; uint8_t cfa, ra; } want[] = {
		{ "runtime.goexit", SONDE_CFA_REG, SONDE_RA_NONE },
		{ "runtime.mcall", SONDE_CFA_REG, SONDE_RA_NONE },
		{ "runtime.mstart", SONDE_CFA_REG, SONDE_RA_NONE },
		{ "runtime.systemstack", SONDE_CFA_SWITCH, 0 },
		{ "runtime.asmcgocall", SONDE_CFA_SWITCH, 0 },
		{ "runtime.sigreturn__sigaction", SONDE_CFA_SIGNAL, 0 },
	};
	_cleanup_(buf_fini) struct buf table = { 0 };
	struct opened o;
	size_t n = 0;

	open_table(file, &o);
	assert_int_equal(ehframe_compile(o.e, 1 << 20, &table), 0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct sonde_unwind_rule rule;
		struct gofunc f;
		char abi0[64];

		snprintf(abi0, sizeof(abi0), "%s.abi0", want[i].name);
		if (find_name(o.t, want[i].name, &f) < 0 && find_name(o.t, abi0, &f) < 0)
			continue;
		/* the byte before: a return address may be the first of the next function */
		rule = ehframe_table_find(table.data, file_off(o.e, f.entry) - (want[i].cfa == SONDE_CFA_SIGNAL));
		assert_int_equal(rule.cfa, want[i].cfa);
		assert_int_equal(rule.ra, want[i].ra);
		n++;
	}
	assert_true(n >= ARRAY_SIZE(want) - 1);	/* without cgo the linker may leave one out */
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
	check_rows("plain");
	check_special("plain");
	check_special("stripped");
	if (!slow)
		return;
	assert_true(build(go, "-buildmode=pie", "pie"));
	assert_true(build(go, "-buildmode=pie -ldflags='-s -w'", "pie_stripped"));
	check_names(go, "pie", "pie");
	check_names(go, "pie", "pie_stripped");
	check_rows("pie");
}

/* Later compilers ship no compiled library, and compiling it takes a minute: with SONDE_TEST_SLOW=1 only. */
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
