// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merges members and descriptors from type descriptors and DWARF. Where the two disagree, the value is unknown.
 */

#include "base/macros.h"
#include "gobin/job.h"

#define KNOWN_MINOR 27		/* newest release that was examined */

static const struct struct_field *member(const struct go_type *t, const char *field)
{
	return t ? types_field(t, field) : NULL;
}

static void name_field(struct job *j, struct gobin_field_answer *a, const struct go_type *t,
		       const struct struct_field *f)
{
	a->name = answer_strf(j, "%s.%s", t->full, f->name);
	a->size = f->has_size && f->size < UINT32_MAX ? (uint32_t)f->size : 0;
}

static void merge_field(struct job *j, enum gobin_field id)
{
	const struct field_row *row = &field_rows[id];
	struct gobin_field_answer *a = &j->a.fields[id];
	const struct go_type *t = types_find(&j->types, row->pkg, row->structure);
	const struct go_type *d = dwarf_find(&j->dwarf, row->pkg, row->structure);
	const struct struct_field *by_types = member(t, row->field), *by_dwarf = member(d, row->field);

	a->off = a->by_types = a->by_dwarf = -1;
	if (by_types && by_types->off < INT32_MAX)
		a->by_types = (int32_t)by_types->off;
	if (by_dwarf && by_dwarf->off < INT32_MAX)
		a->by_dwarf = (int32_t)by_dwarf->off;
	a->sources = (a->by_types >= 0 ? GOBIN_BY_TYPES : 0) | (a->by_dwarf >= 0 ? GOBIN_BY_DWARF : 0);
	if (a->by_types >= 0)
		name_field(j, a, t, by_types);
	else if (a->by_dwarf >= 0)
		name_field(j, a, d, by_dwarf);
	if (a->by_types < 0 || a->by_dwarf < 0 || a->by_types == a->by_dwarf)
		a->off = MAX(a->by_types, a->by_dwarf);
}

/*
 * The read loop of HTTP/2 clients lives on a stack, so no descriptor leads to it. Its connection was its first member
 * (of any size) in every release so far.
 */
static void merge_read_loop(struct job *j, enum gobin_field id, enum gobin_field loop_of)
{
	struct gobin_field_answer *a = &j->a.fields[id];

	if (a->sources || j->a.fields[loop_of].off < 0 || j->id.minor > KNOWN_MINOR)
		return;
	a->off = 0;
	a->size = 8;
	a->sources = GOBIN_BY_TABLE;
	a->name = answer_strf(j, "%s.%s", field_rows[id].structure, field_rows[id].field);
}

static void merge_type(struct job *j, enum gobin_type id)
{
	const struct type_row *row = &type_rows[id];
	struct gobin_type_answer *a = &j->a.types_of[id];
	const struct go_type *t = types_find(&j->types, row->pkg, row->name);
	const struct go_type *d = dwarf_find(&j->dwarf, row->pkg, row->name);

	a->by_types = t ? t->ptr : 0;
	a->by_dwarf = d ? d->ptr : 0;
	a->sources = (a->by_types ? GOBIN_BY_TYPES : 0) | (a->by_dwarf ? GOBIN_BY_DWARF : 0);
	if (t || d)
		a->name = answer_strf(j, "*%s", (t ? t : d)->full);
	if (!a->by_types || !a->by_dwarf || a->by_types == a->by_dwarf)
		a->addr = a->by_types ? a->by_types : a->by_dwarf;
}

static void merge_itab(struct job *j, enum gobin_itab id)
{
	const struct itab_row *row = &itab_rows[id];
	const struct go_type *t = types_find(&j->types, row->pkg, row->name);
	const struct go_type *inter = types_find(&j->types, row->inter_pkg, row->inter);
	struct gobin_type_answer *a = &j->a.itabs[id];

	if (!t || !inter || !t->ptr)
		return;
	vec_each(it, &j->types.itabs) {
		if (it->type != t->ptr || it->inter != inter->addr)
			continue;
		a->addr = a->by_types = it->addr;
		a->sources = GOBIN_BY_TYPES;
		a->name = answer_strf(j, "*%s,%s", t->full, inter->full);
		return;
	}
}

void layout_merge(struct job *j)
{
	for (int i = 0; i < GOBIN_F__MAX; i++)
		merge_field(j, (enum gobin_field)i);
	merge_read_loop(j, GOBIN_F_XNET_LOOP_CC, GOBIN_F_XNET_CLIENT_TCONN);
	merge_read_loop(j, GOBIN_F_STD_LOOP_CC, GOBIN_F_STD_CLIENT_TCONN);
	for (int i = 0; i < GOBIN_T__MAX; i++)
		merge_type(j, (enum gobin_type)i);
	for (int i = 0; i < GOBIN_I__MAX; i++)
		merge_itab(j, (enum gobin_itab)i);
}
