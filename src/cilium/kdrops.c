// SPDX-License-Identifier: GPL-2.0-or-later
#include "cilium/kdrops.h"

#include <string.h>

#include "base/macros.h"
#include "cilium/names.h"

static int compare(const char *name, size_t len, const char *row)
{
	int r = strncmp(name, row, len);

	return r ? r : -(row[len] != '\0');
}

uint8_t cilium_kdrops_code(const char *name, size_t len)
{
	const size_t n = name ? n_kdrop_rows : 0;
	const size_t at = BISECT(i, n, compare(name, len, kdrop_rows[i].name) > 0);

	return at < n && !compare(name, len, kdrop_rows[at].name) ? kdrop_rows[at].code : CILIUM_DROP_OTHER;
}

uint8_t cilium_kdrops_code_of_text(const char *text, size_t len)
{
	for (unsigned code = CILIUM_DROP_FIRST; text && code < CILIUM_DROP_OTHER; code++) {
		const char *name = cilium_names_drop_reason((uint8_t)code);

		if (name && strlen(name) == len && !memcmp(name, text, len))
			return (uint8_t)code;
	}
	return CILIUM_DROP_OTHER;
}
