// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/kallsyms: a line "ADDRESS TYPE NAME[\t[MODULE]]" per symbol. Only text symbols are kept. Under kptr_restrict
 * all addresses read as zero, and the table is empty.
 */
#include "host/ksym.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/vec.h"

#define MAX_FUNCTION_BYTES (1u << 20)	/* an address further from its symbol is outside functions */

struct ksym { uint64_t addr; uint32_t name, module; };	/* offsets into names; module 0 = none */

struct ksyms {
	VEC(struct ksym) syms;	/* sorted by address */
	struct buf names;	/* NUL-terminated strings; the first is empty */
};

void ksym_free(struct ksyms *k)
{
	if (!k)
		return;
	vec_fini(&k->syms);
	buf_fini(&k->names);
	free(k);
}
DEFINE_CLEANUP(struct ksyms *, ksym_free)

static int add_name(struct ksyms *k, const char *s, size_t len, uint32_t *ret)
{
	*ret = (uint32_t)k->names.len;
	buf_add(&k->names, s, len);
	return buf_add_char(&k->names, '\0');
}

/* A hexadecimal number; false without digits or on overflow. */
static bool take_hex(struct cursor *c, uint64_t *ret)
{
	unsigned n = 0;

	for (*ret = 0; isxdigit(cur_peek(c, 0)) && n <= 16; n++) {
		uint8_t ch = cur_u8(c);

		*ret = *ret << 4 | (ch <= '9' ? ch - '0' : (ch | 0x20) - 'a' + 10);
	}
	return n && n <= 16;
}

/* The bytes up to one of @stops or to the end; *ret_len: their number. */
static const char *take_word(struct cursor *c, const char *stops, size_t *ret_len)
{
	const char *start = (const char *)c->pos;

	while (cur_left(c) && !strchr(stops, cur_peek(c, 0)))
		cur_skip(c, 1);
	*ret_len = (size_t)((const char *)c->pos - start);
	return start;
}

/* Skips lines other than text symbols with an address. */
static int add_line(struct ksyms *k, const char *line, size_t line_len)
{
	struct cursor c = cur_init(line, line_len);
	const char *name, *module;
	struct ksym s = { 0 };
	size_t len;
	uint8_t type;

	if (!take_hex(&c, &s.addr) || !s.addr || cur_u8(&c) != ' ')
		return 0;
	type = cur_u8(&c);
	if (!type || !strchr("tTwW", type) || cur_u8(&c) != ' ')
		return 0;
	name = take_word(&c, " \t\n", &len);
	if (!len)
		return 0;
	if (vec_grow(&k->syms) < 0 || add_name(k, name, len, &s.name) < 0)
		return -ENOMEM;
	take_word(&c, "[", &len);
	cur_skip(&c, 1);
	module = take_word(&c, "]\n", &len);
	if (len && cur_peek(&c, 0) == ']' && add_name(k, module, len, &s.module) < 0)
		return -ENOMEM;
	k->syms.items[k->syms.len++] = s;
	return 0;
}

int ksym_read(FILE *f, struct ksyms **ret)
{
	_cleanup_(ksym_freep) struct ksyms *k = calloc(1, sizeof(*k));
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (!k || buf_add_char(&k->names, '\0') < 0)
		return -ENOMEM;
	while ((len = getline(&line, &cap, f)) > 0)
		if (add_line(k, line, (size_t)len) < 0)
			return -ENOMEM;
	vec_sort(&k->syms, vec_by_u64);
	*ret = TAKE_PTR(k);
	return 0;
}

int ksym_new(struct ksyms **ret)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");

	return f ? ksym_read(f, ret) : -errno;
}

/* The symbol that holds @addr, or NULL. */
static const struct ksym *find(const struct ksyms *k, uint64_t addr)
{
	size_t above = vec_first(k->syms.items, k->syms.len, addr + 1);
	const struct ksym *s = above ? &k->syms.items[above - 1] : NULL;

	return s && addr - s->addr <= MAX_FUNCTION_BYTES ? s : NULL;
}

int ksym_name(const struct ksyms *k, uint64_t addr, char *buf, size_t cap)
{
	const struct ksym *s = find(k, addr);

	if (!s)
		return -ENOENT;
	snprintf(buf, cap, "%s+0x%llx%s%s%s", k->names.data + s->name, (unsigned long long)(addr - s->addr),
		 s->module ? " [" : "", k->names.data + s->module, s->module ? "]" : "");
	return 0;
}

bool ksym_may_change(const struct ksyms *k, uint64_t addr)
{
	const struct ksym *s = find(k, addr);

	return k->syms.len && (!s || s->module);
}

int ksym_range(const struct ksyms *k, const char *name, unsigned nth, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < k->syms.len; i++) {
		const struct ksym *s = &k->syms.items[i];
		const char *have = k->names.data + s->name;

		if (strncmp(have, name, len) || (have[len] && have[len] != '.') || nth--)
			continue;
		*ret_start = s->addr;
		for (i++; i < k->syms.len && k->syms.items[i].addr == s->addr; i++)
			; /* other names of the same address */
		*ret_end = i < k->syms.len ? k->syms.items[i].addr : s->addr + MAX_FUNCTION_BYTES;
		return 0;
	}
	return -ENOENT;
}
