// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * True for expressions that read headers only. Of the language only PROTO[OFFSET:SIZE] reads arbitrary bytes: its
 * constants must lie in the fixed header of the protocol.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "pktfilter/pktfilter.h"

static const struct { const char *name; unsigned bytes; } headers[] = {
	{ "ether", 14 }, { "arp", 28 }, { "rarp", 28 }, { "ip", 20 }, { "ip6", 40 }, { "tcp", 20 }, { "udp", 8 },
	{ "icmp", 8 }, { "icmp6", 8 }, { "igmp", 8 }, { "sctp", 12 },
};

/* Named offsets are in headers. */
static const char *const named[] = { "tcpflags", "icmptype", "icmpcode", "icmp6type", "icmp6code" };

static unsigned header_bytes(const char *expr, const char *bracket)
{
	const char *end = bracket, *begin;

	while (end > expr && isspace((unsigned char)end[-1]))
		end--;
	begin = end;
	while (begin > expr && isalnum((unsigned char)begin[-1]))
		begin--;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (strlen(headers[i].name) == (size_t)(end - begin) &&
		    !memcmp(headers[i].name, begin, (size_t)(end - begin)))
			return headers[i].bytes;
	return 0;
}

static bool is_named(const char *text, size_t len)
{
	return ARRAY_FIND(it, named, strlen(*it) == len && !memcmp(*it, text, len));
}

/* @text: after the bracket. */
static bool within(const char *text, unsigned bytes)
{
	unsigned long off, size = 1;
	char *end;

	text += strspn(text, " \t");
	if (!isdigit((unsigned char)*text))
		return bytes && is_named(text, strcspn(text, "] \t:"));
	off = strtoul(text, &end, 0);
	end += strspn(end, " \t");
	if (*end == ':')
		size = strtoul(end + 1, &end, 0);
	end += strspn(end, " \t");
	return *end == ']' && off < bytes && size <= bytes - off;
}

bool pktfilter_headers_only(const char *expr)
{
	for (const char *at = strchr(expr, '['); at; at = strchr(at + 1, '['))
		if (!within(at + 1, header_bytes(expr, at)))
			return false;
	return true;
}
