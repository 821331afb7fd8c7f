// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Headers of ELF files, and what is found through them. A section table that makes no sense is as good as none
 * (stripped files, images cut short): segments may still do. A program header table that makes no sense is an error.
 *
 * Format: System V ABI, chapters 4 and 5; extended numbering of sections and segments included.
 */
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "elf/elf_impl.h"

struct header {			/* of either class */
	uint64_t phoff, shoff, phnum, shnum;
	uint32_t shstrndx;
	uint16_t phentsize, shentsize;
};

static uint64_t cur_word(struct cursor *c, bool is_64)
{
	return is_64 ? cur_u64(c) : cur_u32(c);
}

static size_t shdr_size(const struct elf *e)
{
	return e->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static size_t phdr_size(const struct elf *e)
{
	return e->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static int read_ident(struct elf *e, uint8_t ident[EI_NIDENT])
{
	int r = elf_read_at(e, 0, ident, EI_NIDENT);

	if (r < 0)
		return r;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != ELFDATA2LSB ||
	    (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return -EBADMSG;
	e->is_64 = ident[EI_CLASS] == ELFCLASS64;
	return 0;
}

static int read_header(struct elf *e, struct header *h)
{
	uint8_t raw[sizeof(Elf64_Ehdr)] = { 0 };
	size_t len;
	struct cursor c;
	int r = read_ident(e, raw);

	if (r < 0)
		return r;
	len = e->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	r = elf_read_at(e, 0, raw, len);
	if (r < 0)
		return r;
	c = cur_init(raw, len);
	cur_skip(&c, EI_NIDENT);
	e->type = cur_u16(&c);
	e->machine = cur_u16(&c);
	cur_skip(&c, 4);
	e->entry = cur_word(&c, e->is_64);
	h->phoff = cur_word(&c, e->is_64);
	h->shoff = cur_word(&c, e->is_64);
	cur_skip(&c, 6);
	h->phentsize = cur_u16(&c);
	h->phnum = cur_u16(&c);
	h->shentsize = cur_u16(&c);
	h->shnum = cur_u16(&c);
	h->shstrndx = cur_u16(&c);
	return cur_ok(&c) ? 0 : -EBADMSG;
}

static void parse_section(struct cursor *c, bool is_64, struct elf_section *s, uint32_t *ret_name)
{
	*ret_name = cur_u32(c);
	s->name = "";
	s->type = cur_u32(c);
	s->flags = cur_word(c, is_64);
	s->addr = cur_word(c, is_64);
	s->off = cur_word(c, is_64);
	s->size = cur_word(c, is_64);
	s->link = cur_u32(c);
	s->info = cur_u32(c);
	(void)cur_word(c, is_64);	/* alignment */
	s->entsize = cur_word(c, is_64);
}

/* Counts that do not fit the file header stand in section 0. */
static int read_extended(const struct elf *e, struct header *h)
{
	uint8_t raw[sizeof(Elf64_Shdr)];
	struct elf_section first;
	struct cursor c;
	uint32_t name;
	int r;

	if (!h->shoff || (h->shnum && h->shstrndx != SHN_XINDEX && h->phnum != PN_XNUM))
		return 0;
	r = elf_read_at(e, h->shoff, raw, shdr_size(e));
	if (r < 0)
		return r;
	c = cur_init(raw, shdr_size(e));
	parse_section(&c, e->is_64, &first, &name);
	if (!h->shnum)
		h->shnum = first.size;
	if (h->shstrndx == SHN_XINDEX)
		h->shstrndx = first.link;
	if (h->phnum == PN_XNUM)
		h->phnum = first.info;
	return 0;
}

static void parse_phdr(struct cursor *c, bool is_64, struct elf_phdr *p)
{
	uint32_t flags;

	p->type = cur_u32(c);
	flags = is_64 ? cur_u32(c) : 0;
	p->seg.off = cur_word(c, is_64);
	p->seg.vaddr = cur_word(c, is_64);
	(void)cur_word(c, is_64);	/* physical address */
	p->seg.filesz = cur_word(c, is_64);
	p->seg.memsz = cur_word(c, is_64);
	if (!is_64)
		flags = cur_u32(c);
	p->align = cur_word(c, is_64);
	p->seg.exec = flags & PF_X;
	p->seg.write = flags & PF_W;
}

/* A whole table of @n entries, after it was found to be there and to fit the budget as @kept bytes per entry too. */
static int load_table(struct elf *e, uint64_t off, uint64_t n, size_t entry, size_t kept, const uint8_t **ret)
{
	int r;

	if (off > e->size || n > (e->size - off) / entry)
		return -EBADMSG;
	if (n > e->budget / kept)
		return -E2BIG;
	r = elf_charge(e, n * kept);
	return r < 0 ? r : elf_load(e, off, n * entry, ret);
}

static int add_phdr(struct elf *e, struct elf_phdr *p)
{
	if (vec_grow(&e->phdrs) < 0 || vec_grow(&e->loads) < 0)
		return -ENOMEM;
	e->phdrs.items[e->phdrs.len++] = *p;
	if (p->type == PT_LOAD)
		e->loads.items[e->loads.len++] = p->seg;
	return 0;
}

static int read_phdrs(struct elf *e, const struct header *h)
{
	const uint8_t *table;
	struct cursor c;
	int r;

	if (!h->phnum)
		return 0;
	if (h->phentsize != phdr_size(e))
		return -EBADMSG;
	r = load_table(e, h->phoff, h->phnum, phdr_size(e),
		       2 * (sizeof(struct elf_phdr) + sizeof(struct elf_segment)), &table);
	if (r < 0)
		return r;
	c = cur_init(table, h->phnum * phdr_size(e));
	for (uint64_t i = 0; i < h->phnum; i++) {
		struct elf_phdr p;

		parse_phdr(&c, e->is_64, &p);
		r = add_phdr(e, &p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Index of the last NUL of a string table plus one: what starts below it ends inside the table. */
static size_t strings_end(const uint8_t *data, size_t len)
{
	const uint8_t *last = len ? memrchr(data, 0, len) : NULL;

	return last ? (size_t)(last - data) + 1 : 0;
}

/* Names are indices until the table that they point into is known. */
static int name_sections(struct elf *e, const struct header *h, const uint8_t *table)
{
	const struct elf_section *strings;
	struct cursor c = cur_init(table, e->sections.len * shdr_size(e));
	const uint8_t *data;
	size_t len, end;
	int r;

	if (h->shstrndx >= e->sections.len)
		return 0;
	strings = &e->sections.items[h->shstrndx];
	r = elf_section_data(e, strings, &data, &len);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	end = strings_end(data, len);
	for (size_t i = 0; i < e->sections.len; i++) {
		struct elf_section s;
		uint32_t name;

		parse_section(&c, e->is_64, &s, &name);
		if (name < end)
			e->sections.items[i].name = (const char *)data + name;
	}
	return 0;
}

static int read_sections(struct elf *e, const struct header *h)
{
	const uint8_t *table;
	struct cursor c;
	int r;

	if (!h->shoff || !h->shnum)
		return 0;
	if (h->shentsize != shdr_size(e))
		return -EBADMSG;
	r = load_table(e, h->shoff, h->shnum, shdr_size(e), 2 * sizeof(struct elf_section), &table);
	if (r < 0)
		return r;
	c = cur_init(table, h->shnum * shdr_size(e));
	for (uint64_t i = 0; i < h->shnum; i++) {
		uint32_t name;

		if (vec_grow(&e->sections) < 0)
			return -ENOMEM;
		parse_section(&c, e->is_64, &e->sections.items[e->sections.len++], &name);
	}
	return name_sections(e, h, table);
}

static int parse(struct elf *e)
{
	struct header h;
	int r = read_header(e, &h), ext;

	if (r < 0)
		return r;
	ext = read_extended(e, &h);
	if (ext < 0 && h.phnum == PN_XNUM)
		return ext;
	r = read_phdrs(e, &h);
	if (r < 0)
		return r;
	r = ext < 0 ? ext : read_sections(e, &h);
	return r == -EBADMSG ? 0 : r;
}

DEFINE_CLEANUP(struct elf *, elf_free)

static int open_any(struct elf *e, size_t budget, struct elf **ret)
{
	_cleanup_(elf_freep) struct elf *owned = e;
	int r;

	e->budget = budget;
	r = parse(e);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(owned);
	return 0;
}

int elf_open_fd(int fd, size_t budget, struct elf **ret)
{
	off_t size = lseek(fd, 0, SEEK_END);	/* not fstat(): a worker may not */
	struct elf *e;

	if (size < 0)
		return -errno;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->fd = fd;
	e->size = (uint64_t)size;
	return open_any(e, budget, ret);
}

int elf_open_mem(const void *data, size_t len, size_t budget, struct elf **ret)
{
	struct elf *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->fd = -1;
	e->mem = data;
	e->size = len;
	return open_any(e, budget, ret);
}

void elf_free(struct elf *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->loaded.len; i++)
		free((void *)e->loaded.items[i].data);
	vec_fini(&e->loaded);
	vec_fini(&e->sections);
	vec_fini(&e->loads);
	vec_fini(&e->phdrs);
	free(e);
}

uint16_t elf_machine(const struct elf *e)
{
	return e->machine;
}

uint16_t elf_type(const struct elf *e)
{
	return e->type;
}

bool elf_is_64(const struct elf *e)
{
	return e->is_64;
}

uint64_t elf_entry(const struct elf *e)
{
	return e->entry;
}

const struct elf_segment *elf_segments(const struct elf *e, size_t *ret_n)
{
	*ret_n = e->loads.len;
	return e->loads.items;
}

int elf_segment_find(const struct elf *e, uint32_t type, struct elf_segment *ret)
{
	for (size_t i = 0; i < e->phdrs.len; i++) {
		if (e->phdrs.items[i].type != type)
			continue;
		*ret = e->phdrs.items[i].seg;
		return 0;
	}
	return -ENOENT;
}

const struct elf_section *elf_sections(const struct elf *e, size_t *ret_n)
{
	*ret_n = e->sections.len;
	return e->sections.items;
}

int elf_section_find(const struct elf *e, const char *name, struct elf_section *ret)
{
	for (size_t i = 0; i < e->sections.len; i++) {
		if (strcmp(e->sections.items[i].name, name) != 0)
			continue;
		*ret = e->sections.items[i];
		return 0;
	}
	return -ENOENT;
}

int elf_section_data(struct elf *e, const struct elf_section *s, const uint8_t **ret, size_t *ret_len)
{
	int r;

	if (s->type == SHT_NOBITS)
		return -ENODATA;
	if (s->flags & SHF_COMPRESSED)
		return elf_load_inflated(e, s->off, s->size, ret, ret_len);
	r = elf_load(e, s->off, s->size, ret);
	if (r == 0)
		*ret_len = (size_t)s->size;
	return r;
}

int elf_vaddr_data(struct elf *e, uint64_t vaddr, size_t len, const uint8_t **ret)
{
	for (size_t i = 0; i < e->loads.len; i++) {
		const struct elf_segment *s = &e->loads.items[i];
		uint64_t in = vaddr - s->vaddr;

		if (vaddr >= s->vaddr && in <= s->filesz && len <= s->filesz - in && s->off <= UINT64_MAX - in)
			return elf_load(e, s->off + in, len, ret);
	}
	return -ENOENT;
}

int elf_off_to_vaddr(const struct elf *e, uint64_t off, uint64_t *ret)
{
	for (size_t i = 0; i < e->loads.len; i++) {
		const struct elf_segment *s = &e->loads.items[i];

		if (!s->exec || off < s->off || off - s->off >= s->filesz)
			continue;
		*ret = s->vaddr + (off - s->off);
		return 0;
	}
	return -ENOENT;
}

int elf_vaddr_to_off(const struct elf *e, uint64_t vaddr, uint64_t *ret)
{
	for (size_t i = 0; i < e->loads.len; i++) {
		const struct elf_segment *s = &e->loads.items[i];

		if (!s->exec || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		*ret = s->off + (vaddr - s->vaddr);
		return 0;
	}
	return -ENOENT;
}
