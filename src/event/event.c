// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An event's header, sections and process. Nothing here allocates: results borrow from the event.
 */
#include "event/event.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/str.h"

const struct section *event_section(const struct event *ev, enum sec_kind kind)
{
	return FIND_ITEM(it, ev->sec, ev->n_sec, it->kind == kind);
}

int event_add_section(struct event *ev, enum sec_kind kind, const void *data, uint32_t len)
{
	if (ev->n_sec >= EVENT_MAX_SECTIONS)
		return -ENOSPC;
	ev->sec[ev->n_sec++] = (struct section){ .kind = (uint16_t)kind, .len = len, .data = data };
	return 0;
}

const struct sec_packet *event_packet(const struct event *ev, const uint8_t **ret_data)
{
	const struct section *s = event_section(ev, SEC_PACKET);
	const struct sec_packet *p;
	struct cursor c;

	if (!s)
		return NULL;
	c = cur_init(s->data, s->len);
	p = cur_bytes(&c, sizeof(*p));
	if (!p || cur_left(&c) < p->cap_len)
		return NULL;
	if (ret_data)
		*ret_data = (const uint8_t *)(p + 1);
	return p;
}

const struct sec_proc *event_proc(const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_PROC);

	return s && s->len >= sizeof(struct sec_proc) ? s->data : NULL;
}

const struct sec_state *event_state(const struct event *ev)
{
	static const uint16_t sizes[SEC_STATE__MAX] = {
		[SEC_STATE_FORK] = sizeof(struct sec_task), [SEC_STATE_EXEC] = sizeof(struct sec_task),
		[SEC_STATE_TASK] = sizeof(struct sec_task), [SEC_STATE_NAME] = sizeof(struct sec_task),
		[SEC_STATE_MAPPING] = sizeof(struct sec_mapping), [SEC_STATE_SOCKET] = sizeof(struct sec_socket),
	};
	const struct section *s = event_section(ev, SEC_STATE);
	const struct sec_state *state = s && s->len >= sizeof(*state) ? s->data : NULL;

	return state && state->kind < SEC_STATE__MAX && s->len >= sizes[state->kind] ? state : NULL;
}

const char *event_state_text(const struct event *ev, struct sec_str str)
{
	const struct section *s = event_section(ev, SEC_STATE);
	const struct sec_state *state = s->data;

	if (!str.len || state->text > s->len || str.off > s->len - state->text ||
	    str.len > s->len - state->text - str.off)
		return NULL;
	return (const char *)state + state->text + str.off;
}

const struct sec_file *event_file(const struct event *ev)
{
	const struct section *s = event_section(ev, SEC_FILE);
	const struct sec_file *f = s ? s->data : NULL;

	return f && s->len >= sizeof(*f) && f->name_len <= s->len - sizeof(*f) ? f : NULL;
}

const char *event_sec_proc_str(const struct sec_proc *p, const struct section *s, struct sec_str str, size_t *ret_len)
{
	struct cursor c = cur_init(p, s->len);
	const char *text;

	cur_skip(&c, sizeof(*p));
	cur_skip(&c, str.off);
	text = cur_bytes(&c, str.len);
	*ret_len = text ? str.len : 0;
	return text ? text : "";
}

void event_who(const struct event *ev, uint32_t id, struct buf *out)
{
	const struct sec_proc *p = event_proc(ev);
	size_t len = 0;
	const char *comm = p ? event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len) : NULL;

	if (comm)
		str_escape_buf(out, comm, len);
	buf_add_char(out, '[');
	buf_add_u64(out, id);
	buf_add_char(out, ']');
}

/* Finaliser of MurmurHash3 (public domain): each bit of the input changes half of those of the output. */
static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 33;
}

uint64_t event_call_id(const struct event *ev, uint64_t opened_ns)
{
	const struct event_keys *k = &ev->keys;
	uint64_t h = mix(ev->start_ns ^ (uint64_t)ev->tgid << 32 ^ k->rpc_stream);

	h = mix(h ^ (k->rpc_conn ? k->rpc_conn : k->goid));
	h = mix(h ^ opened_ns) >> (64 - 4 * CALL_ID_DIGITS);
	return h ? h : 1;
}
