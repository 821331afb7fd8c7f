// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: Linux Standard Base, "The .eh_frame_hdr section". Its order is not relied upon.
 */
#include "elf/dwarf/ehindex.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>

#include "base/cursor.h"
#include "elf/dwarf/ehframe_pointer.h"
#include "elf/elf.h"

#define ENTRY_BYTES 8		/* function, its FDE */

/* The entries; -ENOTSUP for other encodings than 32-bit distances from the table. */
static int open_entries(struct elf *e, struct elf_segment *hdr, struct cursor *ret, uint64_t *ret_n)
{
	uint8_t eh_frame, count, table;
	const uint8_t *raw;
	int r = elf_segment_find(e, PT_GNU_EH_FRAME, hdr);

	if (r == 0)
		r = elf_vaddr_data(e, hdr->vaddr, hdr->filesz, &raw);
	if (r < 0)
		return r;
	*ret = cur_init(raw, hdr->filesz);
	if (cur_u8(ret) != 1)
		return -ENOTSUP;
	eh_frame = cur_u8(ret);
	count = cur_u8(ret);
	table = cur_u8(ret);
	if (table != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return -ENOTSUP;
	r = ehframe_pointer_skip(ret, eh_frame, raw, hdr->vaddr);
	return r < 0 ? r : ehframe_pointer(ret, count, raw, hdr->vaddr, ret_n);
}

int ehindex_find(struct elf *e, uint64_t vaddr, uint64_t *ret)
{
	struct elf_segment hdr;
	uint64_t n = 0, best = 0;
	struct cursor c;
	int r = open_entries(e, &hdr, &c, &n);

	for (; r == 0 && n && cur_left(&c) >= ENTRY_BYTES; n--) {
		uint64_t start = hdr.vaddr + (uint64_t)(int64_t)(int32_t)cur_u32(&c);

		cur_skip(&c, ENTRY_BYTES - 4);
		if (start <= vaddr && start > best)
			best = start;
	}
	if (r < 0)
		return r;
	if (!best)
		return -ENOENT;
	*ret = best;
	return 0;
}
