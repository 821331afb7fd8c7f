// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Visits the units that cover a requested address, then within them the entries that cover it, from the outside in.
 * libdw does not detect loops: a limit on visited entries ends them.
 */
#include "elf/dwarf/dwline.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "elf/dwarf/dwimage.h"

#define VISITS_MAX (1u << 24)	/* limit of entries visited; the largest programs need some millions */
#define DEPTH_MAX 64
#define FUNCS_MAX 33		/* of one address */

struct dwline {
	uint8_t *image;		/* owned, read by libdw in place */
	Elf *elf;
	Dwarf *dw;
	struct arena arena;	/* names and call chains of the answers */
};

struct walk {
	struct dwline *d;
	const uint64_t *addrs;
	size_t n;
	Dwarf_Die *units;	/* per address; addr NULL = none */
	struct chain *chains;	/* per address */
	uint32_t visits;
	bool no_memory;
};

struct chain {			/* entries that cover an address, outermost first */
	Dwarf_Die dies[FUNCS_MAX];
	size_t n;
};

int dwline_open(struct elf *e, struct dwline **ret)
{
	struct dwline *d = calloc(1, sizeof(*d));
	size_t len;
	int r;

	if (!d)
		return -ENOMEM;
	d->arena.limit_bytes = 64u << 20;
	r = dwimage_build(e, &d->image, &len);
	if (r == 0) {
		elf_version(EV_CURRENT);
		d->elf = elf_memory((char *)d->image, len);
		d->dw = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
		r = d->dw ? 0 : -EBADMSG;
	}
	if (r < 0) {
		dwline_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void dwline_free(struct dwline *d)
{
	if (!d)
		return;
	dwarf_end(d->dw);
	elf_end(d->elf);
	arena_fini(&d->arena);
	free(d->image);
	free(d);
}

/* ---- which addresses an entry covers ---- */

/* Calls @fn with the index of each requested address that @die covers. Returns how many. */
static size_t each_covered(struct walk *w, Dwarf_Die *die, void (*fn)(struct walk *, Dwarf_Die *, size_t))
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	size_t n = 0;

	while (w->visits < VISITS_MAX && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		w->visits++;
		for (size_t i = vec_first(w->addrs, w->n, start); i < w->n && w->addrs[i] < end; i++) {
			w->visits++;
			n++;
			fn(w, die, i);
		}
	}
	return n;
}

static void take_unit(struct walk *w, Dwarf_Die *die, size_t i)
{
	if (!w->units[i].addr)
		w->units[i] = *die;
}

/* Skip skeletons: libdw would open the file with their other half. */
static bool is_whole(Dwarf_Die *unit, uint8_t type)
{
	return (type == DW_UT_compile || type == DW_UT_partial) && dwarf_tag(unit) == DW_TAG_compile_unit &&
	       !dwarf_hasattr(unit, DW_AT_GNU_dwo_name) && !dwarf_hasattr(unit, DW_AT_dwo_name);
}

static void find_units(struct walk *w)
{
	Dwarf_Off off = 0, next;
	size_t header;
	Dwarf_Half version;
	uint8_t type;

	for (; w->visits < VISITS_MAX; off = next) {
		Dwarf_Die unit;

		if (dwarf_next_unit(w->d->dw, off, &next, &header, &version, NULL, NULL, NULL, NULL, NULL) != 0 ||
		    next <= off)
			return;
		w->visits++;
		type = DW_UT_compile;
		if (!dwarf_offdie(w->d->dw, off + header, &unit) ||
		    dwarf_cu_info(unit.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || !is_whole(&unit, type))
			continue;
		each_covered(w, &unit, take_unit);
	}
}

/* ---- functions ---- */

static void take_func(struct walk *w, Dwarf_Die *die, size_t i)
{
	struct chain *c = &w->chains[i];

	if (c->n < FUNCS_MAX)
		c->dies[c->n++] = *die;
}

static void take_block(_unused_ struct walk *w, _unused_ Dwarf_Die *die, _unused_ size_t i)
{
}

/* Whether entries below @die may cover an address. */
static bool goes_down(struct walk *w, Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		return each_covered(w, die, take_func) > 0;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return each_covered(w, die, take_block) > 0;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		return true;
	default:
		return false;
	}
}

static void walk_children(struct walk *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r;

	for (r = dwarf_child(parent, &die); r == 0 && w->visits < VISITS_MAX; r = dwarf_siblingof(&die, &die)) {
		w->visits++;
		if (depth < DEPTH_MAX && goes_down(w, &die))
			walk_children(w, &die, depth + 1);
	}
}

/* Each unit once: a single walk answers all its addresses. */
static void walk_units(struct walk *w)
{
	struct map seen;
	bool is_new;

	map_init(&seen, sizeof(void *), 1);
	for (size_t i = 0; i < w->n && !w->no_memory; i++) {
		if (!w->units[i].addr)
			continue;
		w->no_memory = !map_add(&seen, &w->units[i].addr, &is_new);
		if (!w->no_memory && is_new)
			walk_children(w, &w->units[i], 0);
	}
	map_fini(&seen);
}

/* ---- answers ---- */

static const char *keep(struct walk *w, const char *s)
{
	const char *copy = s && s[0] ? arena_copy(&w->d->arena, s, strlen(s)) : NULL;

	w->no_memory |= s && s[0] && !copy;
	return copy;
}

static const char *string_attr(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, name, &a) ? dwarf_formstring(&a) : NULL;
}

static uint64_t number_attr(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	return dwarf_attr(die, name, &a) && dwarf_formudata(&a, &v) == 0 ? v : 0;
}

static void name_func(struct walk *w, Dwarf_Die *die, uint64_t addr, struct dwline_func *f)
{
	const char *name = string_attr(die, DW_AT_linkage_name);
	Dwarf_Addr start;

	if (!name)
		name = string_attr(die, DW_AT_MIPS_linkage_name);
	f->name = keep(w, name ? name : string_attr(die, DW_AT_name));
	if ((dwarf_entrypc(die, &start) == 0 || dwarf_lowpc(die, &start) == 0) && start <= addr)
		f->start = start;
}

/* Call site of the inlined function @inlined. */
static void place_call(struct walk *w, Dwarf_Die *unit, Dwarf_Die *inlined, struct dwline_func *around)
{
	uint64_t file = number_attr(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	around->line = (uint32_t)MIN(number_attr(inlined, DW_AT_call_line), (uint64_t)UINT32_MAX);
	if (file && dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		around->file = keep(w, dwarf_filesrc(files, (size_t)file, NULL, NULL));
}

static void place_addr(struct walk *w, Dwarf_Die *unit, uint64_t addr, struct dwline_func *f)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, addr);
	int number;

	if (!line)
		return;
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		f->line = (uint32_t)number;
	f->file = keep(w, dwarf_linesrc(line, NULL, NULL));
}

/* Writes the answer for address @i from its chain, which holds all entries that cover it. */
static void answer(struct walk *w, size_t i, struct dwline_hit *ret)
{
	struct chain *c = &w->chains[i];
	size_t n = MAX(c->n, (size_t)1);

	ret->funcs = arena_alloc(&w->d->arena, n * sizeof(*ret->funcs));
	if (!ret->funcs) {
		w->no_memory = true;
		return;
	}
	place_addr(w, &w->units[i], w->addrs[i], &ret->funcs[0]);
	for (size_t k = 0; k < c->n; k++) {
		Dwarf_Die *die = &c->dies[c->n - 1 - k];

		name_func(w, die, w->addrs[i], &ret->funcs[k]);
		if (k + 1 < c->n)
			place_call(w, &w->units[i], die, &ret->funcs[k + 1]);
	}
	ret->n = c->n || ret->funcs[0].line ? n : 0;
}

int dwline_lookup(struct dwline *d, const uint64_t *addrs, size_t n, struct dwline_hit *ret)
{
	_cleanup_free_ Dwarf_Die *units = calloc(n ? n : 1, sizeof(*units));
	_cleanup_free_ struct chain *chains = calloc(n ? n : 1, sizeof(*chains));
	struct walk w = { .d = d, .addrs = addrs, .n = n, .units = units, .chains = chains };
	int found = 0;

	memset(ret, 0, n * sizeof(*ret));
	if (!units || !chains)
		return -ENOMEM;
	find_units(&w);
	walk_units(&w);
	for (size_t i = 0; i < n; i++) {
		if (units[i].addr)
			answer(&w, i, &ret[i]);
		found += ret[i].n && ret[i].funcs[0].line;
	}
	return w.no_memory ? -ENOMEM : found;
}
