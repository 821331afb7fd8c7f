// SPDX-License-Identifier: GPL-2.0-or-later
/* The net probe: records built here to events, points of interfaces, addresses and interfaces as options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event_words.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_event.h"
#include "probes/net/packet/net_point.h"
#include "probes/net/net_setup.h"
#include "probes/net/refused/net_refused_wire.h"
#include "probes/net/net_wire.h"
#include "probes/net/net_1_wire.h"

extern const struct decoder_ops net_decoder;
static const struct decoder_ops *const decoders[] = { &net_decoder, NULL };

#define LOCATION 0xffffffff81000020

/* 10.0.0.1:4711 -> 10.0.0.2:80 TCP SYN after an Ethernet header. */
static const uint8_t syn[] = {
	2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
	0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	0x12, 0x67, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0,
};

struct seen {
	unsigned n;
	struct event_words text;
	struct event_keys keys;
	uint32_t tgid;
	uint64_t start_ns;
	uint32_t packet_len, stack_len;	/* of the sections, 0 = none */
	uint64_t stack_first;
};

static void take_sections(struct seen *s, const struct event *ev)
{
	const struct section *stack = event_section(ev, SEC_STACK_KERN);
	const uint8_t *data;
	const struct sec_packet *p = event_packet(ev, &data);

	s->packet_len = p ? p->cap_len : 0;
	s->stack_len = stack ? stack->len : 0;
	if (stack)
		memcpy(&s->stack_first, stack->data, sizeof(s->stack_first));
	if (p && p->cap_len >= sizeof(syn))
		assert_memory_equal(data, syn, sizeof(syn));
}

static int take(void *ctx, struct event *ev)
{
	struct seen *s = ctx;

	s->n++;
	s->keys = ev->keys;
	s->tgid = ev->tgid;
	s->start_ns = ev->start_ns;
	take_sections(s, ev);
	event_words_take(&s->text, ev);
	return 0;
}

static void seen_fini(struct seen *s)
{
	event_words_fini(&s->text);
}

struct rec { struct net_rec r; uint8_t data[256]; };

/* A record with the packet and @n_stack addresses, the third of which is the drop location. */
static size_t make(struct rec *rec, uint16_t type, unsigned n_stack)
{
	size_t len = sizeof(rec->r);

	*rec = (struct rec){ .r = {
		.hdr = { .ts_ns = 5, .type = type, .flags = SONDE_RF_IDENT, .cpu = 1, .tgid = 42, .start_ns = 7 },
		.id = { .sock = 9, .cgroup_id = 11, .netns = 4026531840, .owner_how = SONDE_HOW_TUPLE },
		.location = type == NET_EV_DROP ? LOCATION : 0,
		.netns = 4026531840, .ifindex = 3, .reason = 2, .orig_len = 100, .mark = 0x10,
		.cur_tgid = 1, .cur_tid = 2, .cur_comm = "swapper/0", .link = SONDE_LINK_ETHERNET,
		.point = type == NET_EV_TRACE ? NET_POINT_FROM_NETWORK : NET_POINT_NONE,
		.dir = type == NET_EV_TRACE ? NET_DIR_IN : NET_DIR_NONE,
		.owner_end = NET_END_RECEIVER,
	} };
	if (type != NET_EV_XDP) {
		rec->r.cap_len = sizeof(syn);
		memcpy(rec->data, syn, sizeof(syn));
		len += sizeof(syn);
	}
	if (n_stack) {
		uint64_t stack[8] = { 1, 2, LOCATION, 4, 5 };

		rec->r.n_stack = (uint16_t)n_stack;
		memcpy(rec->data + ROUND_UP(sizeof(syn), 8u), stack, n_stack * 8);
		len = sizeof(rec->r) + ROUND_UP(sizeof(syn), 8u) + n_stack * 8;
	}
	rec->r.hdr.len = (uint32_t)len;
	return len;
}

static int name_of(struct decode_set *d, uint32_t space, uint64_t key, const char *name, struct seen *s)
{
	struct { struct sonde_name_rec r; char text[64]; } n = {
		.r = { .hdr.type = SONDE_EV_NAME, .space = space, .key = key, .name_len = (uint32_t)strlen(name) },
	};

	memcpy(n.text, name, strlen(name));
	n.r.hdr.len = (uint32_t)(sizeof(n.r) + strlen(name));
	return decode_record(d, &n, n.r.hdr.len, take, s);
}

static int decode(struct seen *s, const void *rec, size_t len)
{
	struct decode_set *d = NULL;
	char *copy = malloc(len);
	struct seen names = { 0 };
	int r;

	assert_non_null(copy);
	memcpy(copy, rec, len);	/* exact allocation, so that a sanitizer reports an overrun */
	assert_int_equal(decode_set_new(decoders, &d), 0);
	name_of(d, SONDE_NAME_DROP_REASON, 2, "NO_SOCKET", &names);
	name_of(d, SONDE_NAME_KSYM, LOCATION, "tcp_v4_rcv+0x20", &names);
	name_of(d, SONDE_NAME_IFACE, (uint64_t)4026531840u << 32 | 3, "eth0", &names);
	name_of(d, SONDE_NAME_XDP_ACTION, 2, "PASS", &names);
	seen_fini(&names);
	r = decode_record(d, copy, len, take, s);
	decode_set_free(d);
	free(copy);
	return r;
}

static void test_trace(void **state)
{
	struct seen s = { 0 };
	struct rec rec;
	size_t len = make(&rec, NET_EV_TRACE, 0);

	(void)state;
	assert_int_equal(decode(&s, &rec, len), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.packet_len, sizeof(syn));
	assert_int_equal(s.tgid, 42);
	assert_int_equal(s.start_ns, 7);
	assert_int_equal(s.keys.cookie, 9);
	assert_int_equal(s.keys.conn.sport, 4711);
	assert_int_equal(s.keys.conn.dport, 80);
	assert_memory_equal(s.keys.conn.saddr.addr, "\x0a\0\0\x01", 4);
	assert_non_null(strstr(buf_str(&s.text.line), "<- network eth0: 10.0.0.1:4711 -> 10.0.0.2:80 tcp SYN  "
				 "[42]  {established}\n"));
	assert_non_null(strstr(buf_str(&s.text.words), "net.point=from-network net.dir=in net.iface=eth0 "
				 "net.len=100 "));
	assert_non_null(strstr(buf_str(&s.text.words), "owner.end=dst net.state=established net.task=swapper/0 "
				 "net.task_pid=1"));
	assert_int_equal(s.keys.owner_how, SONDE_HOW_TUPLE);
	seen_fini(&s);
	rec.r.reason = NET_STATE_NONE;
	assert_int_equal(decode(&s, &rec, len), 0);
	assert_non_null(strstr(buf_str(&s.text.line), "[42]\n"));
	assert_null(strstr(buf_str(&s.text.words), "net.state"));
	seen_fini(&s);
}

/* The tuple before translation lies behind packet and stack. */
static void test_translated(void **state)
{
	static const struct sonde_tuple origin = {
		.family = 4, .lport = 99, .rport = 8080, .laddr = { 10, 0, 0, 9 }, .raddr = { 10, 0, 0, 3 },
	};

	(void)state;
	for (unsigned n_stack = 0; n_stack <= 5; n_stack += 5) {
		struct seen s = { 0 };
		struct rec rec;
		size_t len = ROUND_UP(make(&rec, NET_EV_DROP, n_stack), 8);

		rec.r.translated = 1;
		memcpy((char *)&rec + len, &origin, sizeof(origin));
		rec.r.hdr.len = (uint32_t)(len + sizeof(origin));
		assert_int_equal(decode(&s, &rec, rec.r.hdr.len), 0);
		assert_int_equal(s.stack_len, n_stack ? 3 * 8 : 0);
		assert_non_null(strstr(buf_str(&s.text.line), "  orig 10.0.0.9:99 -> 10.0.0.3:8080  [42]\n"));
		assert_non_null(strstr(buf_str(&s.text.words), "net.orig_ip=10.0.0.9 net.orig_sport=99 "
					 "net.orig_dip=10.0.0.3 net.orig_dport=8080 "));
		seen_fini(&s);
		rec.r.hdr.len--;
		assert_int_equal(decode(&s, &rec, rec.r.hdr.len), -EBADMSG);
	}
}

/* The other end, its name, the way of the packet; a word where the answer is not the user of the packet's socket. */
static void test_both_ends(void **state)
{
	static const struct { uint8_t end, how, peer_how; const char *text; } rows[] = {
		{ NET_END_RECEIVER, SONDE_HOW_TUPLE, SONDE_HOW_SKB, "[42 <- curl/7]" },
		{ NET_END_SENDER, SONDE_HOW_SKB, SONDE_HOW_LISTENER, "[42 -> curl/7 listener]" },
		{ NET_END_SENDER, SONDE_HOW_SNAPSHOT, SONDE_HOW_CONNTRACK, "[42 snapshot -> curl/7]" },
	};
	struct rec rec;
	size_t len = make(&rec, NET_EV_TRACE, 0);

	(void)state;
	rec.r.peer = (struct net_peer){ .sock = 5, .tgid = 7, .comm = "curl" };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen s = { 0 };

		rec.r.owner_end = rows[i].end;
		rec.r.id.owner_how = rows[i].how;
		rec.r.peer.how = rows[i].peer_how;
		assert_int_equal(decode(&s, &rec, len), 0);
		assert_non_null(strstr(buf_str(&s.text.line), rows[i].text));
		assert_non_null(strstr(buf_str(&s.text.words), "peer.pid=7 peer.name=curl peer.sock=5"));
		seen_fini(&s);
	}
}

/* Format 1.0: the source of the owner says which end it is. */
static void test_old_records(void **state)
{
	static const struct { uint8_t by, dir, how; const char *end; } rows[] = {
		{ NET_OWNER_1_RX_SK, NET_DIR_NONE, SONDE_HOW_STORAGE, "owner.end=dst" },
		{ NET_OWNER_1_SKB_SK, NET_DIR_IN, SONDE_HOW_SKB, "owner.end=src" },
		{ NET_OWNER_1_TUPLE, NET_DIR_IN, SONDE_HOW_TUPLE, "owner.end=dst" },
		{ NET_OWNER_1_LISTENER, NET_DIR_OUT, SONDE_HOW_LISTENER, "owner.end=src" },
		{ NET_OWNER_1_REMOTE_TUPLE, NET_DIR_IN, SONDE_HOW_TUPLE, "owner.end=src owner.foreign=true" },
	};
	struct { struct net_rec_1 r; uint8_t data[sizeof(syn)]; } rec = { .r = {
		.hdr = { .type = NET_EV_DROP_1, .len = sizeof(rec.r) + sizeof(syn), .tgid = 42 },
		.cookie = 9, .netns = 4026531840, .link = SONDE_LINK_ETHERNET, .orig_len = sizeof(syn),
		.cap_len = sizeof(syn),
	} };

	(void)state;
	memcpy(rec.data, syn, sizeof(syn));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen s = { 0 };

		rec.r.owner_by = rows[i].by;
		rec.r.dir = rows[i].dir;
		assert_int_equal(decode(&s, (struct rec *)&rec, rec.r.hdr.len), 0);
		assert_int_equal(s.keys.owner_how, rows[i].how);
		assert_int_equal(s.keys.cookie, 9);
		assert_non_null(strstr(buf_str(&s.text.words), rows[i].end));
		seen_fini(&s);
	}
	rec.r.hdr.len = sizeof(rec.r) - 1;
	assert_int_equal(decode(&(struct seen){ 0 }, (struct rec *)&rec, rec.r.hdr.len), -EBADMSG);
}

static void test_drop_with_stack(void **state)
{
	struct seen s = { 0 };
	struct rec rec;
	size_t len = make(&rec, NET_EV_DROP, 5);

	(void)state;
	assert_int_equal(decode(&s, &rec, len), 0);
	/* the frames above the drop location belong to the tracing machinery */
	assert_int_equal(s.stack_len, 3 * 8);
	assert_true(s.stack_first == LOCATION);
	assert_non_null(strstr(buf_str(&s.text.line), "xx drop (NO_SOCKET) at tcp_v4_rcv eth0: 10.0.0.1:4711 -> "));
	assert_non_null(strstr(buf_str(&s.text.words), "drop.reason=NO_SOCKET drop.func=tcp_v4_rcv "));
	seen_fini(&s);
}

/* The reason stays the kernel's. */
static void test_drop_without_hops(void **state)
{
	struct seen s = { 0 };
	struct rec rec;
	size_t len = make(&rec, NET_EV_DROP, 0);

	(void)state;
	rec.r.reason |= NET_REASON_TTL;
	assert_int_equal(decode(&s, &rec, len), 0);
	assert_non_null(strstr(buf_str(&s.text.line), "xx drop (NO_SOCKET: TTL exceeded) at "));
	assert_non_null(strstr(buf_str(&s.text.words), "drop.reason=NO_SOCKET drop.cause=TTL exceeded "));
	seen_fini(&s);
}

static void test_xdp(void **state)
{
	struct seen s = { 0 };
	struct rec rec;
	size_t len = make(&rec, NET_EV_XDP, 0);

	(void)state;
	rec.r.link = 0;
	rec.r.prog_id = 17;
	rec.r.error = -6;
	assert_int_equal(decode(&s, &rec, len), 0);
	assert_int_equal(s.packet_len, 0);
	assert_string_equal(buf_str(&s.text.line), "xx xdp (PASS) eth0: program 17, error -6\n");
	seen_fini(&s);
}

/* Unknown numbers are shown as numbers, without guessing. */
static void test_unknown_numbers(void **state)
{
	struct seen s = { 0 };
	struct rec rec;
	size_t len = make(&rec, NET_EV_DROP, 0);

	(void)state;
	rec.r.reason = 70000;
	rec.r.location = 0x1234;
	rec.r.ifindex = 77;
	rec.r.hdr.tgid = 0;
	rec.r.owner_end = 200;
	assert_int_equal(decode(&s, &rec, len), 0);
	assert_non_null(strstr(buf_str(&s.text.line), "xx drop (70000) at 0x1234 if77: 10.0.0.1"));
	assert_null(strchr(buf_str(&s.text.line), '['));
	seen_fini(&s);
}

/* Every length that is too short, and fields that contradict it. */
static void test_bad_records(void **state)
{
	struct seen s = { 0 };
	struct rec rec;
	size_t len = make(&rec, NET_EV_DROP, 5);

	(void)state;
	for (uint32_t short_len = sizeof(struct sonde_rec); short_len < len; short_len++) {
		rec.r.hdr.len = short_len;
		assert_int_equal(decode(&s, &rec, short_len), -EBADMSG);
	}
	make(&rec, NET_EV_DROP, 5);
	rec.r.cap_len = UINT32_MAX - 3;
	assert_int_equal(decode(&s, &rec, len), -EBADMSG);
	make(&rec, NET_EV_DROP, 5);
	rec.r.n_stack = UINT16_MAX;
	assert_int_equal(decode(&s, &rec, len), -EBADMSG);
	make(&rec, NET_EV_DROP, 5);
	rec.r.orig_len = rec.r.cap_len - 1;
	assert_int_equal(decode(&s, &rec, len), -EBADMSG);
	make(&rec, NET_EV_DROP, 5);
	rec.r.hdr.type = SONDE_EV(2, 99);
	assert_int_equal(decode(&s, &rec, len), -ENOSYS);
	assert_int_equal(s.n, 0);
	seen_fini(&s);
}

static void test_points(void **state)
{
	static const struct { struct net_link l; uint8_t in, out; uint32_t start; } rows[] = {
		{ { .type = ARPHRD_ETHER }, NET_POINT_FROM_NETWORK, NET_POINT_TO_NETWORK, SONDE_LINK_ETHERNET },
		{ { .type = ARPHRD_LOOPBACK }, NET_POINT_FROM_STACK, NET_POINT_TO_STACK, SONDE_LINK_ETHERNET },
		{ { .kind = "veth", .type = ARPHRD_ETHER }, NET_POINT_FROM_ENDPOINT, NET_POINT_TO_ENDPOINT,
		  SONDE_LINK_ETHERNET },
		{ { .kind = "tun", .type = ARPHRD_NONE }, NET_POINT_FROM_ENDPOINT, NET_POINT_TO_ENDPOINT,
		  SONDE_LINK_RAW },
		{ { .kind = "vxlan", .type = ARPHRD_ETHER }, NET_POINT_FROM_OVERLAY, NET_POINT_TO_OVERLAY,
		  SONDE_LINK_ETHERNET },
		{ { .kind = "wireguard", .type = ARPHRD_NONE }, NET_POINT_FROM_OVERLAY, NET_POINT_TO_OVERLAY,
		  SONDE_LINK_RAW },
		{ { .kind = "bridge", .type = ARPHRD_ETHER }, NET_POINT_FROM_NETWORK, NET_POINT_TO_NETWORK,
		  SONDE_LINK_ETHERNET },
		{ { .kind = "vcan", .type = ARPHRD_CAN }, NET_POINT_FROM_NETWORK, NET_POINT_TO_NETWORK, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct net_point_row *p = net_point_find(&rows[i].l);

		assert_int_equal(p->in, rows[i].in);
		assert_int_equal(p->out, rows[i].out);
		assert_int_equal(net_point_link_start(&rows[i].l), rows[i].start);
	}
}

static struct opt_strv list(const char **items, size_t n)
{
	return (struct opt_strv){ .items = items, .len = n };
}

static void test_addresses_become_a_filter(void **state)
{
	const char *from[] = { "10.0.0.0/8", "fe80::1" }, *to[] = { "192.0.2.1" }, *iface[] = { "eth0", "10.0.0.1" };
	struct net_conf c = { .from = list(from, 2), .to = list(to, 1) };
	struct buf out = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(net_conf_filter(&c, "tcp or udp", &out, &err), 0);
	assert_string_equal(buf_str(&out), "(tcp or udp) and (src net 10.0.0.0/8 or src host fe80::1) and "
			    "(dst host 192.0.2.1)");
	buf_reset(&out);
	c = (struct net_conf){ .related = list(iface, 2) }; /* an interface is not accepted there */
	assert_int_equal(net_conf_filter(&c, NULL, &out, &err), 0);
	assert_int_equal(out.len, 0);
	iface[0] = "1234"; /* an endpoint id */
	assert_int_equal(net_conf_filter(&c, NULL, &out, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "1234"));
	buf_fini(&out);
}

static int no_prefix(void *ctx, const char name[static 16], uint32_t bits)
{
	struct buf *out = ctx;

	buf_printf(out, "%.16s/%u ", name, bits);
	return 0;
}

static void test_setup(void **state)
{
	const char *snap[] = { "64", "drop=0" }, *iface[] = { "eth0,veth*", "lo" }, *odd[] = { "e?h0" };
	struct net_conf c = { .snaplen = list(snap, 2), .iface = list(iface, 2) };
	struct net_setup s;
	struct buf out = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(net_setup_init(&s, &c, &err), 0);
	assert_int_equal(s.snaplen[NET_KIND_TRACE], 64);
	assert_int_equal(s.snaplen[NET_KIND_DROP], NET_SNAP_MAX);
	assert_true(net_setup_iface(&s, "veth12") && net_setup_iface(&s, "lo") && !net_setup_iface(&s, "eth01"));
	assert_true(net_setup_prefixes(&s, no_prefix, &out));
	assert_string_equal(buf_str(&out), "eth0/40 veth/32 lo/24 ");
	net_setup_fini(&s);
	c.iface = list(odd, 1);
	assert_int_equal(net_setup_init(&s, &c, &err), 0);
	assert_false(net_setup_prefixes(&s, no_prefix, &out));
	net_setup_fini(&s);
	for (const char *const *bad = (const char *[]){ "x", "trace=", "food=1", "-1", NULL }; *bad; bad++) {
		snap[0] = *bad;
		assert_int_equal(net_setup_init(&s, &c, &err), -EINVAL);
		assert_non_null(strstr(err.msg, *bad));
		net_setup_fini(&s);
	}
	buf_fini(&out);
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(net_conf_kinds("refused"), 1u << NET_KIND_REFUSED);
	assert_int_equal(net_conf_kinds("drop"), 1u << NET_KIND_DROP);
	assert_int_equal(net_conf_kinds("net.trace"), 1u << NET_KIND_TRACE);
	assert_int_equal(net_conf_kinds("net.*"), 15);
	assert_int_equal(net_conf_kinds("net.mib"), NET_WANT_MIB);
	assert_int_equal(net_conf_kinds("proc.fork"), 0);
}

static void test_refused(void **state)
{
	struct net_refused_rec r = {
		.hdr = { .len = sizeof(r), .type = NET_EV_REFUSED, .flags = SONDE_RF_IDENT, .tgid = 42 },
		.id = { .sock = 9, .netns = 4026531840 },
		.netns = 4026531840, .ifindex = 3, .queue = 5, .limit = 4, .sport = 4711, .dport = 80, .family = 4,
		.cause = NET_REFUSED_ACCEPT_QUEUE, .known = true, .saddr = { 10, 0, 0, 1 }, .daddr = { 10, 0, 0, 2 },
	};
	struct net_unexplained_rec u = {
		.hdr = { .len = sizeof(u), .type = NET_EV_UNEXPLAINED }, .counted = 24, .seen = 23,
		.netns = 4026531840,
	};
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(decode(&s, &r, sizeof(r)), 0);
	assert_int_equal(s.keys.cookie, 9);
	assert_int_equal(s.keys.conn.sport, 4711);
	assert_non_null(strstr(buf_str(&s.text.line),
			       "refused (accept-queue 5 of 4) eth0: 10.0.0.1:4711 -> 10.0.0.2:80 tcp SYN  [42]"));
	seen_fini(&s);
	s = (struct seen){ 0 };
	r.family = 5;
	assert_int_equal(decode(&s, &r, sizeof(r)), -EBADMSG);
	assert_int_equal(decode(&s, &r, sizeof(r.hdr) + sizeof(r.id)), -EBADMSG);
	assert_int_equal(decode(&s, &u, sizeof(u)), 0);
	assert_non_null(strstr(buf_str(&s.text.line), "counted 24, 23 were seen, 1 are unexplained"));
	seen_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace),
		cmocka_unit_test(test_translated),
		cmocka_unit_test(test_both_ends), cmocka_unit_test(test_old_records),
		cmocka_unit_test(test_drop_with_stack),
		cmocka_unit_test(test_drop_without_hops),
		cmocka_unit_test(test_xdp),
		cmocka_unit_test(test_unknown_numbers),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_addresses_become_a_filter),
		cmocka_unit_test(test_setup),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
