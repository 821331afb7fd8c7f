// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of headers that are never shown.
 */
#include "probes/gohttp2/gohttp2_header.h"

#include <ctype.h>
#include <string.h>

#include "base/macros.h"

bool gohttp2_header_is_secret(const char *name)
{
	static const char *const whole[] = {
		"authorization", "proxy-authorization", "cookie", "set-cookie", "authentication-info",
	};
	static const char *const parts[] = {
		"token", "secret", "password", "passwd", "api-key", "apikey", "credential", "session", "-auth",
		"signature",
	};
	char lower[128];
	size_t i;

	for (i = 0; name[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = 0;
	for (i = 0; i < ARRAY_SIZE(whole); i++)
		if (!strcmp(lower, whole[i]))
			return true;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(lower, parts[i]))
			return true;
	return false;
}
