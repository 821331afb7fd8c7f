// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as code of SSL_get_client_random(): what is found lies within bounds. Bits of the first byte: 0 arm64;
 * 1 the second half is taken for the search table of .eh_frame_hdr; 2 the bytes are the whole file.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "probes/call/tls/call_tls_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VADDR 0x1000
#define CODE_MAX 4096

static void look(struct elf *e, uint64_t vaddr)
{
	uint32_t random = 0, pointer = 0;

	call_tls_random_find(e, vaddr, &random, &pointer);
	if (random > CALL_TLS_OFFSET_MAX || pointer > CALL_TLS_OFFSET_MAX || (pointer && !random))
		abort();
}

static void look_in_code(const uint8_t *data, size_t size, bool arm64, bool table)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[2];
		uint8_t code[CODE_MAX];
	} file = {
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN, .e_machine = arm64 ? EM_AARCH64 : EM_X86_64, .e_version = EV_CURRENT,
			  .e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = table ? 2 : 1 },
	};
	const size_t len = MIN(size, CODE_MAX), half = len / 2, before = sizeof(file) - CODE_MAX;
	struct elf *e;

	file.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = before,
					 .p_vaddr = VADDR, .p_filesz = len, .p_memsz = len };
	file.segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = before + half,
					 .p_vaddr = VADDR + half, .p_filesz = len - half, .p_memsz = len - half };
	memcpy(file.code, data, len);
	if (elf_open_mem(&file, before + len, 1u << 20, &e) < 0)
		abort();
	look(e, VADDR);
	elf_free(e);
}

static void look_in_file(const uint8_t *data, size_t size)
{
	const struct elf_segment *segments;
	struct elf *e;
	size_t n;

	if (elf_open_mem(data, size, 1u << 20, &e) < 0)
		return;
	segments = elf_segments(e, &n);
	for (size_t i = 0; i < n && i < 8; i++)
		look(e, segments[i].vaddr);
	elf_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (*data & 4)
		look_in_file(data + 1, size - 1);
	else
		look_in_code(data + 1, size - 1, *data & 1, *data & 2);
	return 0;
}
