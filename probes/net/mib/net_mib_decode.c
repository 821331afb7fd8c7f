// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Losses by the kernel's counters: records to events, fields, lines. Pure.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "event/value.h"
#include "probes/net/mib/net_mib_table.h"
#include "probes/net/mib/net_mib_wire.h"
#include "probes/net/net_event.h"

int net_mib_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct net_mib_event *b;
	struct net_mib_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)) || !memchr(r.name, '\0', sizeof(r.name)))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_mib_event){ .count = r.count, .total = r.total, .interval_ns = r.interval_ns };
	memcpy(b->name, r.name, sizeof(b->name));
	ev->keys.netns = r.netns;
	return em->emit(em->ctx, ev);
}

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_mib_event, member, name_, kind_, doc_, ##__VA_ARGS__)

static const struct field fields[] = {
	ROW(name, "mib.name", FIELD_STR, "counter of losses, as nstat names it", .flags = FIELD_LABEL),
	{ .name = "mib.what", .kind = FIELD_GET, .like = FIELD_LIKE(FIELD_STR), .doc = "what was lost, and why" },
	ROW(count, "mib.count", FIELD_UINT, "how much it rose since the last reading"),
	ROW(interval_ns, "mib.interval", FIELD_NS, "since the last reading"),
	ROW(total, "mib.total", FIELD_UINT, "how much it rose since the start", .flags = FIELD_TOTAL),
};

static int get(const struct event *ev, _unused_ const struct field *f, struct value *ret)
{
	const struct net_mib_event *b = ev->body;

	return value_set_text(ret, net_mib_table_what(b->name, strlen(b->name)));
}

/* "xx counted 3 UdpRcvbufErrors in network namespace web (17 since the start): datagrams: full receive buffer" */
static int line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const char *space = event_names_get(ev->names, SONDE_NAME_NETNS, ev->keys.netns);
	const struct net_mib_event *b = ev->body;
	const char *what = net_mib_table_what(b->name, strlen(b->name));

	buf_printf(out, "xx counted %" PRIu64 " ", b->count);
	str_escape_buf(out, b->name, strlen(b->name));
	buf_add_str(out, " in network namespace ");
	if (space)
		str_escape_buf(out, space, strlen(space));
	else
		buf_add_u64(out, ev->keys.netns);
	if (b->total != b->count)
		buf_printf(out, " (%" PRIu64 " since the start)", b->total);
	if (what)
		buf_printf(out, ": %s", what);
	return buf_add_char(out, '\n');
}

const struct event_desc net_mib_desc = {
	.type = NET_EV_MIB, .name = "net.mib",
	.doc = "losses by the kernel's counters of a network namespace, of which most are no packets that it drops",
	.class = EVENT_DATA, .aggregate = true, .fields = fields, .n_fields = ARRAY_SIZE(fields),
	.body_size = sizeof(struct net_mib_event), .get = get, .line = line,
};
