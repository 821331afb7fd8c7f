// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Process and connection of a capture's event, for other modules. Those of live events come from the state engine.
 */
#include <errno.h>
#include <netinet/in.h>

#include "base/macros.h"
#include "event/event.h"
#include "scap/block.h"
#include "scap/state/state.h"
#include "scap/state/state_tables.h"
#include "sonde/scap_wire.h"

static struct sec_str add(struct buf *b, const struct scap_str *s)
{
	struct sec_str str = { .off = (uint32_t)(b->len - sizeof(struct sec_proc)), .len = s ? s->len : 0 };

	if (s)
		buf_add(b, s->data, s->len);
	return str;
}

/* The command line: first word and arguments, with blanks between them. */
static struct sec_str add_args(struct buf *b, const struct scap_thread *t)
{
	struct sec_str str = add(b, t->exe);
	uint32_t len = t->args ? t->args->len : 0;

	while (len && !t->args->data[len - 1])
		len--;
	if (len && str.len)
		buf_add_char(b, ' ');
	for (uint32_t i = 0; i < len; i++)
		buf_add_char(b, t->args->data[i] ? t->args->data[i] : ' ');
	str.len = (uint32_t)(b->len - sizeof(struct sec_proc)) - str.off;
	return str;
}

static int make_section(const struct scap_state *st, struct scap_thread *t)
{
	const struct scap_container *ct = scap_state_container(st, t->container);
	struct sec_proc p = { .tgid = (uint32_t)t->pid, .ppid = t->ptid > 0 ? (uint32_t)t->ptid : 0,
			      .uid = t->uid, .gid = t->gid };
	struct buf b = { 0 };

	buf_add(&b, &p, sizeof(p));
	p.comm = add(&b, t->comm);
	p.exe = add(&b, t->exepath && t->exepath->len ? t->exepath : t->exe);
	p.args = add_args(&b, t);
	p.container = add(&b, t->container);
	p.image = add(&b, ct ? ct->image : NULL);
	if (buf_error(&b)) {
		buf_fini(&b);
		return -ENOMEM;
	}
	memcpy(b.data, &p, sizeof(p));
	t->proc_section = b.data;
	t->proc_len = (uint32_t)b.len;
	return 0;
}

static uint8_t protocol_of(const struct scap_fd *fd)
{
	static const uint8_t numbers[] = {
		[SCAP_L4_TCP] = IPPROTO_TCP, [SCAP_L4_UDP] = IPPROTO_UDP, [SCAP_L4_ICMP] = IPPROTO_ICMP,
		[SCAP_L4_RAW] = IPPROTO_RAW,
	};

	return fd->l4 < ARRAY_SIZE(numbers) ? numbers[fd->l4] : 0;
}

static void set_conn(struct event *ev, const struct scap_fd *fd)
{
	struct conn *c = &ev->keys.conn;

	if (c->proto || c->saddr.family || c->daddr.family || fd->type < FD_IPV4 || fd->type > FD_IPV6_SERVER)
		return;
	*c = (struct conn){ .saddr = fd->sip, .daddr = fd->dip, .sport = fd->sport, .dport = fd->dport,
			    .proto = protocol_of(fd) };
}

int state_describe(struct scap_state *st, struct event *ev)
{
	const struct scap_view *v = ev->view;
	struct scap_thread *t;

	if (ev->desc->type != SONDE_EV_SCAP)
		return 0;
	if (v->fd)
		set_conn(ev, v->fd);
	if (!v->thread || v->thread->invented || event_proc(ev))
		return 0;
	t = state_thread_find(st, v->thread->tid);
	if (!t->proc_section && make_section(st, t) < 0)
		return -ENOMEM;
	return event_add_section(ev, SEC_PROC, t->proc_section, t->proc_len);
}
