// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * net.dump: the header of a flight recorder's dump. Pure.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/net/net_event.h"
#include "probes/net/recorder/net_recorder_wire.h"

_Static_assert(sizeof(((struct net_recorder_dump_event *)0)->on) == NET_RECORDER_DUMP_TEXT, "the condition fits");

static const struct xlat_val by_vals[] = {
	{ NET_RECORDER_DUMP_SIGNAL, "signal" },
	{ NET_RECORDER_DUMP_COMMAND, "command" },
	{ NET_RECORDER_DUMP_EVENT, "event" },
};
_Static_assert(ARRAY_SIZE(by_vals) == NET_RECORDER_DUMP__MAX - 1, "each cause has a name");
static const struct xlat by_xlat = { .name = "dump_by", .vals = by_vals, .n = ARRAY_SIZE(by_vals) };

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_recorder_dump_event, member, name_, kind_, doc_, ##__VA_ARGS__)

static const struct field dump_fields[] = {
	ROW(number, "dump.number", FIELD_UINT, "of this run, from 1"),
	ROW(by, "dump.by", FIELD_ENUM, "trigger: signal, command, event", .xlat = &by_xlat),
	ROW(on, "dump.on", FIELD_STR, "the condition that an event met", .flags = FIELD_OPEN | FIELD_OPTIONAL),
	ROW(packets, "dump.packets", FIELD_UINT, "packets that follow"),
	ROW(drops, "dump.drops", FIELD_UINT, "drops among what follows"),
	ROW(before_ns, "dump.before", FIELD_NS, "time before the trigger"),
	ROW(after_ns, "dump.after", FIELD_NS, "time after the trigger"),
	ROW(missing_ns, "dump.missing", FIELD_NS, "part of the time before that was overwritten"),
	ROW(torn, "dump.torn", FIELD_UINT, "packets overwritten while they were read"),
};

/* "== dump 1 on drop.reason=NO_SOCKET: 812 packets, 3 drops, 5.000 s before and 1.000 s after it" */
static int dump_line(const struct event *ev, _unused_ const struct line_opts *o, struct buf *out)
{
	const struct net_recorder_dump_event *b = ev->body;

	buf_printf(out, "== dump %u by %s", b->number, xlat_name(&by_xlat, b->by) ?: "?");
	if (b->on[0]) {
		buf_add_char(out, ' ');
		str_escape_buf(out, b->on, strnlen(b->on, sizeof(b->on)));
	}
	buf_printf(out, ": %llu packets, %llu drops, %.3f s before and %.3f s after it",
		   (unsigned long long)b->packets, (unsigned long long)b->drops,
		   (double)b->before_ns / 1e9, (double)b->after_ns / 1e9);
	if (b->missing_ns)
		buf_printf(out, "; the first %.3f s were overwritten", (double)b->missing_ns / 1e9);
	if (b->torn)
		buf_printf(out, "; %llu packets torn", (unsigned long long)b->torn);
	return buf_add_char(out, '\n');
}

static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

int net_event_dump_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct net_recorder_dump_event *b;
	struct net_recorder_dump_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_recorder_dump_event){
		.before_ns = between(r.from_ns, r.hdr.ts_ns),
		.after_ns = between(r.hdr.ts_ns, r.to_ns),
		.missing_ns = between(r.from_ns, r.held_from_ns),
		.packets = r.packets,
		.drops = r.drops,
		.torn = r.torn,
		.number = r.number,
		.by = r.by,
	};
	memcpy(b->on, r.on, sizeof(b->on) - 1);
	return em->emit(em->ctx, ev);
}

const struct event_desc net_recorder_dump_desc = {
	.type = NET_EV_DUMP,
	.name = "net.dump",
	.doc = "packets of a flight recorder follow",
	.class = EVENT_DATA,
	.fields = dump_fields,
	.n_fields = ARRAY_SIZE(dump_fields),
	.body_size = sizeof(struct net_recorder_dump_event),
	.line = dump_line,
};
