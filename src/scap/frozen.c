// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/frozen.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "scap/scap_fields.h"
#include "scap/scap_fields_id.h"

/* Without those that are cheap to make again from others, of other processes, or large. */
bool scap_frozen_has(const struct field *f)
{
	switch (f->off) {
	case SF_ENV:
	case SF_BUFFER:
	case SF_PCMDLINE:
	case SF_CGROUPS:
	case SF_MESSAGE:
	case SF_CONTAINER_MOUNTS:
	case SF_UNTOLD:
		return false;
	default:
		return !(f->flags & (FIELD_ARGUMENT | FIELD_ALIAS | FIELD_EITHER)) && f->off != SF_PEXE &&
		       f->off != SF_PEXEPATH && !(f->off >= SF_VPGID_NAME && f->off <= SF_PPID_DURATION) &&
		       !(f->off >= SF_FDLIST_NUMS && f->off <= SF_FDLIST_SPORTS);
	}
}

struct frozen {
	const struct scap_frozen_head *head;
	const struct scap_frozen_word *words;
	const char *texts;
	size_t len;		/* of the texts */
};

static bool open_frozen(const struct event *ev, struct frozen *ret)
{
	const struct section *s = event_section(ev, SEC_TEXT);
	size_t before;

	if (!s || s->len < sizeof(*ret->head))
		return false;
	ret->head = s->data;
	before = sizeof(*ret->head) + ret->head->n * sizeof(*ret->words);
	if (ret->head->n > SCAP_N_FIELDS || before + ret->head->line_len > s->len)
		return false;
	ret->words = (const struct scap_frozen_word *)(ret->head + 1);
	ret->texts = (const char *)s->data + before;
	ret->len = s->len - before;
	return true;
}

static const struct scap_frozen_word *find(const struct frozen *z, size_t field)
{
	const size_t at = BISECT(i, z->head->n, z->words[i].field < field);

	return at < z->head->n && z->words[at].field == field ? &z->words[at] : NULL;
}

/* An alias has no value of its own: that of the first field with its number. */
static const struct scap_frozen_word *find_like(const struct frozen *z, const struct field *f)
{
	for (size_t i = 0; i < SCAP_N_FIELDS; i++)
		if (scap_fields[i].off == f->off && scap_frozen_has(&scap_fields[i]))
			return find(z, i);
	return NULL;
}

int scap_frozen_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct scap_frozen_word *w;
	struct frozen z;
	bool is_ours;

	if (!open_frozen(ev, &z))
		return -ENOENT;
	is_ours = f >= scap_fields && f < scap_fields + SCAP_N_FIELDS && scap_frozen_has(f);
	w = is_ours ? find(&z, (size_t)(f - scap_fields)) : find_like(&z, f);
	if (!w || f->flags & FIELD_ARGUMENT)
		return -ENOENT;
	*ret = (struct value){
		.kind = w->kind, .hex = w->hex, .ns = w->ns, .padded = w->padded, .printable = w->printable, .u = w->u
	};
	if (w->kind == VAL_INT)
		ret->i = (int64_t)w->u;
	if (w->kind != VAL_STR && w->kind != VAL_IP)
		return 0;
	if (w->u > z.len || w->len > z.len - w->u || (w->kind == VAL_IP && w->len != sizeof(ret->ip)))
		return -ENOENT;
	ret->u = 0;
	ret->str = z.texts + w->u;
	ret->len = w->len;
	if (w->kind == VAL_IP)
		memcpy(&ret->ip, ret->str, sizeof(ret->ip));
	return 0;
}

int scap_frozen_line(const struct event *ev, struct value *ret)
{
	struct frozen z;

	if (!open_frozen(ev, &z))
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_STR, .str = z.texts, .len = z.head->line_len };
	return 0;
}
