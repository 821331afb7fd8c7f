// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go writes one unit per package and puts all types into that of package runtime, so the unit's name decides whether
 * to read it. A limit on visited entries ends loops in hostile data.
 */
#include "gobin/dwarf/dwarf.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "elf/dwarf/dwimage.h"
#include "elf/elf.h"

#define AT_GO_RUNTIME_TYPE 0x2904
#define VISITS_MAX (1u << 24)		/* entries */
#define CHAIN_MAX 8			/* limit of typedefs between a use and its type */

struct reader {
	uint8_t *image;			/* owned, read by libdw in place */
	Elf *elf;
	Dwarf *dw;
	uint16_t machine;
	const struct type_query *queries;
	size_t n_queries;
	const uint64_t *entries;
	size_t n_entries;
	uint64_t types_addr;
	struct dwarf_facts *out;
	uint32_t visits;
	bool no_memory;
};

/* ---- attributes ---- */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *s = dwarf_attr_integrate(die, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;

	return s ? s : "";
}

static bool number_of(Dwarf_Die *die, unsigned attr, uint64_t *ret)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, attr, &a))
		return false;
	if (dwarf_formudata(&a, &v) != 0 && dwarf_formaddr(&a, (Dwarf_Addr *)&v) != 0)
		return false;
	*ret = v;
	return true;
}

/* Size of the type that @die refers to; false if unknown. */
static bool type_size(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Die type;
	Dwarf_Attribute a;

	if (!dwarf_attr_integrate(die, DW_AT_type, &a) || !dwarf_formref_die(&a, &type))
		return false;
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (number_of(&type, DW_AT_byte_size, ret))
			return true;
		switch (dwarf_tag(&type)) {
		case DW_TAG_pointer_type:
		case DW_TAG_subroutine_type:
			*ret = 8;
			return true;
		case DW_TAG_typedef:
			if (dwarf_attr(&type, DW_AT_type, &a) && dwarf_formref_die(&a, &type))
				break;
			return false;
		default:
			return false;
		}
	}
	return false;
}

/* The descriptor's address from Go's attribute, an offset from moduledata.types. */
static uint64_t runtime_type(const struct reader *r, Dwarf_Die *die)
{
	uint64_t v;

	if (!r->types_addr || !number_of(die, AT_GO_RUNTIME_TYPE, &v) || !v)
		return 0;
	return v >= r->types_addr ? v : r->types_addr + v;
}

/* ---- types ---- */

/* The requested type that "path.Name" names. */
static const struct type_query *find_query(const struct reader *r, const char *full, enum go_match *ret_match)
{
	const char *slash = strrchr(full, '/'), *dot = strchr(slash ? slash : full, '.');

	for (size_t i = 0; dot && i < r->n_queries; i++) {
		const struct type_query *w = &r->queries[i];
		enum go_match m = gobin_names_match_package(w->pkg, full, (size_t)(dot - full));

		if (m == GO_NO || (m == GO_BUNDLED ? !strcmp(dot + 1, w->name) : false) ||
		    !gobin_names_match(m, dot + 1, w->name))
			continue;
		*ret_match = m;
		return w;
	}
	return NULL;
}

/* The record of a requested type; NULL if a better one exists already, or without memory. */
static struct go_type *take_type(struct reader *r, const char *full)
{
	enum go_match m;
	const struct type_query *w = find_query(r, full, &m);
	struct go_type *t = w ? (struct go_type *)dwarf_find(r->out, w->pkg, w->name) : NULL;

	if (!w || (t && t->match > m))
		return NULL;
	if (t && t->match == m)
		return t;
	if (t) {
		vec_fini(&t->fields);
	} else if (vec_grow(&r->out->types) < 0) {
		r->no_memory = true;
		return NULL;
	} else {
		t = &r->out->types.items[r->out->types.len++];
	}
	*t = (struct go_type){ .pkg = w->pkg, .name = w->name, .match = m };
	if (strlen(full) < sizeof(t->full))
		strcpy(t->full, full);
	return t;
}

static void take_member(struct reader *r, struct go_type *t, Dwarf_Die *die)
{
	const char *name = name_of(die);
	struct struct_field f = { 0 };

	if (strlen(name) >= sizeof(f.name) || !number_of(die, DW_AT_data_member_location, &f.off))
		return;
	strcpy(f.name, name);
	f.has_size = type_size(die, &f.size);
	if (vec_push(&t->fields, f) < 0)
		r->no_memory = true;
}

static void take_struct(struct reader *r, Dwarf_Die *die)
{
	struct go_type *t = take_type(r, name_of(die));
	Dwarf_Die child;

	if (!t || t->is_struct)
		return;
	t->is_struct = true;
	t->addr = runtime_type(r, die);
	if (!number_of(die, DW_AT_byte_size, &t->size))
		t->size = 0;
	for (int e = dwarf_child(die, &child); e == 0 && t->fields.len < DESC_FIELDS_MAX;
	     e = dwarf_siblingof(&child, &child)) {
		if (r->visits++ >= VISITS_MAX || r->no_memory)
			return;
		if (dwarf_tag(&child) == DW_TAG_member)
			take_member(r, t, &child);
	}
}

static void take_pointer(struct reader *r, Dwarf_Die *die)
{
	const char *name = name_of(die);
	struct go_type *t = name[0] == '*' ? take_type(r, name + 1) : NULL;

	if (t && !t->ptr)
		t->ptr = runtime_type(r, die);
}

/* ---- functions ---- */

static void take_location(const struct reader *r, Dwarf_Die *die, uint64_t entry, struct dwarf_arg *arg)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_attr(die, DW_AT_location, &a) && dwarf_getlocation_addr(&a, entry, &ops, &n, 1) == 1)
		dwarf_loc_pieces(r->machine, ops, n, arg);
}

/* Only the function's own parameters, not those of functions inlined into it; results are marked. */
static bool is_parameter(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	bool result = false;

	if (dwarf_tag(die) != DW_TAG_formal_parameter)
		return false;
	if (dwarf_attr_integrate(die, DW_AT_variable_parameter, &a))
		(void)dwarf_formflag(&a, &result);
	return !result;
}

static void take_function(struct reader *r, Dwarf_Die *die, uint64_t entry)
{
	struct dwarf_function f = { .entry = entry };
	Dwarf_Die child;

	for (int e = dwarf_child(die, &child); e == 0 && f.n_args < ABI_ARGS_MAX;
	     e = dwarf_siblingof(&child, &child)) {
		struct dwarf_arg *arg = &f.args[f.n_args];
		const char *name;
		uint64_t size;

		if (r->visits++ >= VISITS_MAX)
			return;
		if (!is_parameter(&child))
			continue;
		name = name_of(&child);
		memcpy(arg->name, name, strnlen(name, sizeof(arg->name) - 1));
		arg->size = type_size(&child, &size) && size <= UINT16_MAX ? (uint32_t)size : 0;
		take_location(r, &child, entry, arg);
		f.n_args++;
	}
	if (vec_push(&r->out->functions, f) < 0)
		r->no_memory = true;
}

static bool is_entry(const struct reader *r, uint64_t addr)
{
	return FIND_ITEM(it, r->entries, r->n_entries, *it == addr);
}

static void take_subprogram(struct reader *r, Dwarf_Die *die)
{
	Dwarf_Addr low;

	if (dwarf_hasattr(die, DW_AT_low_pc) && dwarf_lowpc(die, &low) == 0 && is_entry(r, low) &&
	    !dwarf_function_at(r->out, low))
		take_function(r, die, low);
}

/* ---- units ---- */

static bool is_unit_read(const char *name)
{
	for (int p = 0; p < PKG__MAX; p++)
		if (gobin_names_match_package((enum go_pkg)p, name, strlen(name)) != GO_NO)
			return true;
	return false;
}

static void read_unit(struct reader *r, Dwarf_Die *unit)
{
	Dwarf_Die die;

	r->out->n_units++;
	for (int e = dwarf_child(unit, &die); e == 0; e = dwarf_siblingof(&die, &die)) {
		if (r->visits++ >= VISITS_MAX || r->no_memory)
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_structure_type:
			take_struct(r, &die);
			break;
		case DW_TAG_pointer_type:
			take_pointer(r, &die);
			break;
		case DW_TAG_subprogram:
			take_subprogram(r, &die);
			break;
		default:
			break;
		}
	}
}

static void read_units(struct reader *r)
{
	Dwarf_Off off = 0, next;
	size_t header;
	Dwarf_Half version;

	while (r->visits < VISITS_MAX && !r->no_memory &&
	       dwarf_next_unit(r->dw, off, &next, &header, &version, NULL, NULL, NULL, NULL, NULL) == 0) {
		Dwarf_Die unit;

		r->visits++;
		if (next <= off)
			return;
		if (dwarf_offdie(r->dw, off + header, &unit) && dwarf_tag(&unit) == DW_TAG_compile_unit &&
		    is_unit_read(name_of(&unit)))
			read_unit(r, &unit);
		off = next;
	}
}

static int open_reader(struct reader *r, struct elf *e, const char **ret_why)
{
	size_t len;
	int err = dwimage_build(e, &r->image, &len);

	if (err == -ENOENT)
		*ret_why = "the file has none";
	else if (err == -E2BIG)
		*ret_why = "it takes more memory than an analysis may use";
	else if (err < 0)
		*ret_why = "its sections cannot be read";
	if (err < 0)
		return err;
	elf_version(EV_CURRENT);
	r->elf = elf_memory((char *)r->image, len);
	r->dw = r->elf ? dwarf_begin_elf(r->elf, DWARF_C_READ, NULL) : NULL;
	if (r->dw)
		return 0;
	*ret_why = "its sections make no sense";
	return -EBADMSG;
}

int dwarf_read(struct elf *e, const struct type_query *queries, size_t n_queries, const uint64_t *entries,
	       size_t n_entries, uint64_t types_addr, struct dwarf_facts *ret, const char **ret_why)
{
	struct reader r = { .machine = elf_machine(e), .queries = queries, .n_queries = n_queries, .entries = entries,
			    .n_entries = n_entries, .types_addr = types_addr, .out = ret };
	int err = open_reader(&r, e, ret_why);

	if (err == 0)
		read_units(&r);
	dwarf_end(r.dw);
	elf_end(r.elf);
	free(r.image);
	ret->n_entries = r.visits;
	if (r.no_memory)
		return -ENOMEM;
	if (err == 0 && !ret->types.len && !ret->functions.len) {
		*ret_why = "it describes nothing that is known";
		return -EBADMSG;
	}
	return err;
}

void dwarf_facts_fini(struct dwarf_facts *f)
{
	for (size_t i = 0; i < f->types.len; i++)
		vec_fini(&f->types.items[i].fields);
	vec_fini(&f->types);
	vec_fini(&f->functions);
}

const struct go_type *dwarf_find(const struct dwarf_facts *f, enum go_pkg pkg, const char *name)
{
	return vec_find(it, &f->types, it->pkg == pkg && !strcmp(it->name, name));
}

const struct dwarf_function *dwarf_function_at(const struct dwarf_facts *f, uint64_t entry)
{
	return vec_find(it, &f->functions, it->entry == entry);
}
