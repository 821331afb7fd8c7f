// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events without content. event_get() hides the strings of fields; this file truncates sections.
 */
#include <string.h>

#include "base/arena.h"
#include "event/event.h"
#include "packet/packet.h"

/* Sections that hold numbers only. All others go through cut(). */
static const bool is_open[SEC__MAX] = { [SEC_STACK_USER] = true, [SEC_STACK_KERN] = true };

/* Keeps headers only. */
static const void *cut_packet(const struct event *ev, struct arena *scratch, uint32_t *ret_len)
{
	const uint8_t *data;
	const struct sec_packet *p = event_packet(ev, &data);
	struct sec_packet *head;
	uint32_t len;

	*ret_len = 0;
	if (!p)
		return NULL;
	len = packet_headers_len(p->link, data, p->cap_len, p->orig_len);
	head = arena_alloc(scratch, sizeof(*head) + len);
	if (!head)
		return NULL;
	*head = *p;
	head->cap_len = len;
	memcpy(head + 1, data, len);
	*ret_len = (uint32_t)sizeof(*head) + len;
	return head;
}

/* Clears the arguments' length. Their bytes stay in the section but readers go by lengths, and frames omit it. */
static const void *cut_proc(const struct event *ev, struct arena *scratch, uint32_t *ret_len)
{
	const struct section *s = event_section(ev, SEC_PROC);
	struct sec_proc *p = event_proc(ev) ? arena_copy(scratch, s->data, s->len) : NULL;

	*ret_len = p ? s->len : 0;
	if (p)
		p->args = (struct sec_str){ 0 };
	return p;
}

static const void *cut(const struct event *ev, unsigned kind, struct arena *scratch, uint32_t *ret_len)
{
	*ret_len = 0;
	if (kind == SEC_PACKET)
		return cut_packet(ev, scratch, ret_len);
	return kind == SEC_PROC ? cut_proc(ev, scratch, ret_len) : NULL;
}

void event_hide_content(const struct event *ev, struct arena *scratch, struct event *ret)
{
	*ret = *ev;
	ret->hide = HIDE_CONTENT;
	ret->n_sec = 0;
	for (unsigned i = 0; i < ev->n_sec; i++) {
		struct section s = ev->sec[i];

		if (s.kind >= SEC__MAX)
			continue;
		if (!is_open[s.kind])
			s.data = cut(ev, s.kind, scratch, &s.len);
		if (s.data)
			ret->sec[ret->n_sec++] = s;
	}
}
