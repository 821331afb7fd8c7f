// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decoder: a table of struct sizes by version and one function per kind. Layouts: see notify.h.
 */
#include "cilium/notify.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"

#define RING_PAD 8	/* perf pads a sample, including its u32 length, to this */

static int too_short(struct err *err, const char *what, const char *note, size_t want, size_t len)
{
	return err_set(err, -EBADMSG, "unexpected %s data length%s, expected %s%zu but got %zu", what, note,
		       strcmp(what, "DebugMsg") && strcmp(what, "TraceSockNotify") ? "at least " : "", want, len);
}

/* Type, subtype, source, hash. */
static void common(struct cursor *c, struct cilium_notify *n)
{
	n->type = cur_u8(c);
	n->subtype = cur_u8(c);
	n->source = cur_u16(c);
	n->hash = cur_u32(c);
}

static void capture_header(struct cursor *c, struct cilium_notify *n)
{
	common(c, n);
	n->pkt.orig_len = cur_u32(c);
	n->pkt.cap_len = cur_u16(c);
	n->version = cur_u8(c);
	cur_skip(c, 1);	/* ext_version: announces extensions that upstream does not have */
}

/*
 * The packet starts at @off. A sample whose length fits a ring record ends in padding. For any other length the
 * client takes all remaining bytes as the packet, whatever the captured length says.
 */
static void packet_at(struct cilium_notify *n, const uint8_t *data, size_t len, size_t off)
{
	size_t end = off + n->pkt.cap_len;

	if (len == ROUND_UP(end + 4, (size_t)RING_PAD) - 4)
		len = end;
	n->pkt.len = len > off ? len - off : 0;
	n->pkt.data = n->pkt.len ? data + off : NULL;
}

/* Checks the struct's size for its version. @kind, @word: the client's names, for the message. */
static int check_version(const struct cilium_notify *n, size_t len, const uint8_t *sizes, size_t n_sizes,
			 const char *kind, const char *word, struct err *err)
{
	if (n->version >= n_sizes)
		return err_set(err, -EBADMSG, "Unrecognized %s event (version %u)", word, n->version);
	if (len < sizes[n->version])
		return err_set(err, -EBADMSG,
			       "unexpected %s data length (version %u), "
			       "expected at least %u but got %zu",
			       kind, n->version, sizes[n->version], len);
	return 0;
}

static int decode_drop(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	static const uint8_t sizes[] = { 36, 36, 40, 48 };
	struct cilium_drop *d = &n->drop;
	struct cursor c = cur_init(data, len);
	int r;

	if (len < sizes[0])
		return too_short(err, "DropNotify", "", sizes[0], len);
	capture_header(&c, n);
	d->src_identity = cur_u32(&c);
	d->dst_identity = cur_u32(&c);
	d->dst_id = cur_u32(&c);
	d->line = cur_u16(&c);
	d->file = cur_u8(&c);
	d->ext_error = (int8_t)cur_u8(&c);
	d->ifindex = cur_u32(&c);
	r = check_version(n, len, sizes, ARRAY_SIZE(sizes), "DropNotify", "drop", err);
	if (r < 0)
		return r;
	if (n->version >= 2) {
		n->pkt.flags = cur_u8(&c);
		cur_skip(&c, 3);
	}
	if (n->version >= 3)
		d->ip_trace_id = cur_u64(&c);
	packet_at(n, data, len, sizes[n->version]);
	return 0;
}

static int decode_trace(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	static const uint8_t sizes[] = { 32, 48, 56 };
	struct cilium_trace *t = &n->trace;
	struct cursor c = cur_init(data, len);
	int r;

	if (len < sizes[0])
		return too_short(err, "TraceNotify", "", sizes[0], len);
	capture_header(&c, n);
	t->src_identity = cur_u32(&c);
	t->dst_identity = cur_u32(&c);
	t->dst_id = cur_u16(&c);
	t->reason = cur_u8(&c);
	n->pkt.flags = cur_u8(&c);
	t->ifindex = cur_u32(&c);
	r = check_version(n, len, sizes, ARRAY_SIZE(sizes), "TraceNotify", "trace", err);
	if (r < 0)
		return r;
	if (n->version >= 1)
		cur_copy(&c, t->orig_ip, sizeof(t->orig_ip));
	if (n->version >= 2)
		t->ip_trace_id = cur_u64(&c);
	packet_at(n, data, len, sizes[n->version]);
	return 0;
}

static int decode_debug(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	struct cursor c = cur_init(data, len);

	if (len < 20)
		return too_short(err, "DebugMsg", "", 20, len);
	common(&c, n);
	for (size_t i = 0; i < ARRAY_SIZE(n->arg); i++)
		n->arg[i] = cur_u32(&c);
	return 0;
}

static int decode_capture(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	struct cursor c = cur_init(data, len);

	if (len < 24)
		return too_short(err, "DebugCapture", "", 24, len);
	capture_header(&c, n);
	n->arg[0] = cur_u32(&c);
	n->arg[1] = cur_u32(&c);
	packet_at(n, data, len, 24);
	return 0;
}

/*
 * The struct grew from 32 to 40 bytes in 1.19 without a new version. Its length reveals the size: padded samples are
 * 4 modulo 8, bare payloads are exact, and the two sizes differ by 8.
 */
static size_t policy_size(size_t len, uint16_t cap_len)
{
	size_t small = 32 + (size_t)cap_len, big = small + 8;

	if (len == small || len + 4 == ROUND_UP(small + 4, (size_t)RING_PAD))
		return 32;
	if (len == big || len + 4 == ROUND_UP(big + 4, (size_t)RING_PAD))
		return 40;
	return len >= big ? 40 : 32;
}

static int decode_policy(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	struct cilium_policy *p = &n->policy;
	struct cursor c = cur_init(data, len);
	size_t size;

	if (len < 32)
		return too_short(err, "PolicyVerdictNotify", "", 32, len);
	capture_header(&c, n);
	p->remote_identity = cur_u32(&c);
	p->verdict = (int32_t)cur_u32(&c);
	p->dst_port = cur_u16(&c);
	p->proto = cur_u8(&c);
	p->bits = cur_u8(&c);
	p->auth_type = cur_u8(&c);
	cur_skip(&c, 3);
	size = policy_size(len, n->pkt.cap_len);
	if (size == 40)
		p->cookie = cur_u32(&c);
	n->pkt.flags = (p->bits & CILIUM_POLICY_IPV6 ? CILIUM_FLAG_IPV6 : 0) |
		       (size == 40 && (p->bits & CILIUM_POLICY_L3) ? CILIUM_FLAG_L3 : 0);
	packet_at(n, data, len, size);
	return 0;
}

static int decode_recorder(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	struct cursor c = cur_init(data, len);

	if (len < 24)
		return too_short(err, "RecorderCapture", "", 24, len);
	common(&c, n);
	n->recorder.ts_ns = cur_u64(&c);
	n->recorder.cap_len = cur_u32(&c);
	n->recorder.len = cur_u32(&c);
	n->pkt.orig_len = n->recorder.len;
	n->pkt.cap_len = (uint16_t)MIN(n->recorder.cap_len, (uint32_t)UINT16_MAX);
	packet_at(n, data, len, 24);
	return 0;
}

/*
 * This struct has neither version nor common header, and 1.18 reordered its members; both layouts have the same
 * length.
 */
static bool sock_is_new(const uint8_t *data, size_t len)
{
	return len >= 40 && data[2] <= 2 && data[3] <= 1 && !data[6] && !data[7];
}

static int decode_sock(const uint8_t *data, size_t len, struct cilium_notify *n, struct err *err)
{
	struct cilium_sock *s = &n->sock;
	struct cursor c = cur_init(data, len);

	if (len < 38)
		return too_short(err, "TraceSockNotify", "", 40, len);
	n->type = cur_u8(&c);
	n->subtype = s->point = cur_u8(&c);
	if (sock_is_new(data, len)) {
		s->proto = cur_u8(&c);
		s->ipv6 = cur_u8(&c) & 1;
		s->dst_port = cur_u16(&c);
		cur_skip(&c, 2);
		s->cookie = cur_u64(&c);
		s->cgroup_id = cur_u64(&c);
		cur_copy(&c, s->dst_ip, sizeof(s->dst_ip));
		return 0;
	}
	cur_copy(&c, s->dst_ip, sizeof(s->dst_ip));
	s->dst_port = cur_u16(&c);
	s->cookie = cur_u64(&c);
	s->cgroup_id = cur_u64(&c);
	s->proto = cur_u8(&c);
	s->ipv6 = cur_u8(&c) & 1;
	return 0;
}

int cilium_notify_decode(const void *data, size_t len, struct cilium_notify *ret, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	if (!len)
		return err_set(err, -EBADMSG, "empty payload");
	ret->type = *(const uint8_t *)data;
	switch (ret->type) {
	case CILIUM_DROP:
		return decode_drop(data, len, ret, err);
	case CILIUM_DEBUG:
		return decode_debug(data, len, ret, err);
	case CILIUM_CAPTURE:
		return decode_capture(data, len, ret, err);
	case CILIUM_TRACE:
		return decode_trace(data, len, ret, err);
	case CILIUM_POLICY:
		return decode_policy(data, len, ret, err);
	case CILIUM_RECORDER:
		return decode_recorder(data, len, ret, err);
	case CILIUM_SOCK:
		return decode_sock(data, len, ret, err);
	case CILIUM_L7:
	case CILIUM_AGENT:
		return 0;
	default:
		return err_set(err, -ENOSYS, "unknown type %u", ret->type);
	}
}
