// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The worker's side: runs the readers for this kind of file, best source first, and writes their answers. Runs
 * without rights and with few system calls (src/worker): reading the descriptor, memory, writing the answer.
 */
#include "elf/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "elf/demangle.h"
#include "elf/dwarf/dwline.h"
#include "elf/elf.h"
#include "elf/go/goinline.h"
#include "elf/go/gopclntab.h"
#include "elf/jitdump.h"
#include "elf/perfmap.h"
#include "elf/symtab.h"

#define DEFAULT_BUDGET_BYTES (160ull << 20)

struct job {
	const struct resolve_request *q;
	size_t budget;
	struct elf *elf;		/* NULL unless it is an ELF file; names below may point into it */
	struct symtab *symtab;
	struct gopclntab *go;		/* NULL if it is not a Go program */
	struct dwline *dw;		/* NULL = none, or not requested */
	struct symtab_hit *hits;	/* q->n each */
	struct dwline_hit *lines;	/* NULL = none */
	struct jitdump_line *jit_lines;	/* NULL = none */
};

static void job_fini(struct job *j)
{
	for (uint32_t i = 0; j->hits && i < j->q->n; i++)
		free(j->hits[i].name);
	for (uint32_t i = 0; j->jit_lines && i < j->q->n; i++)
		free(j->jit_lines[i].file);
	free(j->hits);
	free(j->lines);
	free(j->jit_lines);
	dwline_free(j->dw);
	gopclntab_free(j->go);
	symtab_free(j->symtab);
	elf_free(j->elf);
}

/* If debug information is missing, broken or too large, names come without lines. */
static int ask_lines(struct job *j)
{
	int r = dwline_open(j->elf, &j->dw);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	j->lines = calloc(j->q->n ? j->q->n : 1, sizeof(*j->lines));
	if (!j->lines)
		return -ENOMEM;
	return MIN(dwline_lookup(j->dw, j->q->addrs, j->q->n, j->lines), 0);
}

static int ask_elf(struct job *j, int fd)
{
	int r = elf_open_fd(fd, j->budget, &j->elf);

	if (r == 0)
		r = symtab_new(j->elf, j->budget / 4, &j->symtab);
	if (r == 0)
		r = MIN(symtab_lookup(j->symtab, j->q->addrs, j->q->n, j->hits), 0);
	if (r == 0 && elf_section_find(j->elf, ".note.go.buildid", &(struct elf_section){ 0 }) == 0)
		r = gopclntab_open(j->elf, &j->go) == -ENOMEM ? -ENOMEM : 0;
	if (r == 0 && j->go && j->q->lines)
		(void)goinline_open(j->elf, j->go); /* without lines: only the functions that the linker placed */
	return r == 0 && j->q->lines ? ask_lines(j) : r;
}

static int ask_jitdump(struct job *j, int fd)
{
	if (j->q->lines) {
		j->jit_lines = calloc(j->q->n ? j->q->n : 1, sizeof(*j->jit_lines));
		if (!j->jit_lines)
			return -ENOMEM;
	}
	return MIN(jitdump_lookup_fd(fd, j->q->addrs, j->q->n, j->hits, j->jit_lines), 0);
}

static int ask(struct job *j, int fd)
{
	switch (j->q->kind) {
	case RESOLVE_ELF:
		return ask_elf(j, fd);
	case RESOLVE_PERFMAP:
		return MIN(perfmap_lookup_fd(fd, j->budget, j->q->addrs, j->q->n, j->hits), 0);
	case RESOLVE_JITDUMP:
		return ask_jitdump(j, fd);
	case RESOLVE__MAX:
		break;
	}
	return -EINVAL;
}

/* ---- the answer ---- */

static bool is_stub(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, "@plt");
}

static int answer_func(struct job *j, struct answer_writer *w, struct resolve_func *f)
{
	char readable[DEMANGLE_OUT_MAX];

	if (!j->q->raw_names && f->raw && demangle(f->raw, readable))
		f->name = readable;
	return resolve_answer_add_func(w, f);
}

/* The functions from DWARF; the symbol fills in a missing name or start of the outermost. */
static int answer_dwarf_chain(struct job *j, struct answer_writer *w, uint32_t i)
{
	const struct dwline_hit *d = &j->lines[i];
	uint32_t n = (uint32_t)MIN(d->n, (size_t)RESOLVE_INLINED_MAX + 1);
	bool any = false;

	for (uint32_t k = 0; k < n; k++) {
		const struct dwline_func *from = &d->funcs[k];
		struct resolve_func f = { .raw = from->name, .start = from->start, .file = from->file,
					  .line = from->line };
		int r;

		if (k == n - 1 && j->hits[i].name) {
			f.raw = j->hits[i].name;
			f.start = j->hits[i].start;
		}
		any |= from->line != 0;
		r = answer_func(j, w, &f);
		if (r < 0)
			return r;
	}
	return resolve_answer_add_addr(w, any ? RESOLVE_LINE : RESOLVE_SYMBOL, n);
}

/* gopclntab replaces missing symbols and its lines replace missing DWARF. */
static bool ask_go(const struct job *j, uint64_t addr, struct resolve_func *f)
{
	struct gofunc go;

	if (!j->go || gopclntab_find_pc(j->go, addr, &go) < 0)
		return false;
	if (!f->raw) {
		f->raw = go.name;
		f->start = go.entry;
	}
	if (j->q->lines)
		(void)gopclntab_line(j->go, &go, addr, &f->file, &f->line);
	return true;
}

/* The same from gopclntab. 0 functions if the address is not in Go code. */
static int answer_go_chain(struct job *j, struct answer_writer *w, uint32_t i)
{
	struct goframe frames[RESOLVE_INLINED_MAX + 1];
	struct gofunc go;
	size_t n;
	int r = 0;

	if (!j->go || !j->q->lines || gopclntab_find_pc(j->go, j->q->addrs[i], &go) < 0)
		return 0;
	n = goinline_frames(j->elf, j->go, &go, j->q->addrs[i], frames, ARRAY_SIZE(frames));
	for (size_t k = 0; r >= 0 && k < n; k++) {
		struct resolve_func f = { .raw = frames[k].name, .file = frames[k].file, .line = frames[k].line };

		if (k == n - 1) {
			f.raw = j->hits[i].name ? j->hits[i].name : go.name;
			f.start = go.entry;
		}
		r = answer_func(j, w, &f);
	}
	if (r >= 0)
		r = resolve_answer_add_addr(w, frames[0].line ? RESOLVE_LINE : RESOLVE_SYMBOL, (uint32_t)n);
	return r < 0 ? r : (int)n;
}

static int answer_addr(struct job *j, struct answer_writer *w, uint32_t i)
{
	const struct symtab_hit *hit = &j->hits[i];
	struct resolve_func f = { .raw = hit->name, .start = hit->start };
	int r;

	if (j->lines && j->lines[i].n)
		return answer_dwarf_chain(j, w, i);
	r = answer_go_chain(j, w, i);
	if (r)
		return MIN(r, 0);
	(void)ask_go(j, j->q->addrs[i], &f);
	if (j->jit_lines && j->jit_lines[i].file) {
		f.file = j->jit_lines[i].file;
		f.line = j->jit_lines[i].line;
	}
	if (!f.raw)
		return resolve_answer_add_addr(w, RESOLVE_UNKNOWN, 0);
	r = answer_func(j, w, &f);
	if (r < 0)
		return r;
	return resolve_answer_add_addr(w, f.line ? RESOLVE_LINE : is_stub(f.raw) ? RESOLVE_STUB : RESOLVE_SYMBOL, 1);
}

static int write_answer(struct job *j, int out_fd)
{
	struct answer_writer w;
	int r = resolve_answer_begin(&w);

	for (uint32_t i = 0; r == 0 && i < j->q->n; i++)
		r = answer_addr(j, &w, i);
	if (r == 0)
		r = resolve_answer_write(&w, out_fd);
	resolve_answer_fini(&w);
	return r;
}

int resolve_run(void *ctx, int in_fd, int out_fd)
{
	struct job j = { .q = ctx };
	int r = -ENOMEM;

	j.budget = j.q->budget_bytes ? j.q->budget_bytes : DEFAULT_BUDGET_BYTES;
	j.hits = calloc(j.q->n ? j.q->n : 1, sizeof(*j.hits));
	if (j.hits)
		r = ask(&j, in_fd);
	if (r == 0)
		r = write_answer(&j, out_fd);
	job_fini(&j);
	return MIN(-r, 255);
}
