// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: struct moduledata of runtime/symtab.go, per release. The table lists only the members that are read here.
 */
#include "gobin/module.h"

#include <elf.h>
#include <errno.h>

#include "base/macros.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"

#define SEARCH_MAX (64u << 20)		/* bytes of data */
#define TRIES_MAX 4096			/* limit of words that hold the table's address: one or two in real
					 * programs */
#define COUNT_MAX (1u << 22)		/* limit of itabs and typelinks: the largest programs have tens of
					 * thousands */

struct layout {				/* byte offsets in the module data; 0 = not in this release */
	unsigned since;			/* minor release */
	uint16_t text, types, etypes, typelinks, itablinks, itaboffset, typedesclen;
};

static const struct layout layouts[] = {	/* newest first */
	{ 27, .text = 176, .types = 296, .typedesclen = 304, .etypes = 312, .itaboffset = 320 },
	{ 26, .text = 176, .types = 296, .etypes = 304, .typelinks = 360, .itablinks = 384 },
	{ 20, .text = 176, .types = 296, .etypes = 304, .typelinks = 352, .itablinks = 376 },
	{ 18, .text = 176, .types = 280, .etypes = 288, .typelinks = 336, .itablinks = 360 },
	{ 16, .text = 176, .types = 280, .etypes = 288, .typelinks = 320, .itablinks = 344 },
	{ 8, .text = 96, .types = 200, .etypes = 208, .typelinks = 240, .itablinks = 264 },
};

static bool in(uint64_t addr, uint64_t lo, uint64_t hi)
{
	return addr >= lo && addr < hi;
}

/* Is this an itab: an interface and a type, both descriptors of this module? */
static bool is_itab(struct image *img, const struct go_module *m, uint64_t addr)
{
	return in(image_u64(img, addr), m->types, m->etypes) && in(image_u64(img, addr + 8), m->types, m->etypes);
}

static bool read_slice(struct image *img, uint64_t at, size_t item, uint64_t *ret_addr, uint64_t *ret_n)
{
	uint64_t cap = image_u64(img, at + 16);

	*ret_addr = image_u64(img, at);
	*ret_n = image_u64(img, at + 8);
	return *ret_n <= cap && *ret_n <= COUNT_MAX && (!*ret_n || image_has(img, *ret_addr, *ret_n * item));
}

/* Since 1.27: offsets from types, consecutive itabs. */
static bool try_rows(struct image *img, const struct layout *l, struct go_module *m)
{
	uint64_t off = image_u64(img, m->addr + l->itaboffset), size = image_u64(img, m->addr + l->itaboffset + 8);
	uint64_t desc = image_u64(img, m->addr + l->typedesclen);

	if (!off || !desc || desc > m->etypes - m->types || off > COUNT_MAX * 64ull || size > COUNT_MAX * 64ull ||
	    !image_has(img, m->types + off, size))
		return false;
	m->itabs = m->types + off;
	m->itabs_end = m->itabs + size;
	m->typedesc_end = m->types + desc;
	return size < 24 || is_itab(img, m, m->itabs);
}

static bool try_lists(struct image *img, const struct layout *l, struct go_module *m)
{
	if (!read_slice(img, m->addr + l->typelinks, 4, &m->typelinks, &m->n_typelinks) ||
	    !read_slice(img, m->addr + l->itablinks, 8, &m->itablinks, &m->n_itablinks) || !m->n_itablinks)
		return false;
	/* Skip empty slots, which the linker leaves for unused itabs. */
	for (uint64_t i = 0; i < MIN(m->n_itablinks, (uint64_t)16); i++)
		if (is_itab(img, m, image_u64(img, m->itablinks + i * 8)))
			return true;
	return false;
}

static bool try_layout(struct image *img, const struct layout *l, uint64_t addr, uint64_t text, struct go_module *ret)
{
	struct go_module m = { .addr = addr };

	m.types = image_u64(img, addr + l->types);
	m.etypes = image_u64(img, addr + l->etypes);
	if (!m.types || m.etypes <= m.types || !image_has(img, m.types, m.etypes - m.types) ||
	    (text && image_u64(img, addr + l->text) != text))
		return false;
	if (l->itaboffset ? !try_rows(img, l, &m) : !try_lists(img, l, &m))
		return false;
	*ret = m;
	return true;
}

/* The layout of the release that the program names comes first, then all others. */
static bool try_at(struct image *img, uint64_t addr, unsigned minor, uint64_t text, struct go_module *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (minor >= layouts[i].since) {
			if (try_layout(img, &layouts[i], addr, text, ret))
				return true;
			break;
		}
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (try_layout(img, &layouts[i], addr, text, ret))
			return true;
	return false;
}

struct search {
	struct image *img;
	uint64_t table, text;		/* .gopclntab; base of function addresses, 0 = unknown */
	unsigned minor, tries;
	bool seen;			/* a pointer to the table was found */
};

static bool search_range(struct search *s, uint64_t addr, uint64_t size, struct go_module *ret)
{
	uint64_t words[512];

	for (uint64_t off = 0; off + 8 <= MIN(size, (uint64_t)SEARCH_MAX); off += sizeof(words)) {
		size_t len = (size_t)MIN(size - off, (uint64_t)sizeof(words)) & ~(size_t)7;

		if (!image_read(s->img, addr + off, words, len))
			return false;
		for (size_t i = 0; i < len / 8; i++) {
			if (words[i] != s->table || ++s->tries > TRIES_MAX)
				continue;
			s->seen = true;
			if (try_at(s->img, addr + off + i * 8, s->minor, s->text, ret))
				return true;
		}
	}
	return false;
}

static bool search_sections(struct search *s, struct go_module *ret)
{
	static const char *const names[] = { ".go.module", ".noptrdata", ".data", ".data.rel.ro" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct elf_section sec;

		if (elf_section_find(s->img->elf, names[i], &sec) == 0 && sec.type != SHT_NOBITS &&
		    search_range(s, (sec.addr + 7) & ~7ull, sec.size, ret))
			return true;
	}
	return false;
}

static bool search_segments(struct search *s, struct go_module *ret)
{
	size_t n;
	const struct elf_segment *loads = elf_segments(s->img->elf, &n);

	for (size_t i = 0; i < n; i++)
		if (!loads[i].exec && search_range(s, (loads[i].vaddr + 7) & ~7ull, loads[i].filesz, ret))
			return true;
	return false;
}

/* In position-independent programs the relocation of the pointer is found without reading any data. */
static bool search_relocs(struct search *s, struct go_module *ret)
{
	for (size_t i = 0; i < s->img->n_relocs && s->tries < TRIES_MAX; i++) {
		if (s->img->relocs[i].value != s->table)
			continue;
		s->tries++;
		s->seen = true;
		if (try_at(s->img, s->img->relocs[i].place, s->minor, s->text, ret))
			return true;
	}
	return false;
}

int gobin_module_find(struct image *img, const struct gopclntab *t, unsigned minor, struct go_module *ret,
		const char **ret_why)
{
	struct search s = { .img = img, .table = gopclntab_addr(t), .text = gopclntab_text(t), .minor = minor };

	if (search_relocs(&s, ret) || search_sections(&s, ret) || search_segments(&s, ret))
		return 0;
	*ret_why = s.seen ? "the module data have a layout that is not known" : "no module data point to .gopclntab";
	return -ENOENT;
}
