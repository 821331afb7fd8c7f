/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a decoder as text, for the tests of the probes' decoders. Include cmocka.h first. */
#ifndef UNIT_EVENT_WORDS_H
#define UNIT_EVENT_WORDS_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "event/decode.h"
#include "event/event.h"

struct event_words {
	struct buf line;
	struct buf words;	/* "name=value " of every field that is present */
};

static inline void event_words_take(struct event_words *w, const struct event *ev)
{
	const struct line_opts o = { .verbose = 1 };

	buf_reset(&w->line);
	buf_reset(&w->words);
	assert_int_equal(event_line(ev, &o, &w->line), 0);
	for (uint16_t i = 0; i < ev->desc->n_fields; i++) {
		struct value v;

		if (event_get(ev, &ev->desc->fields[i], &v) < 0)
			continue;
		buf_printf(&w->words, "%s=", ev->desc->fields[i].name);
		value_text(&v, &w->words);
		buf_add_char(&w->words, ' ');
	}
}

static inline void event_words_fini(struct event_words *w)
{
	buf_fini(&w->line);
	buf_fini(&w->words);
}

static inline void has_word(struct event_words *w, const char *word)
{
	if (!strstr(buf_str(&w->words), word))
		fail_msg("no \"%s\" in: %s", word, buf_str(&w->words));
}

static inline void has_no_word(struct event_words *w, const char *word)
{
	if (strstr(buf_str(&w->words), word))
		fail_msg("\"%s\" in: %s", word, buf_str(&w->words));
}

/* Decodes one record of a probe; returns the decoder's result. The record is an exact allocation. */
static inline int decode_alone(const struct decoder_ops *const *decoders, const void *rec, size_t len,
			       int (*take)(void *ctx, struct event *ev), void *ctx)
{
	struct decode_set *d = NULL;
	char *copy = malloc(len);
	int r;

	memcpy(copy, rec, len);	/* so that a sanitizer reports a read past the end */
	assert_int_equal(decode_set_new(decoders, &d), 0);
	r = decode_record(d, copy, len, take, ctx);
	decode_set_free(d);
	free(copy);
	return r;
}

#endif
