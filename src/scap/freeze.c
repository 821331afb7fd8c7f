// SPDX-License-Identifier: GPL-2.0-or-later
#include "scap/freeze.h"

#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "event/event.h"
#include "scap/frozen.h"
#include "scap/scap_fields.h"

static bool put_word(const struct value *v, size_t field, struct scap_frozen_word *ret, struct buf *texts)
{
	*ret = (struct scap_frozen_word){
		.field = (uint16_t)field,
		.kind = (uint8_t)v->kind,
		.hex = v->hex,
		.ns = v->ns,
		.padded = v->padded,
		.printable = v->printable,
		.u = v->u,
	};
	switch (v->kind) {
	case VAL_INT:
		ret->u = (uint64_t)v->i;
		return true;
	case VAL_UINT:
	case VAL_BOOL:
		return true;
	case VAL_STR:
		ret->u = texts->len;
		ret->len = (uint32_t)v->len;
		buf_add(texts, v->str, v->len);
		return true;
	case VAL_IP:
		ret->u = texts->len;
		ret->len = sizeof(v->ip);
		buf_add(texts, &v->ip, sizeof(v->ip));
		return true;
	case VAL_NONE:
	case VAL_MAC:
	case VAL_BYTES:
	case VAL_FLAGS:
	case VAL_LIST:
	case VAL__MAX:
		break;
	}
	return false;
}

/* The line, and behind it what words refer to. */
static int collect(const struct event *ev, struct scap_frozen_head *h, struct buf *words, struct buf *texts)
{
	const struct line_opts plain = { 0 };
	int r = ev->desc->line(ev, &plain, texts);

	h->line_len = (uint32_t)texts->len;
	for (size_t i = 0; r >= 0 && i < SCAP_N_FIELDS; i++) {
		struct value v = { 0 };
		struct scap_frozen_word w;

		if (!scap_frozen_has(&scap_fields[i]) || scap_fields_get(ev, &scap_fields[i], &v) < 0 ||
		    !put_word(&v, i, &w, texts))
			continue;
		buf_add(words, &w, sizeof(w));
		h->n++;
	}
	return r < 0 ? r : buf_error(words) < 0 ? -ENOMEM : buf_error(texts);
}

int scap_freeze(const struct event *ev, struct arena *scratch, struct event *ret)
{
	_cleanup_(buf_fini) struct buf words = { 0 }, texts = { 0 }, all = { 0 };
	struct scap_frozen_head h = { 0 };
	int r = collect(ev, &h, &words, &texts);
	void *copy;

	buf_add(&all, &h, sizeof(h));
	buf_add(&all, words.data, words.len);
	buf_add(&all, texts.data, texts.len);
	copy = r < 0 || buf_error(&all) ? NULL : arena_copy(scratch, all.data, all.len);
	if (!copy)
		return -ENOMEM;
	*ret = *ev;
	ret->view = NULL;
	ret->n_sec = 0;
	for (unsigned i = 0; i < ev->n_sec; i++)
		if (ev->sec[i].kind != SEC_PARAMS && ev->sec[i].kind != SEC_TEXT)
			ret->sec[ret->n_sec++] = ev->sec[i];
	return event_add_section(ret, SEC_TEXT, copy, (uint32_t)all.len);
}
