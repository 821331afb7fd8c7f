// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Build id: the note of type 3 and name GNU, from the sections (also those of a separate debug file) or, where the
 * section table is gone, from the PT_NOTE segments.
 *
 * Format: System V ABI, "Note Section"; alignment 8 pads to 8, every other to 4.
 */
#include "elf/elf_impl.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"

#define NOTES_MAX_BYTES (64u << 10)	/* of one section or segment of notes: a few hundred bytes in real files */
#define NOTES_MAX 64			/* sections and segments looked at */

static size_t pad(size_t len, size_t align)
{
	return ROUND_UP(len, align) - len;
}

static size_t find_in_notes(struct cursor c, size_t align, uint8_t ret[ELF_BUILD_ID_MAX])
{
	while (cur_left(&c) >= 12) {
		uint32_t name_len = cur_u32(&c), len = cur_u32(&c), type = cur_u32(&c);
		const char *name = cur_bytes(&c, name_len);
		const uint8_t *desc;

		cur_skip(&c, pad(name_len, align));
		desc = cur_bytes(&c, len);
		if (!desc)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && !memcmp(name, "GNU", 4) && len &&
		    len <= ELF_BUILD_ID_MAX) {
			memcpy(ret, desc, len);
			return len;
		}
		cur_skip(&c, MIN(pad(len, align), cur_left(&c)));
	}
	return 0;
}

static size_t find_at(struct elf *e, uint64_t off, uint64_t size, size_t align, uint8_t ret[ELF_BUILD_ID_MAX])
{
	const uint8_t *data;

	if (size > NOTES_MAX_BYTES || elf_load(e, off, size, &data) < 0)
		return 0;
	return find_in_notes(cur_init(data, (size_t)size), align, ret);
}

size_t elf_build_id(struct elf *e, uint8_t ret[ELF_BUILD_ID_MAX])
{
	size_t len = 0, left = NOTES_MAX;

	for (size_t i = 0; !len && left && i < e->sections.len; i++) {
		const struct elf_section *s = &e->sections.items[i];

		if (s->type != SHT_NOTE || (s->flags & SHF_COMPRESSED))
			continue;
		len = find_at(e, s->off, s->size, 4, ret);
		left--;
	}
	for (size_t i = 0; !len && left && i < e->phdrs.len; i++) {
		const struct elf_phdr *p = &e->phdrs.items[i];

		if (p->type != PT_NOTE)
			continue;
		len = find_at(e, p->seg.off, p->seg.filesz, p->align == 8 ? 8 : 4, ret);
		left--;
	}
	return len;
}
