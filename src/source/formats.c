// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of input formats, one row of sources.def each.
 */
#include <string.h>

#include "source/source.h"

#define SOURCE(name) extern const struct source_ops name##_source;
#include "source/sources.def"
#undef SOURCE

const struct source_ops *const all_sources[] = {
#define SOURCE(name) &name##_source,
#include "source/sources.def"
#undef SOURCE
	NULL,
};

const struct source_ops *source_find(const char *name)
{
	for (size_t i = 0; all_sources[i]; i++)
		if (!strcmp(all_sources[i]->name, name))
			return all_sources[i];
	return NULL;
}
