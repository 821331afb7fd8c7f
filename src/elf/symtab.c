// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pass over symbol tables, the choice between symbols (rules: symtab.h), and PLT stubs. The jump of a stub goes
 * through a slot of the GOT, whose relocation names the symbol. That works for every linker's layout (.plt, .plt.sec,
 * .plt.got), unlike counting entries.
 *
 * Formats: System V ABI, "Symbol Table"; AMD64 supplement, "Procedure Linkage Table"; AArch64 ELF (IHI 0056), "PLT".
 */
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "elf/minidebug.h"

#define CHUNK_BYTES (64u << 10)
#define SYMS_MAX (1u << 24)		/* limit of symbols per table; no real program has more */
#define COVERED_MAX (1ull << 26)	/* limit of (symbol, address) pairs compared: symbols of hostile tables
					 * overlap */
#define STUB_MAX 16		/* bytes */
#define RELOCS_MAX_BYTES (64u << 20)

struct sym {
	uint64_t start, size;
	uint32_t name;		/* offset into the strings */
	uint16_t section;	/* SHN_* or index */
	uint8_t type;		/* STT_* */
	bool local;
};

struct sym_table {
	struct elf *elf;	/* borrowed */
	struct elf_section syms, strings;
};

struct symtab {
	struct elf *elf;	/* borrowed */
	struct elf *mini;	/* owned: MiniDebugInfo; NULL = none */
	uint8_t *mini_data;	/* owned */
	struct sym_table tables[3];
	size_t n_tables;
};

/* Called for each symbol that may name code; a nonzero result ends the walk. */
typedef int (*sym_fn)(void *ctx, const struct sym_table *tab, const struct sym *s);

/* ---- tables ---- */

static void add_table(struct symtab *t, struct elf *e, uint32_t type)
{
	size_t n;
	const struct elf_section *all = elf_sections(e, &n);

	for (size_t i = 0; i < n && t->n_tables < ARRAY_SIZE(t->tables); i++) {
		if (all[i].type != type || all[i].link >= n || (all[i].flags & SHF_COMPRESSED))
			continue;
		if (all[all[i].link].type != SHT_STRTAB)
			continue;
		t->tables[t->n_tables++] = (struct sym_table){
			.elf = e, .syms = all[i], .strings = all[all[i].link],
		};
		return;
	}
}

int symtab_new(struct elf *e, size_t budget, struct symtab **ret)
{
	struct symtab *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->elf = e;
	add_table(t, e, SHT_SYMTAB);
	add_table(t, e, SHT_DYNSYM);
	r = minidebug_open(e, budget, &t->mini_data, &t->mini);
	if (r == -ENOMEM) {
		symtab_free(t);
		return r;
	}
	if (r == 0)
		add_table(t, t->mini, SHT_SYMTAB);
	*ret = t;
	return 0;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	elf_free(t->mini);
	free(t->mini_data);
	free(t);
}

/* A copy of the name, owned by the caller. -ENOENT if it is empty. */
static int symbol_name(const struct sym_table *tab, uint64_t off, char **ret)
{
	_cleanup_free_ char *name = NULL;
	size_t len = 0;

	while (len < SYMTAB_NAME_MAX) {
		uint64_t left = off + len < tab->strings.size ? tab->strings.size - off - len : 0;
		size_t step = (size_t)MIN(left, (uint64_t)MAX(len, 128u));
		char *p = realloc(name, len + step + 1);
		int r;

		if (!p)
			return -ENOMEM;
		name = p;
		name[len] = '\0';
		if (!step || tab->strings.off + off < tab->strings.off)
			break;
		r = elf_read_at(tab->elf, tab->strings.off + off + len, name + len, step);
		if (r < 0)
			return r;
		name[len + step] = '\0';
		if (memchr(name + len, 0, step))
			break;
		len += step;
	}
	if (!name[0])
		return -ENOENT;
	*ret = TAKE_PTR(name);
	return 0;
}

/* ---- one pass ---- */

static size_t sym_size(const struct elf *e)
{
	return elf_is_64(e) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static void parse_sym(struct cursor *c, const struct elf *e, struct sym *s)
{
	uint8_t info;

	s->name = cur_u32(c);
	if (elf_is_64(e)) {
		info = cur_u8(c);
		cur_skip(c, 1);
		s->section = cur_u16(c);
		s->start = cur_u64(c);
		s->size = cur_u64(c);
	} else {
		s->start = cur_u32(c);
		s->size = cur_u32(c);
		info = cur_u8(c);
		cur_skip(c, 1);
		s->section = cur_u16(c);
	}
	s->type = info & 0xf;
	s->local = info >> 4 == STB_LOCAL;
	if (elf_machine(e) == EM_ARM && s->type == STT_FUNC)	/* bit 0 marks Thumb code */
		s->start &= ~1ull;
}

/* NULL for a reserved section index (SHN_*). */
static const struct elf_section *section_at(const struct elf *e, uint16_t index)
{
	size_t n;
	const struct elf_section *all = elf_sections(e, &n);

	return index < n ? &all[index] : NULL;
}

/* Symbols that may name code. Untyped labels count, unless their section holds data. */
static bool names_code(const struct sym_table *tab, const struct sym *s)
{
	const struct elf_section *in = section_at(tab->elf, s->section);

	if (s->section == SHN_UNDEF || s->section == SHN_ABS || s->section == SHN_COMMON || !s->name)
		return false;
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return true;
	return s->type == STT_NOTYPE && in && (in->flags & SHF_EXECINSTR);
}

/* Calls @fn for each symbol that may name code, until it returns nonzero; returns that value. */
static int each_symbol(const struct sym_table *tab, sym_fn fn, void *ctx)
{
	size_t one = sym_size(tab->elf), done;
	_cleanup_free_ uint8_t *chunk = NULL;
	uint64_t n = tab->syms.size / one;
	int r = 0;

	if (tab->syms.entsize != one || n > SYMS_MAX)
		return 0;
	chunk = malloc(CHUNK_BYTES);
	if (!chunk)
		return -ENOMEM;
	for (uint64_t i = 0; r == 0 && i < n; i += done) {
		struct cursor c;

		done = (size_t)MIN(n - i, (uint64_t)(CHUNK_BYTES / one));
		r = elf_read_at(tab->elf, tab->syms.off + i * one, chunk, done * one);
		c = cur_init(chunk, r < 0 ? 0 : done * one);
		while (r == 0 && cur_left(&c)) {
			struct sym s;

			parse_sym(&c, tab->elf, &s);
			if (names_code(tab, &s))
				r = fn(ctx, tab, &s);
		}
	}
	return r == -EBADMSG ? 0 : r;	/* truncated: use the part that exists */
}

/* ---- choosing ---- */

struct choice {			/* best symbol so far */
	const struct sym_table *tab;	/* NULL = none */
	struct sym sym;
	char *name;		/* loaded when a tie must be broken by name */
};

struct lookup {
	const uint64_t *addrs;
	size_t n;
	struct choice *covering;	/* per address: has a size and covers the address */
	struct choice *nearest;		/* per address: starts at or before it, and after the previous address */
	uint64_t covered;		/* pairs looked at */
};

static bool is_label_of_tools(const char *name)
{
	if (name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.'))
		return true;
	return name[0] == '.' && name[1] == 'L';
}

static int name_of(struct choice *c)
{
	return c->name ? 0 : symbol_name(c->tab, c->sym.name, &c->name);
}

/* Whether @a is the better of two known names. */
static bool better_name(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_"), la = strlen(a), lb = strlen(b);

	if (ua != ub)
		return ua < ub;
	return la != lb ? la < lb : strcmp(a, b) < 0;
}

/* Compares all but the name: > 0 if @a is better. */
static int compare(const struct sym *a, const struct sym *b)
{
	bool label_a = a->type == STT_NOTYPE, label_b = b->type == STT_NOTYPE;

	if (a->start != b->start)
		return a->start > b->start ? 1 : -1;
	if (label_a != label_b)
		return label_a ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	return (int)b->local - (int)a->local;
}

static int consider(struct choice *have, const struct sym_table *tab, const struct sym *s)
{
	struct choice next = { .tab = tab, .sym = *s };
	int cmp = have->tab ? compare(s, &have->sym) : 1, r;

	if (cmp < 0)
		return 0;
	if (s->type != STT_NOTYPE && cmp > 0) { /* skip reading the names of typed symbols */
		free(have->name);
		*have = next;
		return 0;
	}
	r = name_of(&next);
	if (r < 0) /* ignore unnamed symbols */
		return r == -ENOMEM ? r : 0;
	if (is_label_of_tools(next.name) ||
	    (cmp == 0 && name_of(have) == 0 && !better_name(next.name, have->name))) {
		free(next.name);
		return 0;
	}
	free(have->name);
	*have = next;
	return 0;
}

static int take_symbol(void *ctx, const struct sym_table *tab, const struct sym *s)
{
	struct lookup *l = ctx;
	size_t i = vec_first(l->addrs, l->n, s->start);
	int r;

	if (i == l->n)
		return 0;
	r = consider(&l->nearest[i], tab, s);
	for (; r == 0 && i < l->n && l->addrs[i] - s->start < s->size; i++) {
		if (++l->covered > COVERED_MAX)
			return -E2BIG;
		r = consider(&l->covering[i], tab, s);
	}
	return r;
}

/* End of the symbol's section; 0 if unknown. */
static uint64_t section_end(const struct choice *c)
{
	const struct elf_section *s = section_at(c->tab->elf, c->sym.section);

	return s ? s->addr + s->size : 0;
}

/* @near: the last symbol at or before @addr. */
static struct choice *choose(uint64_t addr, struct choice *covering, struct choice *near)
{
	if (covering->tab)
		return covering;
	if (near && !near->sym.size && addr < section_end(near))
		return near;
	return NULL;
}

static int fill(struct lookup *l, struct symtab_hit *ret)
{
	struct choice *near = NULL;
	int found = 0, r;

	for (size_t i = 0; i < l->n; i++) {
		struct choice *c;

		if (l->nearest[i].tab)
			near = &l->nearest[i];
		c = choose(l->addrs[i], &l->covering[i], near);
		if (!c)
			continue;
		r = name_of(c);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		ret[i] = (struct symtab_hit){ .start = c->sym.start, .size = c->sym.size, .name = strdup(c->name) };
		if (!ret[i].name)
			return -ENOMEM;
		found++;
	}
	return found;
}

/* ---- stubs ---- */

/* The GOT slot that a stub at @addr jumps through; 0 if the bytes are not a stub. */
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
	if (page & 1ull << 32)		/* signed 33-bit value */
		page |= ~0ull << 33;
	return (addr & ~0xfffull) + page + (ldr >> 10 & 0xfff) * 8;
}

static uint64_t slot_of(const struct elf *e, uint64_t addr, const uint8_t *code, size_t len)
{
	if (elf_machine(e) == EM_X86_64)
		return slot_x86_64(addr, code, len);
	return elf_machine(e) == EM_AARCH64 ? slot_aarch64(addr, code, len) : 0;
}

struct stub {
	uint64_t slot;		/* 0 = resolved */
	uint64_t start, size;
	size_t index;		/* of the address */
};

static const struct elf_section *plt_section(const struct elf *e, uint64_t addr)
{
	size_t n;
	const struct elf_section *all = elf_sections(e, &n);

	each_item(s, all, n) {
		if ((s->flags & SHF_EXECINSTR) && s->type == SHT_PROGBITS && addr >= s->addr &&
		    addr - s->addr < s->size && !strncmp(s->name, ".plt", 4))
			return s;
	}
	return NULL;
}

/* The stub that contains @addr: entries are 16 bytes long, in .plt.got possibly 8. */
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
		r = symbol_name(dynsym, cur_u32(&c), &name);
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

/* Names the addresses in the stubs of one slot; several stubs may share it. */
static int match_reloc(const struct sym_table *dynsym, const struct stub *stubs, size_t n, uint64_t slot,
		       uint64_t symbol, struct symtab_hit *ret)
{
	int found = 0;

	for (size_t i = vec_first(stubs, n, slot); i < n && stubs[i].slot == slot; i++) {
		struct symtab_hit *hit = &ret[stubs[i].index];
		int r = hit->name ? -EEXIST : name_stub(dynsym, symbol, &stubs[i], hit);

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

/* Names the addresses that @ret lacks and that lie in stubs. Returns how many, or -ENOMEM. */
static int name_plt(const struct symtab *t, const uint64_t *addrs, size_t n, struct symtab_hit *ret)
{
	_cleanup_free_ struct stub *stubs = NULL;
	size_t n_stubs = 0;

	if (!elf_is_64(t->elf))
		return 0;
	stubs = calloc(n ? n : 1, sizeof(*stubs));
	if (!stubs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!ret[i].name && find_stub(t->elf, addrs[i], i, &stubs[n_stubs]))
			n_stubs++;
	if (!n_stubs)
		return 0;
	qsort(stubs, n_stubs, sizeof(*stubs), vec_by_u64);
	return name_stubs(t, stubs, n_stubs, ret);
}

/* ---- look-up ---- */

static int run_lookup(struct symtab *t, struct lookup *l, struct symtab_hit *ret)
{
	int r = 0, stubs;

	for (size_t i = 0; r == 0 && i < t->n_tables; i++)
		r = each_symbol(&t->tables[i], take_symbol, l);
	if (r < 0)
		return r;
	r = fill(l, ret);
	if (r < 0)
		return r;
	stubs = name_plt(t, l->addrs, l->n, ret);
	return stubs == -ENOMEM ? stubs : r + MAX(stubs, 0);
}

int symtab_lookup(struct symtab *t, const uint64_t *addrs, size_t n, struct symtab_hit *ret)
{
	struct lookup l = { .addrs = addrs, .n = n };
	int r = -ENOMEM;

	memset(ret, 0, n * sizeof(*ret));
	l.covering = calloc(n ? n : 1, sizeof(*l.covering));
	l.nearest = calloc(n ? n : 1, sizeof(*l.nearest));
	if (l.covering && l.nearest)
		r = run_lookup(t, &l, ret);
	for (size_t i = 0; l.covering && l.nearest && i < n; i++) {
		free(l.covering[i].name);
		free(l.nearest[i].name);
		if (r < 0) {
			free(TAKE_PTR(ret[i].name));
		}
	}
	free(l.covering);
	free(l.nearest);
	return r;
}
