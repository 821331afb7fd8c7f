// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared strings of the state, and paths.
 */
#include <stdlib.h>

#include "base/macros.h"
#include "scap/state/state_tables.h"

struct scap_str *state_str_new(struct scap_state *st, const char *s, size_t len)
{
	struct scap_str *n;

	if (!s)
		return NULL;
	len = MIN(len, (size_t)NAME_BYTES_MAX);
	n = st->bytes + sizeof(*n) + len > STATE_BYTES_MAX ? NULL : malloc(sizeof(*n) + len + 1);
	if (!n)
		return NULL;
	*n = (struct scap_str){ .refs = 1, .len = (uint32_t)len };
	memcpy(n->data, s, len);
	n->data[len] = '\0';
	st->bytes += sizeof(*n) + len;
	return n;
}

struct scap_str *state_str_ref(struct scap_str *s)
{
	if (s)
		s->refs++;
	return s;
}

void state_str_unref(struct scap_state *st, struct scap_str *s)
{
	if (!s || --s->refs)
		return;
	st->bytes -= sizeof(*s) + s->len;
	free(s);
}

void state_str_set(struct scap_state *st, struct scap_str **slot, struct scap_str *s)
{
	state_str_unref(st, *slot);
	*slot = s;
}

void state_str_set_param(struct scap_state *st, struct scap_str **slot, const struct params *p, unsigned i)
{
	size_t len;
	const char *s = params_str(p, i, &len);

	if (s && *slot && (*slot)->len == len && !memcmp((*slot)->data, s, len))
		return;
	state_str_set(st, slot, state_str_new(st, s ? s : "", len));
}

void state_str_set_bytes(struct scap_state *st, struct scap_str **slot, const struct params *p, unsigned i)
{
	size_t len;
	const char *s = params_bytes(p, i, &len);

	if (s && *slot && (*slot)->len == len && !memcmp((*slot)->data, s, len))
		return;
	state_str_set(st, slot, state_str_new(st, s ? s : "", len));
}

/* Takes the last component of @out[0, @len) away, down to its first slash. */
static size_t parent(const char *out, size_t len)
{
	while (len > 1 && out[len - 1] == '/')
		len--;
	while (len > 1 && out[len - 1] != '/')
		len--;
	return len;
}

/* Appends one component; "." and ".." are resolved. Components end in a slash until the last. */
static size_t add_component(char *out, size_t len, const char *s, size_t n, bool more)
{
	if (!n || (n == 1 && s[0] == '.'))
		return len;
	if (n == 2 && s[0] == '.' && s[1] == '.')
		return parent(out, len);
	memcpy(out + len, s, n);
	len += n;
	if (more)
		out[len++] = '/';
	return len;
}

struct scap_str *state_str_path(struct scap_state *st, const char *base, size_t base_len, const char *path,
				size_t len)
{
	char out[2 * PATH_BYTES_MAX];
	size_t n = 0;

	if (base_len + len + 1 > PATH_BYTES_MAX)
		return state_str_new(st, "/PATH_TOO_LONG", strlen("/PATH_TOO_LONG"));
	if (len && path[0] == '/') {
		out[n++] = '/';
	} else {
		memcpy(out, base, base_len);
		n = base_len;
	}
	for (size_t i = 0; i < len;) {
		const char *slash = memchr(path + i, '/', len - i);
		size_t one = slash ? (size_t)(slash - path) - i : len - i;

		n = add_component(out, n, path + i, one, slash != NULL);
		i += one + 1;
	}
	return state_str_new(st, out, n);
}

void state_str_add(struct params_out *o, const struct scap_str *s)
{
	params_add_str(o, s ? s->data : "", s ? s->len : 0);
}
