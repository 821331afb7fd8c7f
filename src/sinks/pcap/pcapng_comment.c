// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Comments built from event_desc rows and sections only: the event's own fields, then its owner (the process, and
 * fields about how it was determined), then kernel stack and free text.
 */
#include "sinks/pcap/pcapng_comment.h"

#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "packet/pcapng.h"
#include "base/str.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/pcap/pcapng_block.h"
#include "sonde/wire.h"

#define STACK_MAX_FRAMES 64

static bool needs_quotes(const char *s, size_t len)
{
	return len == 0 || memchr(s, ' ', len) || memchr(s, '"', len) || memchr(s, '=', len);
}

/* Quotes the text from @from on if needed. */
static void quote_from(struct buf *b, size_t from)
{
	size_t len = b->len - from, quotes = 0;
	char *s;

	if (buf_error(b) || !needs_quotes(b->data + from, len))
		return;
	for (size_t i = from; i < b->len; i++)
		quotes += b->data[i] == '"';
	if (!buf_reserve(b, quotes + 2))
		return;
	s = b->data + from;
	for (size_t r = len, w = len + quotes; r--;) {
		s[w--] = s[r];
		if (s[r] == '"')
			s[w--] = '\\';
	}
	s[0] = '"';
	s[len + quotes + 1] = '"';
	buf_commit(b, quotes + 2);
}

static void add_value(struct buf *text, const char *word, const struct value *v)
{
	size_t from;

	if (text->len)
		buf_add_char(text, ' ');
	buf_add_str(text, word);
	buf_add_char(text, '=');
	from = text->len;
	value_text(v, text);
	quote_from(text, from);
}

static void add_comment(struct buf *block, struct buf *text)
{
	if (text->len && !buf_error(text))
		pcapng_block_opt(block, PCAPNG_OPT_COMMENT, text->data, text->len);
	buf_reset(text);
}

static bool about_owner(const struct field *f)
{
	return !strncmp(f->name, "owner.", 6);
}

/* Fields of the event's type; @owner selects those that describe the owner. */
static void add_fields(struct buf *text, const struct event *ev, bool owner)
{
	const struct event_desc *d = ev->desc;

	each_item(f, d->fields, d->n_fields) {
		struct value v;

		/* The block names the interface itself, and readers dissect the packet. */
		if (f->flags & (FIELD_ALIAS | FIELD_PACKET) || f->kind == FIELD_IFACE || about_owner(f) != owner)
			continue;
		if (event_get(ev, f, &v) == 0)
			add_value(text, f->name, &v);
	}
}

static const char *const common_words[] = {
	"proc.pid", "proc.name", "proc.exe", "proc.ppid", "thread.tid", "container.id", "cgroup.name", "netns",
	"sock.cookie",
};
_Static_assert(ARRAY_SIZE(common_words) == PCAPNG_COMMON_WORDS, "room for each");

void pcapng_comment_resolve(struct pcapng_common *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < event_n_common_fields; i++)
		for (size_t w = 0; w < ARRAY_SIZE(common_words); w++)
			if (!strcmp(event_common_fields[i].name, common_words[w]))
				ret->fields[ret->n++] = &event_common_fields[i];
}

static void add_common(struct buf *text, const struct event *ev, const struct pcapng_common *common)
{
	for (size_t i = 0; i < common->n; i++) {
		struct value v;

		if (event_get_common(ev, common->fields[i], &v) == 0)
			add_value(text, common->fields[i]->name, &v);
	}
}

static void add_stack(struct buf *text, const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_STACK_KERN);
	struct cursor c;

	if (!s || s->len < sizeof(uint64_t))
		return;
	c = cur_init(s->data, s->len);
	buf_add_str(text, "stack=");
	for (unsigned i = 0; i < STACK_MAX_FRAMES && cur_left(&c) >= sizeof(uint64_t); i++) {
		uint64_t addr = cur_u64(&c);
		const char *name = event_names_get(ev->names, SONDE_NAME_KSYM, addr);

		if (i)
			buf_add_char(text, ';');
		if (name)
			str_escape_buf(text, name, strcspn(name, " "));
		else
			buf_printf(text, "0x%llx", (unsigned long long)addr);
	}
}

/* Preserves comments that came with the packet. */
static void add_text(struct buf *block, const struct event *ev, struct buf *text)
{
	const struct section *s = event_section(ev, SEC_TEXT);
	const char *at = s ? s->data : NULL, *end = s ? at + s->len : NULL;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((nl ? nl : end) - at);

		str_escape_buf(text, at, len);
		add_comment(block, text);
		at += len + 1;
	}
}

void pcapng_comment_write(struct buf *block, const struct event *ev, const struct pcapng_common *common,
			  struct buf *text)
{
	struct value type = { .kind = VAL_STR, .str = ev->desc->name, .len = strlen(ev->desc->name) };

	buf_reset(text);
	/* Fields of a packet from a file repeat the block. */
	if (ev->desc->type != SONDE_EV_PACKET) {
		add_value(text, "evt.type", &type);
		add_fields(text, ev, false);
		add_comment(block, text);
		add_common(text, ev, common);
		add_fields(text, ev, true);
		add_comment(block, text);
	}
	add_stack(text, ev);
	add_comment(block, text);
	add_text(block, ev, text);
}
