// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/mib/net_mib_table.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "probes/net/mib/net_mib_wire.h"

static const struct { const char *name, *what; } counters[] = {
#define MIB(name, what) [NET_MIB_##name] = { #name, what },
#include "probes/net/mib/net_mib.def"
};
_Static_assert(ARRAY_SIZE(counters) == NET_MIB__MAX, "a row per counter");

/* A part of the text. */
struct span {
	const char *at;
	size_t len;
};

/* ---- the table ---- */

const char *net_mib_table_name(enum net_mib m)
{
	return counters[m].name;
}

/* Number of the counter whose name is @group and @rest; NET_MIB__MAX: not in the table. */
static size_t find(struct span group, struct span rest)
{
	size_t at;
	char name[NET_MIB_NAME_BYTES];

	if (group.len >= sizeof(name) || rest.len >= sizeof(name) - group.len)
		return NET_MIB__MAX;
	memcpy(name, group.at, group.len);
	memcpy(name + group.len, rest.at, rest.len);
	name[group.len + rest.len] = '\0';
	at = BISECT(i, NET_MIB__MAX, strcmp(counters[i].name, name) < 0);
	return at < NET_MIB__MAX && !strcmp(counters[at].name, name) ? at : NET_MIB__MAX;
}

const char *net_mib_table_what(const char *name, size_t len)
{
	size_t m = find((struct span){ .at = name }, (struct span){ .at = name, .len = len });

	return m < NET_MIB__MAX ? counters[m].what : NULL;
}

/* ---- text ---- */

/* Takes the first part of @s up to one of @ends (or all of it), and the end. */
static struct span take(struct span *s, const char *ends)
{
	struct span part = { .at = s->at };

	while (part.len < s->len && !strchr(ends, s->at[part.len]))
		part.len++;
	s->at += MIN(part.len + 1, s->len);
	s->len -= MIN(part.len + 1, s->len);
	return part;
}

static struct span take_word(struct span *s)
{
	while (s->len && (*s->at == ' ' || *s->at == '\t')) {
		s->at++;
		s->len--;
	}
	return take(s, " \t");
}

static bool number(struct span s, uint64_t *ret)
{
	char text[24];

	if (!s.len || !str_copy(text, sizeof(text), s.at, s.len))
		return false;
	return str_to_u64(text, 10, ret) >= 0;
}

static size_t set(struct span group, struct span name, struct span value, uint64_t *values)
{
	size_t m = find(group, name);

	return m < NET_MIB__MAX && number(value, &values[m]);
}

size_t net_mib_table_pairs(const char *text, size_t len, uint64_t values[static NET_MIB__MAX])
{
	struct span rest = { .at = text, .len = len };
	size_t found = 0;

	while (rest.len) {
		struct span names = take(&rest, "\n"), numbers = take(&rest, "\n");
		struct span group = take(&names, ":"), same = take(&numbers, ":");

		if (group.len != same.len || memcmp(group.at, same.at, group.len) != 0)
			break;
		while (names.len && numbers.len) {
			struct span name = take_word(&names), value = take_word(&numbers);

			found += set(group, name, value, values);
		}
	}
	return found;
}

size_t net_mib_table_lines(const char *text, size_t len, uint64_t values[static NET_MIB__MAX])
{
	struct span rest = { .at = text, .len = len };
	size_t found = 0;

	while (rest.len) {
		struct span line = take(&rest, "\n"), name = take_word(&line), value = take_word(&line);

		found += set((struct span){ .at = name.at }, name, value, values);
	}
	return found;
}
