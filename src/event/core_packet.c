// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets of capture files. src/packet dissects the untrusted bytes.
 */
#include "event/core_packet.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "packet/packet.h"

static const struct field packet_fields[] = {
	FIELD_ROW(struct core_packet, len, "packet.len", FIELD_UINT, "length on the wire"),
	FIELD_ROW(struct core_packet, iface, "packet.iface", FIELD_IFACE, "interface in the capture file"),
	FIELD_ROW(struct core_packet, direction, "packet.direction", FIELD_ENUM, "direction, if the file records it",
		  .xlat = &direction_xlat, .flags = FIELD_OPTIONAL),
};

static void add_comments(const char *text, size_t len, struct buf *out)
{
	while (len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;

		buf_add_str(out, "    # ");
		str_escape_buf(out, text, n);
		buf_add_char(out, '\n');
		text += n + !!nl;
		len -= n + !!nl;
	}
}

static int packet_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct section *text = event_section(ev, SEC_TEXT);
	const struct core_packet *body = ev->body;
	const uint8_t *data;
	const struct sec_packet *sp = event_packet(ev, &data);
	struct packet p;
	struct value v;

	if (!o->numeric && event_get(ev, &packet_fields[1], &v) == 0)
		value_text(&v, out);
	else
		buf_printf(out, "%u", body->iface);
	buf_printf(out, " %s ", body->direction ? xlat_name(&direction_xlat, body->direction) : "-");
	if (!sp)
		return buf_add_str(out, "no packet\n");
	packet_dissect(sp->link, data, sp->cap_len, sp->orig_len, &p);
	packet_summary(&p, out);
	if (o->verbose)
		buf_printf(out, " length %u", sp->orig_len);
	if (o->verbose && sp->cap_len < sp->orig_len)
		buf_printf(out, " (%u captured)", sp->cap_len);
	buf_add_char(out, '\n');
	if (o->hex)
		buf_add_hexdump(out, data, sp->cap_len);
	else if (o->verbose > 1)
		packet_print(&p, out);
	if (o->verbose && text)
		add_comments(text->data, text->len, out);
	return buf_error(out);
}

const struct event_desc core_packet_desc = {
	.type = SONDE_EV_PACKET, .name = "packet", .doc = "a packet of a capture file", .class = EVENT_DATA,
	.fields = packet_fields, .n_fields = ARRAY_SIZE(packet_fields), .body_size = sizeof(struct core_packet),
	.sections = 1u << SEC_PACKET | 1u << SEC_TEXT, .line = packet_line,
};

int core_packet_decode(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	const void *data, *text, *text_copy = NULL;
	struct core_packet body = { 0 };
	struct sec_packet sp = { 0 };
	struct packet p;
	uint32_t text_len;
	uint16_t direction;

	cur_skip(&c, sizeof(*r));
	sp.link = cur_u32(&c);
	sp.orig_len = cur_u32(&c);
	sp.cap_len = cur_u32(&c);
	text_len = cur_u32(&c);
	sp.ifindex = cur_u32(&c);
	direction = cur_u16(&c);
	cur_skip(&c, sizeof(uint16_t));
	data = cur_bytes(&c, sp.cap_len);
	text = cur_bytes(&c, text_len);
	if (!cur_ok(&c) || direction >= PACKET_DIR__MAX)
		return -EBADMSG;
	sp.direction = (uint8_t)direction;
	body = (struct core_packet){ .len = sp.orig_len, .iface = sp.ifindex, .direction = sp.direction };
	ev->body = &body;
	if (text_len)
		text_copy = arena_copy(em->scratch, text, text_len);
	if (event_add_packet(ev, &sp, data, em->scratch) < 0 || (text_len && !text_copy))
		return -ENOMEM;
	if (text_len)
		event_add_section(ev, SEC_TEXT, text_copy, text_len);
	packet_dissect(sp.link, data, sp.cap_len, sp.orig_len, &p);
	packet_keys_conn_from_flow(&ev->keys.conn, packet_flow(&p));
	return em->emit(em->ctx, ev);
}
