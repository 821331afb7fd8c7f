// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as .eh_frame: what comes out is a table that its own check accepts, no larger than the bytes can ask for,
 * and any address has an answer. The same bytes as .eh_frame_hdr: a function begins at or below the address.
 *
 * Input: [0] 1 = AArch64, then the section.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "elf/dwarf/ehframe.h"
#include "elf/dwarf/ehframe_table.h"
#include "elf/dwarf/ehindex.h"
#include "elf/elf.h"
#include "tests/unit/elf/ehframe_file.h"

#define BUDGET (16u << 20)

static void look_up(const struct buf *table, const struct sonde_unwind_head *h)
{
	for (uint64_t off = 0; off <= CODE + 0x2000; off += 61)
		assert(ehframe_table_find(table->data, off).cfa < SONDE_CFA__MAX);
	assert(ehframe_table_find(table->data, UINT64_MAX).cfa < SONDE_CFA__MAX);
	(void)h;
}

static void find_function(struct buf *file, size_t len)
{
	Elf64_Phdr *hdr = (Elf64_Phdr *)(void *)(file->data + sizeof(Elf64_Ehdr)) + 2;
	struct elf *e = NULL;
	uint64_t start;

	hdr->p_offset += 16;
	hdr->p_vaddr += 16;
	hdr->p_filesz = hdr->p_memsz = len;
	if (elf_open_mem(file->data, file->len, BUDGET, &e) == 0 && ehindex_find(e, CODE + 64, &start) == 0)
		assert(start && start <= CODE + 64);
	elf_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sonde_unwind_head h;
	struct buf file, table = { 0 };
	struct elf *e = NULL;

	if (len < 1)
		return 0;
	file = make_file(data + 1, len - 1);
	if (data[0] & 1)
		((Elf64_Ehdr *)(void *)file.data)->e_machine = EM_AARCH64;
	if (!buf_error(&file) && elf_open_mem(file.data, file.len, BUDGET, &e) == 0 &&
	    ehframe_compile(e, BUDGET, &table) == 0) {
		assert(ehframe_table_check(table.data, table.len, &h) == 0);
		assert(h.n_rows <= 2 * len + 4);
		look_up(&table, &h);
	}
	elf_free(e);
	if (!buf_error(&file))
		find_function(&file, len - 1);
	buf_fini(&table);
	buf_fini(&file);
	return 0;
}
