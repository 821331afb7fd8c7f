/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file around given bytes of .eh_frame, for tests of the compiler and its fuzz target.
 */
#ifndef TESTS_EHFRAME_FILE_H
#define TESTS_EHFRAME_FILE_H

#include <elf.h>
#include <stdint.h>

#include "base/buf.h"

#define CODE 0x1000u		/* virtual address and file offset of the code */
#define FRAMES 0x2000u		/* of .eh_frame */

/* A file with one executable segment and .eh_frame found by PT_GNU_EH_FRAME: no sections. */
static inline struct buf make_file(const void *frames, size_t len)
{
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
		.e_machine = EM_X86_64, .e_version = 1, .e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3,
	};
	const Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE, .p_vaddr = CODE, .p_filesz = 0x1000,
		  .p_memsz = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = FRAMES - 16, .p_vaddr = FRAMES - 16 + 0x10000,
		  .p_filesz = len + 16, .p_memsz = len + 16 },
		{ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = FRAMES - 16,
		  .p_vaddr = FRAMES - 16 + 0x10000, .p_filesz = 8, .p_memsz = 8 },
	};
	const uint8_t hdr[8] = { 1, 0x1b, 0xff, 0xff, 12, 0, 0, 0 };	/* 12 bytes from here: FRAMES */
	struct buf b = { 0 };

	buf_add(&b, &eh, sizeof(eh));
	buf_add(&b, ph, sizeof(ph));
	buf_align(&b, FRAMES - 16);
	buf_add(&b, hdr, sizeof(hdr));
	buf_align(&b, FRAMES);
	buf_add(&b, frames, len);
	return b;
}

#endif
