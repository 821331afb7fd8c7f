// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks are relocated when they are loaded, so a program with a million relocations costs one sort and the chunks
 * that are read.
 */
#include "gobin/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/vec.h"
#include "elf/elf.h"

#define CHUNK_BITS 16
#define CHUNK ((uint64_t)1 << CHUNK_BITS)

/* ---- relocations ---- */

static bool is_relative(uint16_t machine, uint32_t type)
{
	return machine == EM_X86_64 ? type == R_X86_64_RELATIVE : type == R_AARCH64_RELATIVE;
}

static bool is_symbolic(uint16_t machine, uint32_t type)
{
	return machine == EM_X86_64 ? type == R_X86_64_64 || type == R_X86_64_GLOB_DAT :
				      type == R_AARCH64_ABS64 || type == R_AARCH64_GLOB_DAT;
}

static bool symbol_value(struct cursor all, uint32_t index, uint64_t *ret)
{
	uint16_t section;

	if ((uint64_t)index * sizeof(Elf64_Sym) > cur_left(&all))
		return false;
	cur_skip(&all, index * sizeof(Elf64_Sym) + 6);
	section = cur_u16(&all);
	*ret = cur_u64(&all);
	return cur_ok(&all) && section != SHN_UNDEF;
}

static int collect(struct image *img, struct cursor rela, struct cursor symbols)
{
	uint16_t machine = elf_machine(img->elf);
	size_t room = cur_left(&rela) / sizeof(Elf64_Rela);

	if (room > (img->budget - img->used) / sizeof(struct reloc))
		return -E2BIG;
	img->used += room * sizeof(struct reloc);
	img->relocs = malloc(room ? room * sizeof(struct reloc) : 1);
	if (!img->relocs)
		return -ENOMEM;
	for (size_t i = 0; i < room; i++) {
		uint64_t place = cur_u64(&rela), info = cur_u64(&rela), value = cur_u64(&rela), symbol;

		if (is_symbolic(machine, (uint32_t)info) && symbol_value(symbols, (uint32_t)(info >> 32), &symbol))
			value += symbol;
		else if (!is_relative(machine, (uint32_t)info))
			continue;
		img->relocs[img->n_relocs++] = (struct reloc){ .place = place, .value = value };
	}
	qsort(img->relocs, img->n_relocs, sizeof(struct reloc), vec_by_u64);
	return 0;
}

static struct cursor section_bytes(struct elf *e, const char *name)
{
	struct elf_section s;
	const uint8_t *data;
	size_t len;

	if (elf_section_find(e, name, &s) < 0 || elf_section_data(e, &s, &data, &len) < 0)
		return (struct cursor){ 0 };
	return cur_init(data, len);
}

/* The same table through the dynamic section, for files without section headers. */
static struct cursor dynamic_bytes(struct elf *e)
{
	uint64_t rela = 0, size = 0;
	struct elf_segment dyn;
	const uint8_t *data;
	struct cursor c;

	if (elf_segment_find(e, PT_DYNAMIC, &dyn) < 0 || dyn.filesz > CHUNK ||
	    elf_vaddr_data(e, dyn.vaddr, (size_t)dyn.filesz, &data) < 0)
		return (struct cursor){ 0 };
	c = cur_init(data, (size_t)dyn.filesz);
	while (cur_left(&c) >= 16) {
		uint64_t tag = cur_u64(&c), value = cur_u64(&c);

		rela = tag == DT_RELA ? value : rela;
		size = tag == DT_RELASZ ? value : size;
	}
	if (!rela || !size || size > SIZE_MAX || elf_vaddr_data(e, rela, (size_t)size, &data) < 0)
		return (struct cursor){ 0 };
	return cur_init(data, (size_t)size);
}

int image_init(struct image *img, struct elf *e, size_t budget)
{
	struct cursor rela = section_bytes(e, ".rela.dyn");

	map_init(&img->chunks, sizeof(uint64_t), sizeof(uint8_t *));
	img->elf = e;
	img->budget = budget;
	if (!cur_left(&rela))
		rela = dynamic_bytes(e);
	return collect(img, rela, section_bytes(e, ".dynsym"));
}

void image_fini(struct image *img)
{
	void *key, *data;
	size_t pos = 0;

	while (map_next(&img->chunks, &pos, &key, &data))
		free(*(uint8_t **)data);
	map_fini(&img->chunks);
	free(img->relocs);
}

/* ---- bytes ---- */

bool image_has(const struct image *img, uint64_t addr, uint64_t len)
{
	size_t n;
	const struct elf_segment *loads = elf_segments(img->elf, &n);

	for (size_t i = 0; i < n; i++)
		if (addr >= loads[i].vaddr && addr - loads[i].vaddr <= loads[i].filesz &&
		    len <= loads[i].filesz - (addr - loads[i].vaddr))
			return true;
	return false;
}

/* Copies the part of a segment that lies in the chunk at @start. */
static int fill_from(const struct elf *e, const struct elf_segment *s, uint64_t start, uint8_t *out)
{
	uint64_t lo = MAX(s->vaddr, start), hi = start + (CHUNK - 1), end = s->vaddr + s->filesz;

	if (!s->filesz || end < s->vaddr || s->vaddr > hi || end <= start)
		return 0;
	hi = MIN(end - 1, hi);
	return elf_read_at(e, s->off + (lo - s->vaddr), out + (lo - start), (size_t)(hi - lo + 1));
}

static void patch(const struct image *img, uint64_t start, uint8_t *out)
{
	size_t i = vec_first(img->relocs, img->n_relocs, start);

	for (; i < img->n_relocs && img->relocs[i].place - start <= CHUNK - 8; i++)
		memcpy(out + (img->relocs[i].place - start), &img->relocs[i].value, 8);
}

static uint8_t *load_chunk(struct image *img, uint64_t number)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t n;
	const struct elf_segment *loads = elf_segments(img->elf, &n);
	uint8_t **slot;

	if (CHUNK > img->budget - img->used)
		return NULL;
	data = calloc(1, CHUNK);
	for (size_t i = 0; data && i < n; i++)
		if (fill_from(img->elf, &loads[i], number << CHUNK_BITS, data) < 0)
			return NULL;
	slot = data ? map_add(&img->chunks, &number, NULL) : NULL;
	if (!slot)
		return NULL;
	patch(img, number << CHUNK_BITS, data);
	img->used += CHUNK;
	*slot = data;
	return TAKE_PTR(data);
}

static const uint8_t *chunk(struct image *img, uint64_t number)
{
	uint8_t *const *slot;

	if (img->last_data && img->last == number)
		return img->last_data;
	slot = map_find(&img->chunks, &number);
	img->last_data = slot ? *slot : load_chunk(img, number);
	img->last = number;
	return img->last_data;
}

bool image_read(struct image *img, uint64_t addr, void *buf, size_t len)
{
	uint8_t *out = buf;

	if (!image_has(img, addr, len)) {
		memset(buf, 0, len);
		return false;
	}
	for (size_t done = 0; done < len;) {
		uint64_t at = addr + done;
		size_t in = (size_t)(at & (CHUNK - 1)), part = MIN(len - done, (size_t)CHUNK - in);
		const uint8_t *data = chunk(img, at >> CHUNK_BITS);

		if (!data) {
			memset(buf, 0, len);
			return false;
		}
		memcpy(out + done, data + in, part);
		done += part;
	}
	return true;
}

uint64_t image_u64(struct image *img, uint64_t addr)
{
	uint64_t v;

	image_read(img, addr, &v, sizeof(v));
	return v;
}

uint32_t image_u32(struct image *img, uint64_t addr)
{
	uint32_t v;

	image_read(img, addr, &v, sizeof(v));
	return v;
}

uint64_t image_base(const struct image *img)
{
	size_t n;
	const struct elf_segment *loads = elf_segments(img->elf, &n);

	return n ? loads[0].vaddr & ~(uint64_t)0xfff : 0;
}

uint64_t image_fixed_end(const struct image *img)
{
	size_t n;
	const struct elf_segment *loads = elf_segments(img->elf, &n);
	uint64_t end = image_base(img);

	for (size_t i = 0; i < n && !loads[i].write; i++)
		if (loads[i].vaddr >= end && loads[i].filesz <= UINT64_MAX - loads[i].vaddr)
			end = loads[i].vaddr + loads[i].filesz;
	return end;
}
