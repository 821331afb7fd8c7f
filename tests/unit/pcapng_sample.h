/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A short run whose events the pcapng sink writes: two interfaces in two namespaces, a drop with a reason, a
 * function, an owner and preceding losses, a plain packet, a verdict. The event types are invented here: the sink
 * must learn everything from their rows.
 */
#ifndef TESTS_PCAPNG_SAMPLE_H
#define TESTS_PCAPNG_SAMPLE_H

#include <string.h>

#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

#define SAMPLE_OFFSET_NS 1700000000000000000ll
#define SAMPLE_ARGS "curl\0-s\0http://10.0.0.2/\0"

struct sample_body {
	uint64_t reason, location, action;
	uint8_t point, owner, ttl;
};

static const struct xlat_val sample_points[] = { { 1, "to stack" }, { 2, "to-network" } };
static const struct xlat sample_point_xlat = { .name = "p", .vals = sample_points, .n = ARRAY_SIZE(sample_points) };
static const struct xlat_val sample_owners[] = { { 1, "rx_sk" } };
static const struct xlat sample_owner_xlat = { .name = "o", .vals = sample_owners, .n = ARRAY_SIZE(sample_owners) };

static const struct field sample_fields[] = {
	FIELD_ROW(struct sample_body, reason, "gone.reason", FIELD_NAME, "why", .space = SONDE_NAME_DROP_REASON,
		  .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct sample_body, location, "gone.where", FIELD_NAME, "where", .space = SONDE_NAME_KSYM,
		  .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct sample_body, action, "gone.verdict", FIELD_NAME, "verdict", .space = SONDE_NAME_XDP_ACTION,
		  .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct sample_body, point, "gone.point", FIELD_ENUM, "point", .xlat = &sample_point_xlat,
		  .flags = FIELD_OPTIONAL),
	FIELD_ROW(struct sample_body, ttl, "gone.ttl", FIELD_UINT, "as in the packet", .flags = FIELD_PACKET),
	FIELD_ROW(struct sample_body, owner, "owner.by", FIELD_ENUM, "how", .xlat = &sample_owner_xlat,
		  .flags = FIELD_OPTIONAL),
};
static const struct event_desc sample_desc = {
	.type = SONDE_EV(0x71, 1), .name = "toy.gone", .doc = "a packet", .fields = sample_fields,
	.n_fields = ARRAY_SIZE(sample_fields), .body_size = sizeof(struct sample_body), .sections = 1u << SEC_PACKET,
};
static const struct event_desc sample_lost_desc = {
	.type = SONDE_EV_LOST, .name = "sonde.lost", .class = EVENT_META, .body_size = sizeof(struct core_lost),
};
static const struct event_desc sample_ledger_desc = {
	.type = SONDE_EV_LEDGER, .name = "sonde.ledger", .class = EVENT_META, .body_size = sizeof(struct core_ledger),
};

/* Ethernet, IPv4 10.0.0.1 -> 10.0.0.2, UDP 5000 -> 9, "x". */
static const uint8_t sample_udp[] = {
	0x0a, 0, 0, 0, 0, 2, 0x0a, 0, 0, 0, 0, 1, 8, 0,
	0x45, 0, 0, 29, 0x12, 0x67, 0, 0, 64, 17, 0x54, 0x67, 10, 0, 0, 1, 10, 0, 0, 2,
	0x13, 0x88, 0, 9, 0, 9, 0, 0, 'x',
};

struct sample_packet {
	struct sec_packet head;
	uint8_t data[sizeof(sample_udp)];
};

struct sample_proc {
	struct sec_proc head;
	char text[80];
};

static inline struct sample_packet sample_packet(uint32_t netns, uint32_t ifindex, uint8_t direction, uint32_t link)
{
	uint32_t skip = link == SONDE_LINK_RAW ? 14 : 0;
	struct sample_packet p = {
		.head = {
			.link = link, .cap_len = sizeof(sample_udp) - skip,
			.orig_len = sizeof(sample_udp) - skip + 100,
			.ifindex = ifindex, .netns = netns, .direction = direction,
		},
	};

	memcpy(p.data, sample_udp + skip, sizeof(sample_udp) - skip);
	return p;
}

static inline struct sample_proc sample_proc(void)
{
	struct sample_proc p = {
		.head = { .start_ns = 5000, .tgid = 4711, .ppid = 1, .uid = 1000, .comm = { 0, 4 }, .exe = { 4, 13 },
			  .args = { 17, sizeof(SAMPLE_ARGS) - 1 } },
	};

	memcpy(p.text, "curl/usr/bin/curl", 17);
	memcpy(p.text + 17, SAMPLE_ARGS, sizeof(SAMPLE_ARGS));
	return p;
}

static inline int sample_send(struct sink *s, struct event *ev, const struct sample_packet *p)
{
	event_add_section(ev, SEC_PACKET, p, (uint32_t)sizeof(p->head) + p->head.cap_len);
	return sink_event(s, ev);
}

/* Writes the run through @opts to @out. 0 or the first error. */
static inline int sample_run(const struct sink_opts *opts, struct outfile *out)
{
	static const uint64_t stack[2] = { 0xffff800000001000, 0xffff800000002000 };
	const struct sample_body gone = { .reason = 3, .location = stack[0], .point = 1, .owner = 1 };
	const struct sample_body plain = { .point = 2 }, xdp = { .action = 1 };
	const struct core_lost lost = { .count = 17 };
	const struct core_ledger ledger = { .seen = 120, .delivered = 100, .filtered = 2, .sampled = 1, .lost = 17 };
	struct sample_packet a = sample_packet(4026531840u, 2, 1, SONDE_LINK_ETHERNET);
	struct sample_packet b = sample_packet(77, 2, 2, SONDE_LINK_RAW);
	struct sample_proc proc = sample_proc();
	struct names *names = event_names_new();
	struct event base = { .names = names, .clock_offset_ns = SAMPLE_OFFSET_NS, .instance = 1 }, ev;
	struct sink s;
	int r;

	event_names_set(names, SONDE_NAME_DROP_REASON, 3, "NO_SOCKET", 9);
	event_names_set(names, SONDE_NAME_KSYM, stack[0], "udp_rcv+0x10", 12);
	event_names_set(names, SONDE_NAME_IFACE, names_iface_key(4026531840u, 2), "eth0", 4);
	event_names_set(names, SONDE_NAME_NETNS, 77, "blue", 4);
	event_names_set(names, SONDE_NAME_XDP_ACTION, 1, "XDP_DROP", 8);
	r = sink_open(&s, sink_find("pcapng"), opts, out, NULL);

	ev = base;
	ev.desc = &sample_desc;
	ev.ts_ns = 1000000001;
	ev.body = &plain;
	ev.body_len = sizeof(plain);
	r = r ? r : sample_send(&s, &ev, &b);

	ev = base;
	ev.desc = &sample_lost_desc;
	ev.body = &lost;
	ev.body_len = sizeof(lost);
	r = r ? r : sink_event(&s, &ev);

	ev = base;
	ev.desc = &sample_desc;
	ev.ts_ns = 1000000002;
	ev.tgid = 4711;
	ev.tid = 4712;
	ev.body = &gone;
	ev.body_len = sizeof(gone);
	event_add_section(&ev, SEC_PROC, &proc, sizeof(proc));
	event_add_section(&ev, SEC_STACK_KERN, stack, sizeof(stack));
	event_add_section(&ev, SEC_TEXT, "first note\nsecond \033 note", 24);
	r = r ? r : sample_send(&s, &ev, &a);

	ev = base;
	ev.desc = &sample_desc;
	ev.ts_ns = 1000000003;
	ev.body = &xdp;
	ev.body_len = sizeof(xdp);
	r = r ? r : sample_send(&s, &ev, &a);

	ev = base;
	ev.desc = &sample_ledger_desc;
	ev.body = &ledger;
	ev.body_len = sizeof(ledger);
	r = r ? r : sink_event(&s, &ev);
	ev.instance = 2;	/* of a probe without packets */
	r = r ? r : sink_event(&s, &ev);
	r = r ? r : sink_close(&s);
	event_names_free(names);
	return r;
}

#endif
