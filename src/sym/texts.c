// SPDX-License-Identifier: GPL-2.0-or-later
#include "sym/texts.h"

#include <string.h>

#include "sym/symbolizer.h"

const char *sym_texts_keep(struct sym *s, const char *text, size_t len)
{
	uint64_t hash = map_hash(text, len);
	const char **have = map_find(&s->texts, &hash);
	const char *copy;

	if (!len)
		return "";
	if (have && strlen(*have) == len && !memcmp(*have, text, len))
		return *have;
	copy = arena_copy(&s->arena, text, len);
	if (!copy)
		return "";
	if (!have)
		have = map_add(&s->texts, &hash, NULL);
	if (have)
		*have = copy;
	return copy;
}
