// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parser for tables of another datapath's numbers, the pure half. Fields of a row: kind, number, name, and the rest
 * of the line as display text; # starts a comment. tools/gen_datapath.py reads the same format.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "probes/net/datapath/net_dpnames.h"

/* Reason 2 and reasons from 130 up are drops, those between are points: include/sonde/notify_wire.h. */
static const struct { const char *name; uint32_t first, last; } kinds[NET_DPNAME__MAX] = {
	[NET_DPNAME_FILE] = { "file", 1, 255 },
	[NET_DPNAME_DROP] = { "drop", 130, 255 },
	[NET_DPNAME_POINT] = { "point", 16, 129 },
};

struct word {
	const char *at;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct word next_word(const char **at, const char *end)
{
	struct word w = { 0 };

	while (*at < end && is_blank(**at))
		++*at;
	w.at = *at;
	while (*at < end && !is_blank(**at))
		++*at;
	w.len = (size_t)(*at - w.at);
	return w;
}

static struct word rest_of(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	while (end > at && is_blank(end[-1]))
		end--;
	return (struct word){ .at = at, .len = (size_t)(end - at) };
}

static int number_of(const struct word *w, uint32_t *ret)
{
	char text[12];

	if (!str_copy(text, sizeof(text), w->at, w->len))
		return -EINVAL;
	return str_to_u32(text, 10, ret);
}

static int find_kind(const struct word *w)
{
	for (int k = 0; k < NET_DPNAME__MAX; k++)
		if (w->len == strlen(kinds[k].name) && !memcmp(w->at, kinds[k].name, w->len))
			return k;
	return -1;
}

/* 1 for a row, 0 for an empty line. *ret_column: position of an error. */
static int parse_row(const char *line, const char *end, struct net_dpname *ret, size_t *ret_column, struct err *err)
{
	const char *at = line, *hash = memchr(line, '#', (size_t)(end - line));
	struct word kind, number, name, text;
	int k;

	end = hash ? hash : end;
	kind = next_word(&at, end);
	if (!kind.len)
		return 0;
	number = next_word(&at, end);
	name = next_word(&at, end);
	text = rest_of(at, end);
	*ret_column = (size_t)(kind.at - line) + 1;
	k = find_kind(&kind);
	if (k < 0)
		return err_set(err, -EINVAL, "a row begins with file, drop or point");
	*ret_column = (size_t)(number.at - line) + 1;
	if (number_of(&number, &ret->number) < 0 || ret->number < kinds[k].first || ret->number > kinds[k].last)
		return err_set(err, -EINVAL, "the number of a %s is from %u to %u", kinds[k].name, kinds[k].first,
			       kinds[k].last);
	*ret_column = (size_t)(name.at - line) + 1;
	if (!name.len)
		return err_set(err, -EINVAL, "a name is missing");
	if (k == NET_DPNAME_DROP && text.len)
		name = text;
	ret->kind = (enum net_dpname_kind)k;
	ret->text = name.at;
	ret->len = name.len;
	return 1;
}

int net_dpnames_parse(const char *text, size_t len, net_dpname_fn fn, void *ctx, struct err *err)
{
	const char *at = text, *end = text + len;

	for (unsigned line = 1; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct net_dpname n = { 0 };
		size_t column = 1;
		int r;

		stop = stop ? stop : end;
		r = parse_row(at, stop, &n, &column, err);
		if (r < 0) {
			err_prefix(err, "%u:%zu", line, column);
			return r;
		}
		if (r > 0)
			r = fn(ctx, &n);
		if (r < 0)
			return r;
		at = stop + 1;
	}
	return 0;
}
