// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builds an ELF file in memory that holds only the unpacked debug sections of another.
 */
#include "elf/dwarf/dwimage.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "elf/elf.h"

#define SECTIONS_MAX 64

struct image {
	struct elf *from;
	struct buf names;
	Elf64_Shdr shdrs[SECTIONS_MAX];
	const uint8_t *data[SECTIONS_MAX];
	uint64_t src[SECTIONS_MAX];	/* offset in the file, used without data */
	size_t n;
	uint64_t end;
};

/* The older compression (Go up to 1.18), marked by the section's name. */
static bool is_zdebug(const struct elf_section *s)
{
	return !strncmp(s->name, ".zdebug_", 8);
}

static bool is_selected(const struct elf_section *s)
{
	return s->type != SHT_NOBITS && (!strncmp(s->name, ".debug_", 7) || is_zdebug(s));
}

/* The section's name once unpacked. */
static int add_name(struct image *im, const struct elf_section *s)
{
	int r = buf_add_char(&im->names, '.');

	return r < 0 ? r : buf_add(&im->names, s->name + 1 + is_zdebug(s), strlen(s->name) - is_zdebug(s));
}

static int add_section(struct image *im, const struct elf_section *s)
{
	size_t len = (size_t)s->size;
	int r = 0;

	if (im->n == SECTIONS_MAX - 1)
		return 0;
	im->src[im->n] = s->off;
	if (is_zdebug(s))
		r = elf_load_zdebug(im->from, s->off, s->size, &im->data[im->n], &len);
	else if (s->flags & SHF_COMPRESSED)
		r = elf_section_data(im->from, s, &im->data[im->n], &len);
	else if (s->off > elf_size(im->from) || s->size > elf_size(im->from) - s->off)
		r = -EBADMSG;
	if (r == 0)
		r = elf_charge(im->from, len);
	if (r == 0)
		r = add_name(im, s);
	if (r < 0)
		return r;
	im->shdrs[im->n++] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)(im->names.len - strlen(s->name) - 1 + is_zdebug(s)), .sh_type = SHT_PROGBITS,
		.sh_flags = s->flags & (SHF_MERGE | SHF_STRINGS), .sh_offset = im->end, .sh_size = len,
		.sh_addralign = 1,
	};
	im->end += len;
	return 0;
}

static int add_sections(struct image *im)
{
	size_t n;
	const struct elf_section *all = elf_sections(im->from, &n);
	bool info = false;

	im->n = 1;	/* section 0 is reserved */
	im->end = sizeof(Elf64_Ehdr);
	if (buf_add_char(&im->names, '\0') < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = is_selected(&all[i]) ? add_section(im, &all[i]) : 0;

		if (r < 0)
			return r;
		info |= is_selected(&all[i]) && !strcmp(strchr(all[i].name, '_'), "_info");
	}
	return info ? 0 : -ENOENT;
}

static int fill(const struct image *im, uint8_t *out)
{
	uint64_t table = (im->end + im->names.len + 7) & ~7ull;
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC,
		.e_machine = elf_machine(im->from), .e_version = EV_CURRENT, .e_shoff = table, .e_ehsize = sizeof(eh),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = (Elf64_Half)(im->n + 1),
		.e_shstrndx = (Elf64_Half)im->n,
	};
	const Elf64_Shdr names = { .sh_type = SHT_STRTAB, .sh_offset = im->end, .sh_size = im->names.len,
				   .sh_addralign = 1 };

	memcpy(out, &eh, sizeof(eh));
	for (size_t i = 1; i < im->n; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];
		int r = 0;

		if (im->data[i])
			memcpy(out + s->sh_offset, im->data[i], s->sh_size);
		else
			r = elf_read_at(im->from, im->src[i], out + s->sh_offset, s->sh_size);
		if (r < 0)
			return r;
	}
	memcpy(out + im->end, im->names.data, im->names.len);
	memcpy(out + table, im->shdrs, im->n * sizeof(Elf64_Shdr));
	memcpy(out + table + im->n * sizeof(Elf64_Shdr), &names, sizeof(names));
	return 0;
}

int dwimage_build(struct elf *e, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ struct image *im = calloc(1, sizeof(*im));
	_cleanup_free_ uint8_t *out = NULL;
	size_t len;
	int r;

	if (!im)
		return -ENOMEM;
	im->from = e;
	r = add_sections(im);
	len = (size_t)im->end + im->names.len + 8 + (im->n + 1) * sizeof(Elf64_Shdr);
	if (r == 0) {
		out = calloc(1, len);
		r = out ? fill(im, out) : -ENOMEM;
	}
	buf_fini(&im->names);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(out);
	*ret_len = len;
	return 0;
}
