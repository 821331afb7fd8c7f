// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pass over symbol tables and the choice between symbols. See the header for the rules.
 *
 * Format: System V ABI, "Symbol Table".
 */
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "elf/elf_impl.h"
#include "elf/range.h"
#include "elf/symtab_impl.h"

#define CHUNK_BYTES (64u << 10)
#define SYMS_MAX (1u << 24)		/* of one table; above it a file is no program */
#define COVERED_MAX (1ull << 26)	/* pairs of symbol and address looked at: hostile tables overlap */

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

int symtab_string(const struct sym_table *tab, uint64_t off, char **ret)
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
	return e->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static void parse_sym(struct cursor *c, const struct elf *e, struct sym *s)
{
	uint8_t info;

	s->name = cur_u32(c);
	if (e->is_64) {
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
	if (e->machine == EM_ARM && s->type == STT_FUNC)	/* the lowest bit says Thumb */
		s->start &= ~1ull;
}

/* Symbols that may name code. Labels have no type; those of data sections are none of ours. */
static bool names_code(const struct sym_table *tab, const struct sym *s)
{
	const struct elf *e = tab->elf;

	if (s->section == SHN_UNDEF || s->section == SHN_ABS || s->section == SHN_COMMON || !s->name)
		return false;
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return true;
	if (s->type != STT_NOTYPE || s->section >= e->sections.len)
		return false;
	return e->sections.items[s->section].flags & SHF_EXECINSTR;
}

/* Calls @fn for each symbol that may name code, until it returns something else than 0, which is returned. */
static int symtab_each(const struct sym_table *tab, sym_fn fn, void *ctx)
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
	return r == -EBADMSG ? 0 : r;	/* cut short: what was there counts */
}

/* ---- choosing ---- */

struct choice {			/* the best symbol so far */
	const struct sym_table *tab;	/* NULL = none */
	struct sym sym;
	char *name;		/* read when there is a choice by name */
};

struct lookup {
	const uint64_t *addrs;
	size_t n;
	struct choice *covering;	/* per address: has a size and covers it */
	struct choice *nearest;		/* per address: starts at or before it, and after the address before */
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
	return c->name ? 0 : symtab_string(c->tab, c->sym.name, &c->name);
}

/* Whether @a is the better name, both known. */
static bool better_name(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_"), la = strlen(a), lb = strlen(b);

	if (ua != ub)
		return ua < ub;
	return la != lb ? la < lb : strcmp(a, b) < 0;
}

/* By all but the name: above 0 when @a is better. */
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
	if (s->type != STT_NOTYPE && cmp > 0) { /* typed symbols need no look at their names */
		free(have->name);
		*have = next;
		return 0;
	}
	r = name_of(&next);
	if (r < 0) /* no name, no symbol */
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
	size_t i = range_first(l->addrs, l->n, s->start);
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

/* Where the section of a symbol ends; 0 when that is not known. */
static uint64_t section_end(const struct choice *c)
{
	const struct elf *e = c->tab->elf;
	const struct elf_section *s;

	if (c->sym.section >= e->sections.len)
		return 0;
	s = &e->sections.items[c->sym.section];
	return s->addr + s->size;
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

static int run_lookup(struct symtab *t, struct lookup *l, struct symtab_hit *ret)
{
	int r = 0, stubs;

	for (size_t i = 0; r == 0 && i < t->n_tables; i++)
		r = symtab_each(&t->tables[i], take_symbol, l);
	if (r < 0)
		return r;
	r = fill(l, ret);
	if (r < 0)
		return r;
	stubs = plt_lookup(t, l->addrs, l->n, ret);
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
			free(ret[i].name);
			ret[i].name = NULL;
		}
	}
	free(l.covering);
	free(l.nearest);
	return r;
}
