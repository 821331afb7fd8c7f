// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols against readelf, nm and objdump; the choice between several with hand-made files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "elf/symtab.h"
#include "elf_util.h"

#define BUDGET (64u << 20)

struct listed {
	uint64_t start, size;
	char name[256];
};

static int by_start(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Function symbols as readelf lists them, ascending. */
static size_t list_functions(const char *path, struct listed **ret)
{
	struct listed *all = NULL;
	size_t n = 0, cap = 0;
	char line[1024];
	FILE *f;

	snprintf(line, sizeof(line), "readelf -sW --dyn-syms %s 2>/dev/null", path);
	f = popen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char type[16], bind[16], vis[16], ndx[16], size[32];
		unsigned long long value;
		struct listed one = { 0 };

		if (sscanf(line, " %*d: %llx %31s %15s %15s %15s %15s %255s", &value, size, type, bind, vis, ndx,
			   one.name) != 7 || strspn(ndx, "0123456789") != strlen(ndx))
			continue;
		if (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0)
			continue;
		one.name[strcspn(one.name, "@")] = '\0';
		one.start = value;
		one.size = strtoull(size, NULL, 0);
		if (n == cap) {
			cap = cap ? 2 * cap : 1024;
			all = realloc(all, cap * sizeof(*all));
		}
		all[n++] = one;
	}
	pclose(f);
	qsort(all, n, sizeof(*all), by_start);
	*ret = all;
	return n;
}

static bool is_listed(const struct listed *all, size_t n, const struct symtab_hit *hit)
{
	size_t len = strcspn(hit->name, "@");

	for (size_t i = 0; i < n; i++)
		if (all[i].start == hit->start && strlen(all[i].name) == len && !strncmp(all[i].name, hit->name, len))
			return true;
	return false;
}

static void check_file(const char *path)
{
	struct listed *all;
	size_t n = list_functions(path, &all), m = 0;
	uint64_t *addrs = calloc(n, sizeof(*addrs));
	struct symtab_hit *hits = calloc(n, sizeof(*hits));
	struct symtab *t;
	struct elf *e;
	int fd = util_open(path);

	assert_true(n > 50);
	for (size_t i = 0; i < n; i++)
		if (!m || addrs[m - 1] != all[i].start)
			addrs[m++] = all[i].start;
	assert_int_equal(elf_open_fd(fd, BUDGET, &e), 0);
	assert_int_equal(symtab_new(e, BUDGET, &t), 0);
	assert_int_equal(symtab_lookup(t, addrs, m, hits), m);
	for (size_t i = 0; i < m; i++) {
		assert_int_equal(hits[i].start, addrs[i]);
		assert_true(is_listed(all, n, &hits[i]));
		free(hits[i].name);
	}
	symtab_free(t);
	elf_free(e);
	close(fd);
	free(hits);
	free(addrs);
	free(all);
}

static void every_function_of_real_files_is_found(void **state)
{
	static const char *const files[] = {
		"/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3", "/lib/x86_64-linux-gnu/libz.so.1",
	};
	bool any = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (access(files[i], R_OK) != 0)
			continue;
		check_file(files[i]);
		any = true;
	}
	if (!any)
		skip();
}

/* ---- one file, one address ---- */

static void need_name_at(const char *file, uint64_t addr, const char *name)
{
	struct symtab_hit hit;
	struct symtab *t;
	struct elf *e;
	int fd = util_open(file);

	assert_int_equal(elf_open_fd(fd, BUDGET, &e), 0);
	assert_int_equal(symtab_new(e, BUDGET, &t), 0);
	assert_int_equal(symtab_lookup(t, &addr, 1, &hit), name ? 1 : 0);
	if (name)
		assert_string_equal(hit.name, name);
	else
		assert_null(hit.name);
	free(hit.name);
	symtab_free(t);
	elf_free(e);
	close(fd);
}

static uint64_t address_of(const char *file, const char *name)
{
	unsigned long long found = 0, addr;
	char line[512], symbol[256], type;
	FILE *f;

	snprintf(line, sizeof(line), "nm %s", util_path(file));
	f = popen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, symbol) == 3 && !strcmp(symbol, name))
			found = addr;
	pclose(f);
	assert_true(found);
	return found;
}

/* Two functions with aliases, one without a size, a label in a function, a gap, other marks of tools. */
static const char source[] =
	".text\n.globl _start\n_start: .skip 16\n"
	".type sized,@function\n.globl sized\n.globl __sized\n.type __sized,@function\n"
	"sized:\n__sized:\nsized_local:\n .skip 8\ninner_label:\n .skip 8\n"
	".type sized_local,@function\n.size sized,16\n.size __sized,16\n.size sized_local,16\n"
	".skip 16\n"	/* the gap */
	".type bare,@function\n.globl bare\nbare: .skip 8\n\"$x\": .skip 8\n"
	".type outer,@function\n.globl outer\nouter: .skip 8\n.type nested,@function\nnested: .skip 8\n"
	".size nested,8\n.skip 16\n.size outer,32\n"
	".type last,@function\n.globl last\nlast: .skip 8\n"
	".section .fini,\"ax\"\n.skip 8\n";

static bool build_hand_made(void)
{
	util_write("h.s", source, sizeof(source) - 1);
	return util_sh("as h.s -o h.o && ld h.o -o h");
}

static void the_choice_follows_its_rules(void **state)
{
	uint64_t sized, bare, outer;

	(void)state;
	if (!build_hand_made())
		skip();
	sized = address_of("h", "sized");
	bare = address_of("h", "bare");
	outer = address_of("h", "outer");
	need_name_at("h", sized, "sized");	/* global, no underscores */
	need_name_at("h", sized + 15, "sized");
	need_name_at("h", sized + 16, "inner_label");	/* behind the function's end; the label has none */
	need_name_at("h", sized - 1, "_start");
	need_name_at("h", bare, "bare");
	need_name_at("h", bare + 15, "bare");	/* no size: extends to the next symbol; "$x" does not count */
	need_name_at("h", outer + 7, "outer");
	need_name_at("h", outer + 8, "nested");
	need_name_at("h", outer + 31, "outer");	/* around the nested one */
	need_name_at("h", outer + 32, "last");
	need_name_at("h", outer + 40, NULL);	/* the section ends, the next one follows at once */
	need_name_at("h", 0, NULL);
	need_name_at("h", UINT64_MAX, NULL);
}

static void minidebug_names_a_stripped_file(void **state)
{
	uint64_t sized;

	(void)state;
	if (!build_hand_made() || !util_sh("objcopy --only-keep-debug h mini && xz -k mini && strip h -o s && "
					   "objcopy --add-section .gnu_debugdata=mini.xz s m"))
		skip();
	sized = address_of("h", "sized");
	need_name_at("s", sized, NULL);
	need_name_at("m", sized, "sized");
}

static void stubs_are_named_as_objdump_names_them(void **state)
{
	char line[512];
	size_t n = 0;
	FILE *f = popen("objdump -d -j .plt -j .plt.sec -j .plt.got /usr/bin/git 2>/dev/null | grep '@plt>:'", "re");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && n < 100) {
		unsigned long long addr;
		char name[256];

		if (sscanf(line, "%llx <%255[^>]>:", &addr, name) != 2 || name[0] == '*')
			continue;
		need_name_at("/usr/bin/git", addr + n % 8, name);
		n++;
	}
	pclose(f);
	if (!n)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_of_real_files_is_found),
		cmocka_unit_test(the_choice_follows_its_rules),
		cmocka_unit_test(minidebug_names_a_stripped_file),
		cmocka_unit_test(stubs_are_named_as_objdump_names_them),
	};

	return cmocka_run_group_tests(tests, util_setup, util_teardown);
}
