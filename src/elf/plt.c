// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of stubs in the procedure linkage table: the instruction that jumps says which slot of the global offset
 * table it jumps through, and the relocation of that slot which symbol. That holds for each linker's layout
 * (.plt, .plt.sec, .plt.got), where counting entries does not.
 *
 * Format: System V ABI AMD64 supplement, "Procedure Linkage Table"; AArch64 ELF (IHI 0056), "PLT".
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "elf/symtab_impl.h"

#define STUB_MAX 16		/* bytes */
#define RELOCS_MAX_BYTES (64u << 20)

/* The slot that a stub at @addr jumps through; 0 when it is no such stub. */
static uint64_t slot_x86_64(uint64_t addr, const uint8_t *code, size_t len)
{
	struct cursor c = cur_init(code, len);

	if (len >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4))	/* endbr64 */
		cur_skip(&c, 4);
	if (cur_peek(&c, 0) == 0xf2)	/* bnd */
		cur_skip(&c, 1);
	if (cur_u8(&c) != 0xff || cur_u8(&c) != 0x25)	/* jmp *disp(%rip) */
		return 0;
	addr += (uint64_t)(int64_t)(int32_t)cur_u32(&c);
	return cur_ok(&c) ? addr + (uint64_t)(c.pos - code) : 0;
}

static uint64_t slot_aarch64(uint64_t addr, const uint8_t *code, size_t len)
{
	struct cursor c = cur_init(code, len);
	uint32_t adrp = cur_u32(&c), ldr;
	uint64_t page;

	if (adrp == 0xd503245f) {	/* bti c */
		adrp = cur_u32(&c);
		addr += 4;
	}
	ldr = cur_u32(&c);
	if (!cur_ok(&c) || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	page = ((uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 12;
	if (page & 1ull << 32)		/* 33 bits with a sign */
		page |= ~0ull << 33;
	return (addr & ~0xfffull) + page + (ldr >> 10 & 0xfff) * 8;
}

static uint64_t slot_of(const struct elf *e, uint64_t addr, const uint8_t *code, size_t len)
{
	if (e->machine == EM_X86_64)
		return slot_x86_64(addr, code, len);
	return e->machine == EM_AARCH64 ? slot_aarch64(addr, code, len) : 0;
}

struct stub {
	uint64_t slot;		/* 0 = resolved */
	uint64_t start, size;
	size_t index;		/* of the address */
};

static int by_slot(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static const struct elf_section *plt_section(const struct elf *e, uint64_t addr)
{
	for (size_t i = 0; i < e->sections.len; i++) {
		const struct elf_section *s = &e->sections.items[i];

		if ((s->flags & SHF_EXECINSTR) && s->type == SHT_PROGBITS && addr >= s->addr &&
		    addr - s->addr < s->size && !strncmp(s->name, ".plt", 4))
			return s;
	}
	return NULL;
}

/* The stub that @addr lies in: entries are 16 bytes long, of .plt.got 8 where the linker was tight. */
static bool find_stub(const struct elf *e, uint64_t addr, size_t index, struct stub *ret)
{
	static const uint64_t sizes[] = { 16, 8 };
	const struct elf_section *s = plt_section(e, addr);
	uint8_t code[STUB_MAX];

	for (size_t i = 0; s && i < ARRAY_SIZE(sizes); i++) {
		uint64_t in = (addr - s->addr) / sizes[i] * sizes[i];
		size_t len = (size_t)MIN(sizes[i], s->size - in);

		if (elf_read_at(e, s->off + in, code, len) < 0)
			return false;
		*ret = (struct stub){ .start = s->addr + in, .size = len, .index = index,
				      .slot = slot_of(e, s->addr + in, code, len) };
		if (ret->slot)
			return true;
	}
	return false;
}

static int name_stub(const struct sym_table *dynsym, uint64_t symbol, const struct stub *st, struct symtab_hit *ret)
{
	_cleanup_free_ char *name = NULL;
	uint8_t raw[4];
	struct cursor c = cur_init(raw, sizeof(raw));
	int r;

	if (!symbol || symbol >= dynsym->syms.size / sizeof(Elf64_Sym))
		return -ENOENT;
	r = elf_read_at(dynsym->elf, dynsym->syms.off + symbol * sizeof(Elf64_Sym), raw, sizeof(raw));
	if (r == 0)
		r = symtab_string(dynsym, cur_u32(&c), &name);
	if (r < 0)
		return r;
	if (asprintf(&ret->name, "%s@plt", name) < 0) {
		ret->name = NULL;
		return -ENOMEM;
	}
	ret->start = st->start;
	ret->size = st->size;
	return 0;
}

/* All stubs of one slot: several addresses may lie in one. */
static int match_reloc(const struct sym_table *dynsym, const struct stub *stubs, size_t n, uint64_t slot,
		       uint64_t symbol, struct symtab_hit *ret)
{
	size_t lo = 0, hi = n;
	int found = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (stubs[mid].slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && stubs[lo].slot == slot; lo++) {
		struct symtab_hit *hit = &ret[stubs[lo].index];
		int r = hit->name ? -EEXIST : name_stub(dynsym, symbol, &stubs[lo], hit);

		if (r == -ENOMEM)
			return r;
		found += r == 0;
	}
	return found;
}

static int scan_relocs(const struct sym_table *dynsym, const struct elf_section *s, const struct stub *stubs,
		       size_t n, struct symtab_hit *ret)
{
	const uint8_t *data;
	size_t len;
	struct cursor c;
	int found = 0;

	if (s->type != SHT_RELA || s->size > RELOCS_MAX_BYTES || elf_section_data(dynsym->elf, s, &data, &len) < 0)
		return 0;
	c = cur_init(data, len);
	while (cur_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t slot = cur_u64(&c), info = cur_u64(&c);
		int r = match_reloc(dynsym, stubs, n, slot, info >> 32, ret);

		if (r < 0)
			return r;
		found += r;
		cur_skip(&c, 8);
	}
	return found;
}

static int name_stubs(const struct symtab *t, const struct stub *stubs, size_t n, struct symtab_hit *ret)
{
	static const char *const sections[] = { ".rela.plt", ".rela.dyn" };
	const struct sym_table *dynsym = NULL;
	int found = 0;

	for (size_t i = 0; i < t->n_tables; i++)
		if (t->tables[i].syms.type == SHT_DYNSYM)
			dynsym = &t->tables[i];
	for (size_t i = 0; dynsym && i < ARRAY_SIZE(sections); i++) {
		struct elf_section s;
		int r = elf_section_find(t->elf, sections[i], &s);

		if (r < 0)
			continue;
		r = scan_relocs(dynsym, &s, stubs, n, ret);
		if (r < 0)
			return r;
		found += r;
	}
	return found;
}

int plt_lookup(const struct symtab *t, const uint64_t *addrs, size_t n, struct symtab_hit *ret)
{
	_cleanup_free_ struct stub *stubs = NULL;
	size_t n_stubs = 0;

	if (!t->elf->is_64)
		return 0;
	stubs = calloc(n ? n : 1, sizeof(*stubs));
	if (!stubs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!ret[i].name && find_stub(t->elf, addrs[i], i, &stubs[n_stubs]))
			n_stubs++;
	if (!n_stubs)
		return 0;
	qsort(stubs, n_stubs, sizeof(*stubs), by_slot);
	return name_stubs(t, stubs, n_stubs, ret);
}
