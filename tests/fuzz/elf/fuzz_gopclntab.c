// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of any bytes, behind the smallest ELF header that leads to them: answers hold together. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "elf/dwarf/ehframe.h"
#include "elf/dwarf/ehframe_cfa.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/elf.h"
#include "elf/go/goinline.h"
#include "elf/go/gopclntab.h"
#include "elf/go/gotable.h"
#include "elf/go/gounwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT 0x401000u
#define LOAD 0x500000u
#define BUDGET (4u << 20)

/* Chains end, whatever their nodes say. */
static void inlined(struct elf *e, const struct gopclntab *t)
{
	struct goframe frames[33];
	struct gofunc f;

	for (size_t i = 0; i < gopclntab_n(t) && i < 64; i++) {
		size_t n;

		if (gopclntab_func(t, i, &f) < 0)
			continue;
		n = goinline_frames(e, t, &f, f.entry + (f.end - f.entry) / 2, frames, ARRAY_SIZE(frames));
		if (!n || n > ARRAY_SIZE(frames) || strcmp(frames[n - 1].name, f.name))
			abort();
	}
}

/* Rows are in order and no more than the bytes of the code: their table is one. */
static void unwind(const struct gopclntab *t)
{
	static const struct cfi_arch archs[] = { { .sp = 7, .fp = 6, .ra = 16, .n_regs = 16 },
						 { .sp = 31, .fp = 29, .ra = 30, .n_regs = 32, .link = true } };
	const struct elf_segment seg = { .vaddr = TEXT, .off = 0x1000, .filesz = 0x10000, .exec = true };

	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		struct sonde_unwind_head h;
		struct buf blob = { 0 };
		struct cfi_table table;
		uint64_t end = 0;

		if (ehframe_table_init(&table, BUDGET / 4) == 0 &&
		    gounwind_rows(t, &archs[i], &seg, &table, &end) == 0 &&
		    ehframe_table_write(&table, end, BUDGET, &blob) == 0 &&
		    ehframe_table_check(blob.data, blob.len, &h) < 0)
			abort();
		ehframe_table_fini(&table);
		buf_fini(&blob);
	}
}

static void ask(const struct gopclntab *t)
{
	struct gofunc f;
	const char *file;
	uint32_t line;

	for (size_t i = 0; i < gopclntab_n(t) && i < 64; i++) {
		if (gopclntab_func(t, i, &f) < 0)
			continue;
		if (f.end < f.entry || strlen(f.name) > 65536)
			abort();
		if (gopclntab_line(t, &f, f.entry + (f.end - f.entry) / 2, &file, &line) == 0 &&
		    (!line || strlen(file) > 65536))
			abort();
	}
	if (gopclntab_find_pc(t, TEXT + 16, &f) == 0 && (f.entry > TEXT + 16 || f.end <= TEXT + 16))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 }, .e_phoff = sizeof(eh),
			  .e_machine = EM_X86_64, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = 128, .p_vaddr = LOAD,
			  .p_filesz = size };
	uint8_t *file = calloc(1, 128 + size);
	struct gopclntab *t;
	struct elf *e;

	if (!file)
		return 0;
	memcpy(file, &eh, sizeof(eh));
	memcpy(file + sizeof(eh), &ph, sizeof(ph));
	memcpy(file + 128, data, size);
	if (elf_open_mem(file, 128 + size, 1u << 20, &e) == 0) {
		if (gopclntab_open(e, &t) == 0) {
			ask(t);
			unwind(t);
			t->funcdata = LOAD;
			inlined(e, t);
			gopclntab_free(t);
		}
		elf_free(e);
	}
	free(file);
	return 0;
}
