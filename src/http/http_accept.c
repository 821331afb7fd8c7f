// SPDX-License-Identifier: GPL-2.0-or-later
#include "http/http_accept.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

/* "75" is 750: up to three digits after the point (RFC 9110, 12.4.2). */
static unsigned thousandths(const char *digits)
{
	unsigned n = 0;
	bool ended = false;

	for (int i = 0; i < 3; i++) {
		ended = ended || digits[i] < '0' || digits[i] > '9';
		n = n * 10 + (ended ? 0 : (unsigned)(digits[i] - '0'));
	}
	return n;
}

/* Quality in thousandths: "q=0.75" in the parameters of a media range; 1000 without. */
static unsigned quality(const char *params, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		if (params[i] != 'q' || params[i + 1] != '=' || (i && !strchr("; \t", params[i - 1])))
			continue;
		if (params[i + 2] != '0')
			return 1000;
		return params[i + 3] == '.' ? thousandths(params + i + 4) : 0;
	}
	return 1000;
}

/* Best quality that the header gives to media type @type; 0 = not listed. */
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

bool http_accept_openmetrics(const char *accept)
{
	unsigned newer = accept ? wants(accept, "application/openmetrics-text") : 0;

	return newer && newer >= wants(accept, "text/plain");
}

/* "name" of "name:80"; an IPv6 address keeps its brackets. */
static size_t name_len(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : NULL;

	return end ? (size_t)(end - host) + 1 : strcspn(host, ":");
}

static bool is_address(const char *name, size_t len)
{
	char text[INET6_ADDRSTRLEN + 1] = "";
	struct in6_addr any;

	if (len > 2 && name[0] == '[' && len - 2 < sizeof(text)) {
		memcpy(text, name + 1, len - 2);
		return inet_pton(AF_INET6, text, &any) == 1;
	}
	if (len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	return inet_pton(AF_INET, text, &any) == 1;
}

bool http_accept_host(const char *host, const char *names)
{
	size_t len = host ? name_len(host) : 0;

	if (!host || is_address(host, len) || (len == 9 && !strncasecmp(host, "localhost", len)))
		return true;
	for (; names && *names; names += strspn(names, ", ")) {
		size_t n = strcspn(names, ", ");

		if (n == len && len && !strncasecmp(names, host, n))
			return true;
		names += n;
	}
	return false;
}
