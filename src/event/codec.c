// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events to frames and back. A frame is a struct frame_head, one struct frame_section per section, the body and
 * the sections' bytes, each of these padded with zeros to 8 bytes. Unknown section kinds are skipped.
 */
#include "event/codec.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "event/event.h"

#define FRAME_ALIGN 8u

struct frame_head {
	uint32_t len;		/* whole frame, a multiple of FRAME_ALIGN */
	uint16_t type;		/* SONDE_EV_* */
	uint16_t n_sec;
	uint64_t ts_ns, seq, start_ns;
	int64_t clock_offset_ns;
	uint32_t tgid, tid;
	uint16_t cpu, instance, flags, pad;
	uint32_t body_len;
	uint32_t pad2;
	struct event_keys keys;
};

struct frame_section {
	uint16_t kind, flags;
	uint32_t len;
};

/* The layout travels between programs: it must not change, and no padding may hide in it. */
_Static_assert(sizeof(struct event_keys) == 88, "keys are part of the frame");
_Static_assert(offsetof(struct event_keys, conn) == 40 && sizeof(struct conn) == 48, "keys are part of the frame");
_Static_assert(sizeof(struct frame_head) == 152, "frame_head is ABI");
_Static_assert(sizeof(struct frame_section) == 8, "frame_section is ABI");

static size_t padded(size_t len)
{
	return ROUND_UP(len, (size_t)FRAME_ALIGN);
}

size_t event_frame_size(const struct event *ev)
{
	size_t len = sizeof(struct frame_head) + ev->n_sec * sizeof(struct frame_section) + padded(ev->body_len);

	for (unsigned i = 0; i < ev->n_sec; i++)
		len += padded(ev->sec[i].len);
	return len;
}

/* Copies @len bytes to @p and zeroes up to the alignment. Returns where the next thing goes. */
static char *put(char *p, const void *data, size_t len)
{
	if (len)
		memcpy(p, data, len);
	memset(p + len, 0, padded(len) - len);
	return p + padded(len);
}

int event_encode(const struct event *ev, void *buf, size_t cap)
{
	size_t len = event_frame_size(ev);
	char *p = buf;

	if (len > FRAME_MAX_BYTES)
		return -E2BIG;
	if (len > cap)
		return -ENOSPC;
	p = put(p, &(struct frame_head){
		.len = (uint32_t)len, .type = ev->desc->type, .n_sec = ev->n_sec, .ts_ns = ev->ts_ns, .seq = ev->seq,
		.start_ns = ev->start_ns, .clock_offset_ns = ev->clock_offset_ns, .tgid = ev->tgid, .tid = ev->tid,
		.cpu = ev->cpu, .instance = ev->instance, .flags = ev->flags, .body_len = ev->body_len,
		.keys = ev->keys,
	}, sizeof(struct frame_head));
	for (unsigned i = 0; i < ev->n_sec; i++)
		p = put(p, &(struct frame_section){ .kind = ev->sec[i].kind, .flags = ev->sec[i].flags,
						    .len = ev->sec[i].len }, sizeof(struct frame_section));
	p = put(p, ev->body, ev->body_len);
	for (unsigned i = 0; i < ev->n_sec; i++)
		p = put(p, ev->sec[i].data, ev->sec[i].len);
	return (int)len;
}

/* @len bytes in place and the padding behind them. */
static const void *take(struct cursor *c, size_t len)
{
	const void *p = cur_bytes(c, len);

	cur_skip(c, padded(len) - len);
	return p;
}

static int decode_sections(struct cursor *heads, struct cursor *data, unsigned n, struct event *ev)
{
	for (unsigned i = 0; i < n; i++) {
		struct frame_section s;
		const void *bytes;

		if (!cur_copy(heads, &s, sizeof(s)))
			return -EBADMSG;
		bytes = take(data, s.len);
		if (!bytes)
			return -EBADMSG;
		if (s.kind >= SEC__MAX)
			continue;
		if (event_add_section(ev, s.kind, bytes, s.len) < 0)
			return -EBADMSG;
		ev->sec[ev->n_sec - 1].flags = s.flags;
	}
	return cur_ok(data) && !cur_left(data) ? 0 : -EBADMSG;
}

static void event_from_head(struct event *ev, const struct event_desc *desc, const struct frame_head *h)
{
	*ev = (struct event){
		.desc = desc, .ts_ns = h->ts_ns, .seq = h->seq, .start_ns = h->start_ns, .tgid = h->tgid,
		.tid = h->tid, .cpu = h->cpu, .instance = h->instance, .flags = h->flags, .body_len = h->body_len,
		.keys = h->keys, .clock_offset_ns = h->clock_offset_ns,
	};
}

int event_decode(const struct registry *reg, const void *buf, size_t len, struct event *ret)
{
	struct cursor c = cur_init(buf, len), sections;
	const struct event_desc *desc;
	struct frame_head h;
	struct event ev;
	uint32_t frame_len;

	frame_len = cur_u32(&c);
	if (!cur_ok(&c))
		return -EAGAIN;
	if (frame_len < sizeof(h) || frame_len > FRAME_MAX_BYTES || frame_len % FRAME_ALIGN)
		return -EBADMSG;
	if (frame_len > len)
		return -EAGAIN;
	c = cur_init(buf, frame_len);
	cur_copy(&c, &h, sizeof(h));
	desc = registry_find(reg, h.type);
	if (!desc)
		return -EPROTONOSUPPORT;
	event_from_head(&ev, desc, &h);
	sections = cur_sub(&c, h.n_sec * sizeof(struct frame_section));
	ev.body = take(&c, h.body_len);
	if (!cur_ok(&c) || h.body_len < desc->body_size || decode_sections(&sections, &c, h.n_sec, &ev) < 0)
		return -EBADMSG;
	*ret = ev;
	return (int)frame_len;
}
