// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus/accept.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

/* Thousandths; "q=0.75" among the parameters of a media range, 1000 without. */
static unsigned quality(const char *params, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		if (params[i] != 'q' || params[i + 1] != '=' || (i && !strchr("; \t", params[i - 1])))
			continue;
		if (params[i + 2] != '0')
			return 1000;
		return params[i + 3] == '.' ? (unsigned)(strtod(params + i + 2, NULL) * 1000) : 0;
	}
	return 1000;
}

/* The best quality that a header gives to media type @type, 0 = it is not there. */
static unsigned wants(const char *accept, const char *type)
{
	unsigned best = 0;

	while (*accept) {
		size_t len = strcspn(accept, ","), name = strlen(type);

		if (len >= name && !strncasecmp(accept, type, name) && strchr(";, \t", accept[name]))
			best = MAX(best, quality(accept + name, len - name));
		accept += len;
		accept += strspn(accept, ", \t");
	}
	return best;
}

bool accepts_openmetrics(const char *accept)
{
	unsigned newer = accept ? wants(accept, "application/openmetrics-text") : 0;

	return newer && newer >= wants(accept, "text/plain");
}
