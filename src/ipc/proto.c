// SPDX-License-Identifier: GPL-2.0-or-later
#include "ipc/proto.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"

size_t proto_frame_bytes(const void *head)
{
	struct cursor c = cur_init(head, sizeof(uint32_t));

	return ROUND_UP((size_t)cur_u32(&c), (size_t)PROTO_ALIGN);
}

int proto_next(const void *buf, size_t len, uint32_t most, struct proto_frame *ret)
{
	struct cursor c = cur_init(buf, len);
	struct proto_head h;
	const void *data;

	if (!cur_copy(&c, &h, sizeof(h)))
		return 0;
	if (h.len < sizeof(h) || h.zero)
		return -EBADMSG;
	if (h.len > most)
		return -EMSGSIZE;
	data = cur_bytes(&c, h.len - sizeof(h));
	cur_skip(&c, ROUND_UP(h.len, PROTO_ALIGN) - h.len);
	if (!cur_ok(&c))
		return 0;
	*ret = (struct proto_frame){ .type = h.type, .data = data, .len = h.len - (uint32_t)sizeof(h) };
	return (int)ROUND_UP(h.len, PROTO_ALIGN);
}

static int put(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len, const void *rest,
	       size_t len)
{
	const size_t all = sizeof(struct proto_head) + fixed_len + len;
	const struct proto_head h = { .len = (uint32_t)all, .type = (uint16_t)type };

	if (all > PROTO_FRAME_MAX)
		return -EMSGSIZE;
	buf_add(out, &h, sizeof(h));
	buf_add(out, fixed, fixed_len);
	buf_add(out, rest, len);
	return buf_align(out, PROTO_ALIGN);
}

int proto_put(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len, const char *text)
{
	return put(out, type, fixed, fixed_len, text, text ? strlen(text) + 1 : 0);
}

int proto_put_words(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len,
		    const struct buf *words)
{
	return put(out, type, fixed, fixed_len, words->data, words->len);
}

const char *proto_fixed(const struct proto_frame *f, void *fixed, size_t fixed_len)
{
	struct cursor c = cur_init(f->data, f->len);
	const char *text;
	size_t len;

	if (fixed_len && !cur_copy(&c, fixed, fixed_len))
		return NULL;
	len = cur_left(&c);
	if (!len)
		return "";
	text = cur_bytes(&c, len);
	return text[len - 1] ? NULL : text;
}

const char *proto_word(const struct proto_frame *f, size_t fixed_len, const char *word)
{
	const char *begin = (const char *)f->data + fixed_len, *end = (const char *)f->data + f->len;

	word = word ? word + strlen(word) + 1 : begin;
	return word < end ? word : NULL;
}
