// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inlined functions of Go: a tree for each function, next to gopclntab, and the node number at each address. Go 1.18
 * and later: trees are offsets from an address in the module data.
 *
 * Format: runtime/symtabinl.go; internal/abi/symtab.go (numbers of the tables); runtime/symtab.go, struct moduledata.
 */
#include "elf/go/goinline.h"

#include <errno.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "elf/elf.h"
#include "elf/go/gopclntab.h"
#include "elf/go/gotable.h"
#include "elf/go/gotext.h"

#define PCDATA_TREE_INDEX 2
#define FUNCDATA_TREE 3
#define NODES_MAX 65536		/* of one function */

#define MODULE_FUNCDATA_1_18 304	/* byte offsets in 64-bit module data */
#define MODULE_FUNCDATA_1_20 320

struct node {
	uint32_t name, parent_pc;
};

/* Field number @n of the variable part, which starts four bytes after the fixed part. */
static uint32_t table_at(const struct gopclntab *t, const struct gofunc *f, uint32_t n)
{
	uint32_t fixed = t->since >= 20 ? GO_FIELD_START_LINE : GO_FIELD_UNIT;
	struct cursor c = gopclntab_field(t, f->info, fixed + 2 + n);
	uint32_t v = cur_u32(&c);

	return cur_ok(&c) ? v : UINT32_MAX;
}

static uint32_t n_pcdata(const struct gopclntab *t, const struct gofunc *f)
{
	struct cursor c = gopclntab_field(t, f->info, GO_FIELD_N_PCDATA);

	return MIN(cur_u32(&c), 64u);
}

static uint8_t n_funcdata(const struct gopclntab *t, const struct gofunc *f)
{
	struct cursor c = gopclntab_field(t, f->info, (t->since >= 20 ? GO_FIELD_START_LINE : GO_FIELD_UNIT) + 1);

	cur_skip(&c, 3);
	return cur_u8(&c);
}

int goinline_open(struct elf *e, struct gopclntab *t)
{
	uint64_t module;
	int r;

	if (t->version != GO_1_18)
		return -ENOENT;
	r = gotext_module(e, t, &module);
	if (r < 0)
		return r;
	return gotext_pointer(e, module + (t->since >= 20 ? MODULE_FUNCDATA_1_20 : MODULE_FUNCDATA_1_18),
			      &t->funcdata);
}

/* Node @i of the tree at @tree. */
static int read_node(struct elf *e, const struct gopclntab *t, uint64_t tree, uint32_t i, struct node *ret)
{
	const size_t size = t->since >= 20 ? 16 : 20;
	const uint8_t *data;
	struct cursor c;
	int r;

	if (i >= NODES_MAX)
		return -EBADMSG;
	r = elf_vaddr_data(e, tree + i * size, size, &data);
	if (r < 0)
		return r;
	c = cur_init(data, size);
	cur_skip(&c, t->since >= 20 ? 4 : 12);	/* function kind; until 1.19 parent, file and line */
	ret->name = cur_u32(&c);
	ret->parent_pc = cur_u32(&c);
	return 0;
}

static void set_line(const struct gopclntab *t, const struct gofunc *f, uint64_t pc, struct goframe *ret)
{
	if (gopclntab_line(t, f, pc, &ret->file, &ret->line) < 0) {
		ret->file = NULL;
		ret->line = 0;
	}
}

size_t goinline_frames(struct elf *e, const struct gopclntab *t, const struct gofunc *f, uint64_t pc,
		       struct goframe *ret, size_t cap)
{
	uint32_t pcs = n_pcdata(t, f), index = UINT32_MAX, tree = UINT32_MAX;
	size_t n = 0;

	if (t->funcdata && pcs > PCDATA_TREE_INDEX && n_funcdata(t, f) > FUNCDATA_TREE) {
		index = table_at(t, f, PCDATA_TREE_INDEX);
		tree = table_at(t, f, pcs + FUNCDATA_TREE);
	}
	while (tree != UINT32_MAX && n + 1 < cap) {
		int32_t i = gopclntab_value(t, index, f->entry, pc);
		struct node node;
		const char *name;

		if (i < 0 || read_node(e, t, t->funcdata + tree, (uint32_t)i, &node) < 0)
			break;
		name = gopclntab_string(t->names, node.name);
		if (!name || node.parent_pc >= f->end - f->entry)
			break;
		ret[n].name = name;
		set_line(t, f, pc, &ret[n++]);
		pc = f->entry + node.parent_pc;
	}
	ret[n].name = f->name;
	set_line(t, f, pc, &ret[n++]);
	return n;
}
