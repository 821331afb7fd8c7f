// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes are read by pread() only, counted against the budget, and decompressed where a section is compressed. A size
 * in a header allocates nothing before the file is known to be that long and the budget to allow it.
 *
 * A section table that makes no sense counts as absent (stripped files, truncated images): segments may still be
 * usable. A program header table that makes no sense is an error.
 *
 * Formats: System V ABI, chapters 4 and 5, with extended numbering of sections and segments; "Note Section"
 * (alignment 8 pads to 8, every other to 4); compressed sections: gABI, Elf32_Chdr and Elf64_Chdr.
 */
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/vec.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define NOTES_MAX_BYTES (64u << 10)	/* limit in bytes of one section or segment of notes; real files have a few
					 * hundred */
#define NOTES_MAX 64			/* limit of sections and segments searched */

struct elf_loaded {		/* bytes charged to the budget */
	uint64_t off, size;	/* in the file */
	bool inflated;		/* the file's data is compressed */
	const uint8_t *data;	/* owned unless @e reads a buffer and the data is not compressed */
	size_t len;
};

struct elf_phdr {
	uint32_t type;		/* PT_* */
	uint64_t align;
	struct elf_segment seg;
};

struct elf {
	int fd;			/* borrowed; -1 = a buffer */
	const uint8_t *mem;	/* borrowed */
	uint64_t size;		/* of the file at the time of opening */
	size_t budget, used;	/* bytes */
	bool is_64;
	uint16_t type, machine;
	uint64_t entry;
	VEC(struct elf_phdr) phdrs;
	VEC(struct elf_segment) loads;
	VEC(struct elf_section) sections;
	VEC(struct elf_loaded) loaded;
};

struct header {			/* of either class */
	uint64_t phoff, shoff, phnum, shnum;
	uint32_t shstrndx;
	uint16_t phentsize, shentsize;
};

/* ---- bytes ---- */

int elf_charge(struct elf *e, uint64_t len)
{
	if (len > e->budget - e->used)
		return -E2BIG;
	e->used += (size_t)len;
	return 0;
}

static int read_fd(int fd, uint64_t off, uint8_t *buf, size_t len)
{
	while (len) {
		ssize_t n = TEMP_FAILURE_RETRY(pread(fd, buf, len, (off_t)off));

		if (n < 0)
			return -errno;
		if (n == 0) /* file truncated since it was opened */
			return -EBADMSG;
		buf += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int elf_read_at(const struct elf *e, uint64_t off, void *buf, size_t len)
{
	if (off > e->size || len > e->size - off)
		return -EBADMSG;
	if (e->fd >= 0)
		return read_fd(e->fd, off, buf, len);
	memcpy(buf, e->mem + off, len);
	return 0;
}

static const struct elf_loaded *find_loaded(const struct elf *e, uint64_t off, uint64_t size, bool inflated)
{
	return vec_find(l, &e->loaded, l->off == off && l->size == size && l->inflated == inflated);
}

/* Takes ownership of the bytes of @l; on failure the caller keeps it. */
static int keep(struct elf *e, const struct elf_loaded *l)
{
	return vec_push(&e->loaded, *l);
}

int elf_load(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret)
{
	const struct elf_loaded *have = find_loaded(e, off, size, false);
	_cleanup_free_ uint8_t *data = NULL;
	struct elf_loaded l = { .off = off, .size = size, .len = (size_t)size };
	int r;

	if (have) {
		*ret = have->data;
		return 0;
	}
	if (off > e->size || size > e->size - off)
		return -EBADMSG;
	if (e->fd < 0) { /* borrowed in place */
		*ret = e->mem + off;
		return 0;
	}
	r = elf_charge(e, size);
	if (r < 0)
		return r;
	data = malloc(size ? (size_t)size : 1);
	if (!data)
		return -ENOMEM;
	r = elf_read_at(e, off, data, (size_t)size);
	if (r < 0)
		return r;
	l.data = data;
	r = keep(e, &l);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(data);
	return 0;
}

static int inflate_zlib(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	z_stream z = { .next_in = (Bytef *)in, .next_out = out };
	int r;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	do { /* zlib counts in unsigned int */
		z.avail_in = (uInt)MIN(in_len - z.total_in, (size_t)1 << 30);
		z.avail_out = (uInt)MIN(out_len - z.total_out, (size_t)1 << 30);
		r = inflate(&z, Z_NO_FLUSH);
	} while (r == Z_OK && z.total_out < out_len);
	inflateEnd(&z);
	return z.total_out == out_len && (r == Z_OK || r == Z_STREAM_END) ? 0 : -EBADMSG;
}

static int inflate_zstd(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	size_t n = ZSTD_decompress(out, out_len, in, in_len);

	return ZSTD_isError(n) || n != out_len ? -EBADMSG : 0;
}

/* Parses the header of a compressed section; moves @c to the compressed bytes. */
static int read_chdr(const struct elf *e, struct cursor *c, uint32_t *ret_type, uint64_t *ret_size)
{
	*ret_type = cur_u32(c);
	if (e->is_64) {
		cur_skip(c, 4);
		*ret_size = cur_u64(c);
		cur_skip(c, 8);
	} else {
		*ret_size = cur_u32(c);
		cur_skip(c, 4);
	}
	if (!cur_ok(c) || (*ret_type != ELFCOMPRESS_ZLIB && *ret_type != ELFCOMPRESS_ZSTD))
		return -EBADMSG;
	return 0;
}

/* GNU's older header: "ZLIB" and the size, big endian. */
static int read_zdebug(struct cursor *c, uint32_t *ret_type, uint64_t *ret_size)
{
	const uint8_t *magic = cur_bytes(c, 4);

	*ret_type = ELFCOMPRESS_ZLIB;
	*ret_size = cur_u64be(c);
	return cur_ok(c) && !memcmp(magic, "ZLIB", 4) ? 0 : -EBADMSG;
}

/* @in: the compressed section as read from the file. */
static int inflate_section(struct elf *e, const uint8_t *in, size_t in_len, bool zdebug, struct elf_loaded *l)
{
	struct cursor c = cur_init(in, in_len);
	_cleanup_free_ uint8_t *out = NULL;
	uint64_t size;
	uint32_t type;
	int r = zdebug ? read_zdebug(&c, &type, &size) : read_chdr(e, &c, &type, &size);

	if (r == 0)
		r = elf_charge(e, size);
	if (r < 0)
		return r;
	out = malloc(size ? (size_t)size : 1);
	if (!out)
		return -ENOMEM;
	r = type == ELFCOMPRESS_ZLIB ? inflate_zlib(c.pos, cur_left(&c), out, (size_t)size) :
				       inflate_zstd(c.pos, cur_left(&c), out, (size_t)size);
	if (r < 0)
		return r;
	l->data = out;
	l->len = (size_t)size;
	r = keep(e, l);
	if (r == 0)
		(void)TAKE_PTR(out);
	return r;
}

static int load_inflated(struct elf *e, uint64_t off, uint64_t size, bool zdebug, const uint8_t **ret,
			 size_t *ret_len)
{
	struct elf_loaded l = { .off = off, .size = size, .inflated = true };
	const struct elf_loaded *have = find_loaded(e, off, size, true);
	_cleanup_free_ uint8_t *copy = NULL;
	const uint8_t *in;
	int r = 0;

	if (have) {
		*ret = have->data;
		*ret_len = have->len;
		return 0;
	}
	if (off > e->size || size > e->size - off)
		return -EBADMSG;
	if (e->fd >= 0) { /* temporary: limited by the budget, not charged to it */
		if (size > e->budget - e->used)
			return -E2BIG;
		in = copy = malloc(size ? (size_t)size : 1);
		r = copy ? elf_read_at(e, off, copy, (size_t)size) : -ENOMEM;
	} else {
		in = e->mem + off;
	}
	if (r == 0)
		r = inflate_section(e, in, (size_t)size, zdebug, &l);
	if (r < 0)
		return r;
	*ret = l.data;
	*ret_len = l.len;
	return 0;
}

int elf_load_zdebug(struct elf *e, uint64_t off, uint64_t size, const uint8_t **ret, size_t *ret_len)
{
	return load_inflated(e, off, size, true, ret, ret_len);
}

/* ---- headers ---- */

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

/* Counts that overflow the file header are in section 0. */
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

/* Reads a table of @n entries. It must lie inside the file and, as @kept bytes per entry, fit the budget. */
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

/* Index of the last NUL of a string table plus one: a string that starts below it ends inside the table. */
static size_t strings_end(const uint8_t *data, size_t len)
{
	const uint8_t *last = len ? memrchr(data, 0, len) : NULL;

	return last ? (size_t)(last - data) + 1 : 0;
}

/* Names are offsets until their string table is found. */
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
	off_t size = lseek(fd, 0, SEEK_END);	/* the worker's seccomp filter forbids fstat() */
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

/* ---- queries ---- */

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

uint64_t elf_size(const struct elf *e)
{
	return e->size;
}

size_t elf_budget(const struct elf *e)
{
	return e->budget;
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
		return load_inflated(e, s->off, s->size, false, ret, ret_len);
	r = elf_load(e, s->off, s->size, ret);
	if (r == 0)
		*ret_len = (size_t)s->size;
	return r;
}

int elf_vaddr_data(struct elf *e, uint64_t vaddr, size_t len, const uint8_t **ret)
{
	vec_each(s, &e->loads) {
		uint64_t in = vaddr - s->vaddr;

		if (vaddr >= s->vaddr && in <= s->filesz && len <= s->filesz - in && s->off <= UINT64_MAX - in)
			return elf_load(e, s->off + in, len, ret);
	}
	return -ENOENT;
}

int elf_off_to_vaddr(const struct elf *e, uint64_t off, uint64_t *ret)
{
	vec_each(s, &e->loads) {
		if (!s->exec || off < s->off || off - s->off >= s->filesz)
			continue;
		*ret = s->vaddr + (off - s->off);
		return 0;
	}
	return -ENOENT;
}

int elf_vaddr_to_off(const struct elf *e, uint64_t vaddr, uint64_t *ret)
{
	vec_each(s, &e->loads) {
		if (!s->exec || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		*ret = s->off + (vaddr - s->vaddr);
		return 0;
	}
	return -ENOENT;
}

/* ---- build id ---- */

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
