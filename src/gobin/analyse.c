// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Analyses one file, from its descriptor to the answer. A missing or broken part disables what depends on it and adds
 * a sentence; a file is refused as a whole only if it is not a Go program or has no function table.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"
#include "gobin/goroutine.h"
#include "gobin/job.h"

#define DEFAULT_BUDGET_BYTES (192ull << 20)
#define QUERIES_MAX (GOBIN_F__MAX + GOBIN_T__MAX + 2 * GOBIN_I__MAX)

static void job_fini(struct job *j)
{
	dwarf_facts_fini(&j->dwarf);
	types_fini(&j->types);
	gopclntab_free(j->table);
	image_fini(&j->img);
	elf_free(j->elf);
	buf_fini(&j->strings);
}

static void add_query(struct type_query *list, size_t *n, enum go_pkg pkg, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i].pkg == pkg && !strcmp(list[i].name, name))
			return;
	list[(*n)++] = (struct type_query){ pkg, name };
}

static size_t all_queries(const struct gobin_request *q, struct type_query *ret)
{
	size_t n = 0;

	for (int i = 0; i < GOBIN_F__MAX; i++)
		if (!q->runtime_only || field_rows[i].pkg == PKG_RUNTIME)
			add_query(ret, &n, field_rows[i].pkg, field_rows[i].structure);
	if (q->runtime_only)
		return n;
	for (int i = 0; i < GOBIN_T__MAX; i++)
		add_query(ret, &n, type_rows[i].pkg, type_rows[i].name);
	for (int i = 0; i < GOBIN_I__MAX; i++) {
		add_query(ret, &n, itab_rows[i].pkg, itab_rows[i].name);
		add_query(ret, &n, itab_rows[i].inter_pkg, itab_rows[i].inter);
	}
	return n;
}

/* ---- steps ---- */

static int open_file(struct job *j, int fd, size_t budget, struct err *err)
{
	int r = elf_open_fd(fd, budget, &j->elf);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return err_set(err, -ENOEXEC, "no ELF file that can be read");
	j->a.machine = elf_machine(j->elf);
	if (!elf_is_64(j->elf) || (j->a.machine != EM_X86_64 && j->a.machine != EM_AARCH64))
		return err_set(err, -ENOEXEC, "a program of a machine other than x86-64 and arm64");
	r = image_init(&j->img, j->elf, budget / 2);
	if (r == -E2BIG)
		return err_set(err, -ENOEXEC, "its relocations take more memory than an analysis may use");
	return r;
}

static int open_table(struct job *j, struct err *err)
{
	int r = gopclntab_open(j->elf, &j->table);

	if (r == 0 || r == -ENOMEM)
		return r;
	if (r == -ENOENT && !j->id.found)
		return err_set(err, -ENOEXEC, "not a Go program: neither build information nor .gopclntab");
	if (r == -ENOENT)
		return err_set(err, -ENOEXEC, "a Go program without its table of functions (.gopclntab)");
	if (r == -E2BIG)
		return err_set(err, -ENOEXEC, "its table of functions takes more memory than an analysis may use");
	return err_set(err, -ENOEXEC, "a Go program whose table of functions (.gopclntab) makes no sense");
}

/*
 * A release that does not write this program's table format is ignored: the bytes that the program runs by outweigh
 * its build information.
 */
static void check_release(struct job *j)
{
	static const struct { unsigned since, before; } formats[] = {
		{ 2, 16 }, { 16, 18 }, { 18, 20 }, { 20, 256 },
	};
	unsigned since = gopclntab_since(j->table);

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].since == since && j->id.minor &&
		    (j->id.minor < formats[i].since || j->id.minor >= formats[i].before)) {
			j->id.minor = 0;
			j->id.version_source = "build information, which .gopclntab contradicts: not believed";
		}
}

static enum gobin_abi abi_of(const struct job *j)
{
	unsigned since = gopclntab_since(j->table), first = j->a.machine == EM_X86_64 ? 17 : 18;

	if (j->id.minor)
		return j->id.minor >= first ? GOBIN_ABI_REGS : GOBIN_ABI0;
	if (since >= 18)
		return GOBIN_ABI_REGS;
	return since < 16 || first == 18 ? GOBIN_ABI0 : GOBIN_ABI_UNKNOWN;
}

static int read_types(struct job *j, const struct type_query *queries, size_t n)
{
	if (gobin_module_find(&j->img, j->table, j->id.minor, &j->module, &j->types_why) < 0)
		return 0;
	return types_read(&j->img, &j->module, j->id.minor, gopclntab_since(j->table), queries, n, &j->types,
			  &j->types_why) == -ENOMEM ? -ENOMEM : 0;
}

static int read_dwarf(struct job *j, const struct type_query *queries, size_t n)
{
	uint64_t entries[FUNCTIONS_MAX];
	size_t n_entries = 0;
	int r;

	if (j->q->no_dwarf) {
		j->dwarf_why = "not asked for";
		return 0;
	}
	for (size_t i = 0; i < j->n_hookers; i++)
		if (j->functions[i].name)
			entries[n_entries++] = j->functions[i].entry;
	qsort(entries, n_entries, sizeof(entries[0]), vec_by_u64);
	r = dwarf_read(j->elf, queries, n, entries, n_entries, j->module.types, &j->dwarf, &j->dwarf_why);
	return r == -ENOMEM ? r : 0;
}

static void answer_identity(struct job *j)
{
	struct elf_section s;

	j->a.go_version = answer_str(j, j->id.version);
	j->a.version_source = answer_str(j, j->id.version_source ? j->id.version_source : "");
	j->a.go_build_id = answer_str(j, j->id.build_id);
	j->a.module = answer_str(j, j->id.module);
	j->a.grpc_version = answer_str(j, j->id.grpc);
	j->a.xnet_version = answer_str(j, j->id.xnet);
	j->a.minor = (uint8_t)MIN(j->id.minor, 255u);
	j->a.mode = (uint8_t)j->id.mode;
	j->a.n_deps = j->id.n_deps;
	j->a.n_build_id = (uint8_t)elf_build_id(j->elf, j->a.build_id);
	j->a.has_symtab = elf_section_find(j->elf, ".symtab", &s) == 0;
	j->a.base = image_base(&j->img);
	j->a.fixed_end = image_fixed_end(&j->img);
	j->a.pclntab = gopclntab_addr(j->table);
	j->a.text = gopclntab_text(j->table);
	j->a.n_functions = (uint32_t)MIN(gopclntab_n(j->table), (size_t)UINT32_MAX);
}

static void answer_layout(struct job *j)
{
	j->a.types = j->module.types;
	j->a.etypes = j->module.etypes;
	j->a.moduledata = j->module.addr;
	j->a.n_types = j->types.n_types;
	j->a.n_itabs = j->types.n_itabs;
	j->a.has_dwarf = !j->dwarf_why;
	j->a.types_why = answer_str(j, j->types_why ? j->types_why : "");
	j->a.dwarf_why = answer_str(j, j->dwarf_why ? j->dwarf_why : "");
}

/* @j is zeroed except for the request. */
static int analyse(struct job *j, int fd, struct err *err)
{
	size_t budget = j->q->budget_bytes ? j->q->budget_bytes : DEFAULT_BUDGET_BYTES, n;
	struct type_query queries[QUERIES_MAX];
	int r = buf_add_char(&j->strings, '\0');

	if (r == 0)
		r = open_file(j, fd, budget, err);
	if (r < 0)
		return r;
	identify(&j->img, &j->id);
	r = open_table(j, err);
	if (r < 0)
		return r;
	check_release(j);
	answer_identity(j);
	j->a.abi = (uint8_t)abi_of(j);
	n = all_queries(j->q, queries);
	goroutine_find(j);
	if (!j->q->runtime_only)
		evaluate_functions(j);
	r = read_types(j, queries, n);
	if (r == 0)
		r = read_dwarf(j, queries, n);
	if (r < 0)
		return r;
	layout_merge(j);
	answer_layout(j);
	r = conns_find(j);
	if (r < 0)
		return r;
	r = evaluate_rules(j);
	if (r == 0 && j->strings.error)
		r = j->strings.error;
	j->a.magic = GOBIN_MAGIC;
	j->a.len = (uint32_t)(sizeof(j->a) + j->strings.len);
	return r;
}

/* ---- entry points ---- */

static struct job *job_new(const struct gobin_request *q)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j)
		j->q = q;
	return j;
}

static void job_free(struct job *j)
{
	job_fini(j);
	free(j);
}

DEFINE_CLEANUP(struct job *, job_free)

int gobin_analyse(int fd, const struct gobin_request *q, struct gobin_answer **ret, struct err *err)
{
	_cleanup_(job_freep) struct job *j = job_new(q);
	struct err why = { 0 };
	char *data;
	int r;

	if (!j)
		return err_set(err, -ENOMEM, "no memory for the analysis of a Go program");
	r = analyse(j, fd, &why);
	if (r < 0)
		return err_set(err, r, "%s", why.code ? why.msg : "the analysis of the Go program ran out of memory");
	data = malloc(j->a.len);
	if (!data)
		return err_set(err, -ENOMEM, "no memory for the analysis of a Go program");
	memcpy(data, &j->a, sizeof(j->a));
	memcpy(data + sizeof(j->a), j->strings.data, j->strings.len);
	r = gobin_answer_parse(data, j->a.len, ret, err);
	free(data);
	return r;
}

int gobin_run(void *ctx, int in_fd, int out_fd)
{
	const uint32_t refused = GOBIN_LOAD_ERROR;
	_cleanup_(job_freep) struct job *j = job_new(ctx);
	struct err why = { 0 };
	int r = j ? analyse(j, in_fd, &why) : -ENOMEM;

	if (r == -ENOEXEC) {
		r = io_write_all(out_fd, &refused, sizeof(refused));
		if (r == 0)
			r = io_write_all(out_fd, why.msg, strlen(why.msg) + 1);
		return -r;
	}
	if (r == 0)
		r = io_write_all(out_fd, &j->a, sizeof(j->a));
	if (r == 0)
		r = io_write_all(out_fd, j->strings.data, j->strings.len);
	return -r;
}
