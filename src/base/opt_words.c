// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A configuration as the words that would make it: how options travel from one program to another. Equal
 * configurations give equal words.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/opt.h"

static void put_number(struct buf *out, const char *name, uint64_t v, const char *unit)
{
	if (v)
		buf_printf(out, "--%s=%" PRIu64 "%s%c", name, v, unit, 0);
}

static void put_text(struct buf *out, const char *name, const char *text)
{
	if (text)
		buf_printf(out, "--%s=%s%c", name, text, 0);
}

static void put_texts(struct buf *out, const char *name, const struct opt_strv *v)
{
	for (size_t i = 0; i < v->len; i++)
		put_text(out, name, v->items[i]);
}

static void put_numbers(struct buf *out, const char *name, const struct opt_u32v *v)
{
	for (size_t i = 0; i < v->len; i++)
		buf_printf(out, "--%s=%" PRIu32 "%c", name, v->items[i], 0);
}

static void put_flags(struct buf *out, const char *name, unsigned times)
{
	while (times--)
		buf_printf(out, "--%s%c", name, 0);
}

static int put(const struct opt *o, const void *at, struct buf *out)
{
	switch (o->kind) {
	case OPT_BOOL:
		put_flags(out, o->name, *(const bool *)at);
		return 0;
	case OPT_COUNT:
		put_flags(out, o->name, *(const unsigned *)at);
		return 0;
	case OPT_U32:
		put_number(out, o->name, *(const uint32_t *)at, "");
		return 0;
	case OPT_U64:
	case OPT_BYTES:
		put_number(out, o->name, *(const uint64_t *)at, "");
		return 0;
	case OPT_DURATION:
		put_number(out, o->name, *(const uint64_t *)at, "ns");
		return 0;
	case OPT_STR:
		put_text(out, o->name, *(const char *const *)at);
		return 0;
	case OPT_MAYBE:
		if (*(const char *const *)at)
			buf_printf(out, "--%s%s%s%c", o->name, **(const char *const *)at ? "=" : "",
				   *(const char *const *)at, 0);
		return 0;
	case OPT_STRV:
		put_texts(out, o->name, at);
		return 0;
	case OPT_U32V:
		put_numbers(out, o->name, at);
		return 0;
	case OPT_ENUM:
		if (*(const unsigned *)at)
			put_text(out, o->name, ((const char *const *)o->aux)[*(const unsigned *)at]);
		return 0;
	case OPT_CALL:
	case OPT__MAX:
		break;
	}
	return -ENOTSUP;
}

int opt_words(const struct opt_set *sets, size_t n_sets, struct buf *out)
{
	for (size_t i = 0; i < n_sets; i++) {
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++) {
			int r = o->name ? put(o, (const char *)sets[i].conf + o->off, out) : -ENOTSUP;

			if (r < 0)
				return r;
		}
	}
	return buf_error(out);
}
