// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encodes notifications in the newest layout of each kind (release 1.20), as the datapath writes them but without
 * ring padding. ext_version is 0 and no bytes follow the packet: clients would read them as part of it.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cilium/notify.h"

static void zeros(struct buf *out, size_t n)
{
	static const uint8_t none[8];

	buf_add(out, none, n);
}

static void common(struct buf *out, const struct cilium_notify *n)
{
	buf_put_u8(out, n->type);
	buf_put_u8(out, n->subtype);
	buf_put_u16(out, n->source);
	buf_put_u32(out, n->hash);
}

static size_t captured(const struct cilium_notify *n)
{
	return MIN(n->pkt.len, (size_t)UINT16_MAX);
}

static void capture_header(struct buf *out, const struct cilium_notify *n, uint8_t version)
{
	common(out, n);
	buf_put_u32(out, n->pkt.orig_len);
	buf_put_u16(out, (uint16_t)captured(n));
	buf_put_u8(out, version);
	buf_put_u8(out, 0);
}

static void put_drop(struct buf *out, const struct cilium_notify *n)
{
	const struct cilium_drop *d = &n->drop;

	capture_header(out, n, 3);
	buf_put_u32(out, d->src_identity);
	buf_put_u32(out, d->dst_identity);
	buf_put_u32(out, d->dst_id);
	buf_put_u16(out, d->line);
	buf_put_u8(out, d->file);
	buf_put_u8(out, (uint8_t)d->ext_error);
	buf_put_u32(out, d->ifindex);
	buf_put_u8(out, n->pkt.flags);
	zeros(out, 3);
	buf_put_u64(out, d->ip_trace_id);
}

static void put_trace(struct buf *out, const struct cilium_notify *n)
{
	const struct cilium_trace *t = &n->trace;

	capture_header(out, n, 2);
	buf_put_u32(out, t->src_identity);
	buf_put_u32(out, t->dst_identity);
	buf_put_u16(out, t->dst_id);
	buf_put_u8(out, t->reason);
	buf_put_u8(out, n->pkt.flags);
	buf_put_u32(out, t->ifindex);
	buf_add(out, t->orig_ip, sizeof(t->orig_ip));
	buf_put_u64(out, t->ip_trace_id);
}

static void put_debug(struct buf *out, const struct cilium_notify *n)
{
	common(out, n);
	for (size_t i = 0; i < ARRAY_SIZE(n->arg); i++)
		buf_put_u32(out, n->arg[i]);
}

static void put_capture(struct buf *out, const struct cilium_notify *n)
{
	capture_header(out, n, 1);
	buf_put_u32(out, n->arg[0]);
	buf_put_u32(out, n->arg[1]);
}

static void put_policy(struct buf *out, const struct cilium_notify *n)
{
	const struct cilium_policy *p = &n->policy;

	capture_header(out, n, 1);
	buf_put_u32(out, p->remote_identity);
	buf_put_u32(out, (uint32_t)p->verdict);
	buf_put_u16(out, p->dst_port);
	buf_put_u8(out, p->proto);
	buf_put_u8(out, p->bits);
	buf_put_u8(out, p->auth_type);
	zeros(out, 3);
	buf_put_u32(out, p->cookie);
	zeros(out, 4);
}

static void put_sock(struct buf *out, const struct cilium_notify *n)
{
	const struct cilium_sock *s = &n->sock;

	buf_put_u8(out, CILIUM_SOCK);
	buf_put_u8(out, s->point);
	buf_put_u8(out, s->proto);
	buf_put_u8(out, s->ipv6);
	buf_put_u16(out, s->dst_port);
	zeros(out, 2);
	buf_put_u64(out, s->cookie);
	buf_put_u64(out, s->cgroup_id);
	buf_add(out, s->dst_ip, sizeof(s->dst_ip));
}

int cilium_encode(const struct cilium_notify *n, struct buf *out)
{
	switch (n->type) {
	case CILIUM_DROP: put_drop(out, n); break;
	case CILIUM_TRACE: put_trace(out, n); break;
	case CILIUM_DEBUG: put_debug(out, n); break;
	case CILIUM_CAPTURE: put_capture(out, n); break;
	case CILIUM_POLICY: put_policy(out, n); break;
	case CILIUM_SOCK: put_sock(out, n); break;
	default: return -ENOSYS;
	}
	if (n->type != CILIUM_DEBUG && n->type != CILIUM_SOCK)
		buf_add(out, n->pkt.data, captured(n));
	return buf_error(out);
}
