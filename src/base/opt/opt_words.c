// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words that turn one configuration into another: options travel from one program to another in this form. Equal
 * configurations give equal words.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/opt.h"

/* A row's value and its base value. */
struct pair { const void *now, *base; };

static const uint64_t zeros[4];		/* as large as any member */

static uint64_t number_of(const struct opt *o, const void *at)
{
	return o->kind == OPT_U32 ? *(const uint32_t *)at : *(const uint64_t *)at;
}

static void put_number(struct buf *out, const struct opt *o, struct pair at, const char *unit)
{
	uint64_t v = number_of(o, at.now);

	if (v != number_of(o, at.base))
		buf_printf(out, "--%s=%" PRIu64 "%s%c", o->name, v, unit, 0);
}

static void put_text(struct buf *out, const char *name, const char *text)
{
	buf_printf(out, "--%s=%s%c", name, text, 0);
}

/* No word resets a text. */
static int put_changed_text(struct buf *out, const struct opt *o, struct pair at)
{
	const char *now = *(const char *const *)at.now, *base = *(const char *const *)at.base;

	if (!now)
		return base ? -ENOTSUP : 0;
	if (base && !strcmp(now, base))
		return 0;
	if (o->kind == OPT_MAYBE && !*now)
		buf_printf(out, "--%s%c", o->name, 0);
	else
		put_text(out, o->name, now);
	return 0;
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

static void put_bool(struct buf *out, const char *name, bool now, bool base)
{
	if (now != base)
		buf_printf(out, "--%s%s%c", now ? "" : "no-", name, 0);
}

/* A count only grows. */
static int put_count(struct buf *out, const char *name, unsigned now, unsigned base)
{
	for (unsigned i = base; i < now; i++)
		buf_printf(out, "--%s%c", name, 0);
	return now < base ? -ENOTSUP : 0;
}

static void put_enum(struct buf *out, const struct opt *o, unsigned now, unsigned base)
{
	if (now != base)
		put_text(out, o->name, o->names[now]);
}

static int put(const struct opt *o, struct pair at, struct buf *out)
{
	switch (o->kind) {
	case OPT_BOOL:
		put_bool(out, o->name, *(const bool *)at.now, *(const bool *)at.base);
		return 0;
	case OPT_COUNT:
		return put_count(out, o->name, *(const unsigned *)at.now, *(const unsigned *)at.base);
	case OPT_U32:
	case OPT_U64:
	case OPT_BYTES:
		put_number(out, o, at, "");
		return 0;
	case OPT_DURATION:
		put_number(out, o, at, "ns");
		return 0;
	case OPT_STR:
	case OPT_MAYBE:
		return put_changed_text(out, o, at);
	case OPT_STRV:
		put_texts(out, o->name, at.now);
		return 0;
	case OPT_U32V:
		put_numbers(out, o->name, at.now);
		return 0;
	case OPT_ENUM:
		put_enum(out, o, *(const unsigned *)at.now, *(const unsigned *)at.base);
		return 0;
	case OPT_CALL:
	case OPT__MAX:
		break;
	}
	return -ENOTSUP;
}

int opt_words(const struct opt_set *sets, size_t n_sets, const void *base, struct buf *out)
{
	for (size_t i = 0; i < n_sets; i++) {
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++) {
			const struct pair at = {
				.now = (const char *)sets[i].conf + o->off,
				.base = base ? (const char *)base + o->off : (const char *)zeros,
			};
			int r = o->name ? put(o, at, out) : -ENOTSUP;

			if (r < 0)
				return r;
		}
	}
	return buf_error(out);
}
