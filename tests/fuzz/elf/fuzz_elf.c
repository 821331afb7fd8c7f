// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF headers: whatever the file claims, answers stay inside it and inside the budget. */
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET (1u << 20)

static void touch(const uint8_t *p, size_t len)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < len; i += 61)
		sum ^= p[i];
	if (len)
		sum ^= p[len - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	const struct elf_section *s;
	const struct elf_segment *seg;
	const uint8_t *bytes;
	uint64_t back, vaddr;
	struct elf *e;
	size_t n, len;

	if (elf_open_mem(data, size, BUDGET, &e) < 0)
		return 0;
	s = elf_sections(e, &n);
	for (size_t i = 0; i < n && i < 256; i++) {
		touch((const uint8_t *)s[i].name, strlen(s[i].name));
		if (elf_section_data(e, &s[i], &bytes, &len) == 0)
			touch(bytes, len);
	}
	seg = elf_segments(e, &n);
	for (size_t i = 0; i < n && i < 256; i++) {
		if (elf_vaddr_data(e, seg[i].vaddr, seg[i].filesz, &bytes) == 0)
			touch(bytes, seg[i].filesz);
		if (elf_off_to_vaddr(e, seg[i].off, &vaddr) == 0)
			(void)elf_vaddr_to_off(e, vaddr, &back);
	}
	if (elf_build_id(e, id) > sizeof(id))
		abort();
	elf_free(e);
	return 0;
}
