// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See dwarf.h.
 */
#include "gobin/dwarf.h"

#include <errno.h>
#include <string.h>

int dwarf_read(struct elf *e, const struct wanted *wanted, size_t n_wanted, const uint64_t *entries, size_t n_entries,
	       uint64_t types_addr, struct dwarf_facts *ret, const char **ret_why)
{
	(void)e, (void)wanted, (void)n_wanted, (void)entries, (void)n_entries, (void)types_addr, (void)ret;
	*ret_why = "not read";
	return -ENOENT;
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
	for (size_t i = 0; i < f->types.len; i++)
		if (f->types.items[i].pkg == pkg && !strcmp(f->types.items[i].name, name))
			return &f->types.items[i];
	return NULL;
}

const struct dwarf_function *dwarf_function_at(const struct dwarf_facts *f, uint64_t entry)
{
	for (size_t i = 0; i < f->functions.len; i++)
		if (f->functions.items[i].entry == entry)
			return &f->functions.items[i];
	return NULL;
}
