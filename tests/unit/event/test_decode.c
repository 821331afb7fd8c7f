// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/json.h"
#include "event/names.h"
#include "sonde/ident_wire.h"

/* ---- a test probe: counts its records and emits them unchanged ---- */

#define TOY_PROBE 0x7f
#define TOY_EVENT SONDE_EV(TOY_PROBE, 1)

struct toy_body { uint32_t number; uint32_t reason; };

static const struct field toy_fields[] = {
	FIELD_ROW(struct toy_body, number, "toy.number", FIELD_UINT, "a number"),
	FIELD_ROW(struct toy_body, reason, "toy.reason", FIELD_NAME, "a reason", .space = SONDE_NAME_DROP_REASON),
};
static const struct event_desc toy_desc = {
	.type = TOY_EVENT, .name = "toy.thing", .fields = toy_fields, .n_fields = ARRAY_SIZE(toy_fields),
	.body_size = sizeof(struct toy_body),
};

struct toy_rec { struct sonde_rec hdr; struct toy_body body; };
struct toy_state { unsigned ticks, observed; };
static struct toy_state toy_seen;	/* the state of the last set when it was freed */

/* The same with an identity block. */
#define TOY_KEYED SONDE_EV(TOY_PROBE, 3)
static const struct event_desc toy_keyed_desc = {
	.type = TOY_KEYED, .name = "toy.keyed", .fields = toy_fields, .n_fields = ARRAY_SIZE(toy_fields),
	.body_size = sizeof(struct toy_body),
};
struct toy_keyed_rec { struct sonde_rec hdr; struct sonde_ident id; struct toy_body body; };

static const struct event_desc *const toy_descs[] = { &toy_desc, &toy_keyed_desc, NULL };

static int toy_tick(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct toy_state *st = em->state;

	(void)r;
	assert_null(ev);
	st->ticks++;
	return 0;
}

static const struct decode_row toy_rows[] = {
	{ TOY_EVENT, &toy_desc },
	{ TOY_KEYED, &toy_keyed_desc, .ident = true },
	{ SONDE_EV_TICK, NULL, toy_tick },
	{ 0 },
};

static void toy_observe(void *state, const struct event *ev)
{
	struct toy_state *st = state;

	assert_ptr_not_equal(ev->desc, &toy_desc);
	assert_ptr_not_equal(ev->desc, &toy_keyed_desc);
	st->observed++;
}

static void toy_fini(void *state)
{
	toy_seen = *(struct toy_state *)state;
}

static const struct decoder_ops toy_decoder = {
	.name = "toy",
	.probe = TOY_PROBE,
	.events = toy_descs,
	.state_size = sizeof(struct toy_state),
	.rows = toy_rows,
	.observe = toy_observe,
	.fini = toy_fini,
};
static const struct decoder_ops *const toys[] = { &toy_decoder, NULL };

/* ---- helpers ---- */

struct seen {
	unsigned n;
	int answer;		/* what emit returns */
	struct buf text;	/* the last event */
	struct buf json;
	int64_t offset;
	uint16_t flags;
	struct event_keys keys;
	const void *body;
};

static int look(void *ctx, struct event *ev)
{
	struct line_opts o = { 0 };
	struct seen *s = ctx;
	struct json j = { .out = &s->json };

	s->n++;
	s->offset = ev->clock_offset_ns;
	s->flags = ev->flags;
	s->keys = ev->keys;
	s->body = ev->body;
	buf_reset(&s->text);
	buf_reset(&s->json);
	event_line(ev, &o, &s->text);
	json_open(&j, '{');
	json_event_fields(&j, ev);
	json_close(&j, '}');
	return s->answer;
}

static void seen_fini(struct seen *s)
{
	buf_fini(&s->text);
	buf_fini(&s->json);
}

static struct decode_set *new_set(void)
{
	struct decode_set *d = NULL;

	assert_int_equal(decode_set_new(toys, &d), 0);
	return d;
}

static struct sonde_rec head(uint16_t type, size_t len)
{
	return (struct sonde_rec){ .ts_ns = 5, .len = (uint32_t)len, .type = type, .tgid = 42, .cpu = 3 };
}

static int give(struct decode_set *d, const void *rec, size_t len, struct seen *s)
{
	return decode_record(d, rec, len, look, s);
}

static int give_name(struct decode_set *d, uint32_t space, uint64_t key, const char *name, struct seen *s)
{
	_Alignas(8) char raw[256];
	struct sonde_name_rec *n = (void *)raw;

	memset(raw, 0, sizeof(raw));
	n->hdr = head(SONDE_EV_NAME, sizeof(*n) + strlen(name));
	n->space = space;
	n->key = key;
	n->name_len = (uint32_t)strlen(name);
	memcpy(n->name, name, strlen(name));
	return give(d, raw, n->hdr.len, s);
}

/* ---- tests ---- */

static void names_arrive_before_the_events_that_use_them(void **state)
{
	struct toy_rec t = { .hdr = head(TOY_EVENT, sizeof(t)), .body = { .number = 7, .reason = 3 } };
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(give(d, &t, sizeof(t), &s), 0);
	assert_string_equal(buf_str(&s.text), "toy.thing number=7 reason=3\n");
	assert_int_equal(give_name(d, SONDE_NAME_DROP_REASON, 3, "NO_SOCKET", &s), 0);
	assert_string_equal(buf_str(&s.text), "sonde.name space=drop_reason key=3 text=NO_SOCKET\n");
	assert_int_equal(give(d, &t, sizeof(t), &s), 0);
	assert_string_equal(buf_str(&s.text), "toy.thing number=7 reason=NO_SOCKET\n");
	assert_string_equal(buf_str(&s.json), "{\"number\":7,\"reason\":\"NO_SOCKET\"}");
	assert_int_equal(give_name(d, SONDE_NAME_DROP_REASON, 3, "", &s), 0);
	assert_int_equal(give(d, &t, sizeof(t), &s), 0);
	assert_string_equal(buf_str(&s.text), "toy.thing number=7 reason=3\n");
	assert_int_equal(give_name(d, SONDE_NAME__MAX, 3, "x", &s), -EBADMSG);
	assert_int_equal(give_name(d, 0, 3, "x", &s), -EBADMSG);
	decode_set_free(d);
	seen_fini(&s);
}

static void clock_records_stamp_what_follows(void **state)
{
	struct sonde_clock_rec c = { .hdr = head(SONDE_EV_CLOCK, sizeof(c)), .offset_ns = -9 };
	struct toy_rec t = { .hdr = head(TOY_EVENT, sizeof(t)) };
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	give(d, &t, sizeof(t), &s);
	assert_int_equal(s.offset, 0);
	assert_int_equal(give(d, &c, sizeof(c), &s), 0);
	assert_string_equal(buf_str(&s.json), "{\"offset_ns\":-9}");
	give(d, &t, sizeof(t), &s);
	assert_int_equal(s.offset, -9);
	decode_set_free(d);
	seen_fini(&s);
}

static void ledger_sums_its_causes(void **state)
{
	struct sonde_ledger_rec l = { .hdr = head(SONDE_EV_LEDGER, sizeof(l)), .seen = 100, .delivered = UINT64_MAX,
				      .lost = { [SONDE_LOST_RING_FULL] = 3, [SONDE_LOST_SINK] = 4 } };
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(give(d, &l, sizeof(l), &s), 0);
	assert_string_equal(buf_str(&s.json),
			    "{\"seen\":100,\"delivered\":18446744073709551615,\"filtered\":0,\"sampled\":0,"
			    "\"lost\":7,\"lost_by\":{\"ring_full\":3,\"sink\":4}}");
	decode_set_free(d);
	seen_fini(&s);
}

static void lost_and_host_say_what_they_carry(void **state)
{
	struct sonde_lost_rec l = { .hdr = head(SONDE_EV_LOST, sizeof(l)), .cause = SONDE_LOST_RECURSION,
				    .count = 12 };
	struct sonde_host_rec h = { .hdr = head(SONDE_EV_HOST, sizeof(h)), .n_cpus = 2, .page_size = 4096,
				    .release = "6.1\x1b[31m" };
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	memset(h.hostname, 'h', sizeof(h.hostname));	/* without a NUL */
	assert_int_equal(give(d, &l, sizeof(l), &s), 0);
	assert_string_equal(buf_str(&s.text), "sonde.lost 12 events (recursion): the hook interrupted itself\n");
	assert_int_equal(give(d, &h, sizeof(h), &s), 0);
	assert_string_equal(buf_str(&s.text), "sonde.host cpus=2 page_size=4096 release=6.1\\e[31m machine= name="
			    "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh\n");
	decode_set_free(d);
	seen_fini(&s);
}

static void ticks_reach_every_decoder_and_others_are_observed(void **state)
{
	struct sonde_rec tick = head(SONDE_EV_TICK, sizeof(tick));
	struct toy_rec t = { .hdr = head(TOY_EVENT, sizeof(t)) };
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	give(d, &t, sizeof(t), &s);
	assert_int_equal(give(d, &tick, sizeof(tick), &s), 0);
	give_name(d, SONDE_NAME_KSYM, 1, "a", &s);
	decode_set_free(d);
	assert_int_equal(s.n, 3);
	assert_int_equal(toy_seen.ticks, 1);
	assert_int_equal(toy_seen.observed, 2);
	seen_fini(&s);
}

/* 10.0.0.1:4711 -> 10.0.0.2:80 tcp SYN, after an Ethernet header. */
static const uint8_t syn[] = {
	2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
	0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	0x12, 0x67, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0,
};

struct packet_case {
	struct seen seen;
	struct line_opts o;
	struct buf text;
	struct event_keys keys;
};

static int look_at_packet(void *ctx, struct event *ev)
{
	struct packet_case *c = ctx;
	const struct sec_packet *p;
	const uint8_t *data;

	c->keys = ev->keys;
	p = event_packet(ev, &data);
	assert_non_null(p);
	assert_int_equal(p->orig_len, 1500);
	assert_int_equal(p->cap_len, sizeof(syn));
	assert_memory_equal(data, syn, sizeof(syn));
	buf_reset(&c->text);
	assert_int_equal(event_line(ev, &c->o, &c->text), 0);
	return look(&c->seen, ev);
}

/* The record of @syn with the comments "one\x1b" and "two". Returns its length. */
static size_t packet_rec(char *raw)
{
	struct sonde_packet_rec *r = (void *)raw;
	size_t len = sizeof(*r) + sizeof(syn) + 8;

	*r = (struct sonde_packet_rec){ .hdr = head(SONDE_EV_PACKET, len), .link = SONDE_LINK_ETHERNET,
					.orig_len = 1500, .cap_len = sizeof(syn), .text_len = 8, .iface = 2,
					.direction = 1 };
	memcpy(r->data, syn, sizeof(syn));
	memcpy(r->data + sizeof(syn), "one\x1b\ntwo", 8);
	return len;
}

static void packets_of_files_have_keys_and_lines(void **state)
{
	struct decode_set *d = new_set();
	struct packet_case c = { 0 };
	_Alignas(8) char raw[256];
	size_t len = packet_rec(raw);

	(void)state;
	assert_int_equal(decode_record(d, raw, len, look_at_packet, &c), 0);
	assert_int_equal(c.keys.conn.sport, 4711);
	assert_int_equal(c.keys.conn.dport, 80);
	assert_int_equal(c.keys.conn.proto, 6);
	assert_memory_equal(c.keys.conn.saddr.addr, "\x0a\0\0\x01", 4);
	assert_string_equal(buf_str(&c.text), "2 in 10.0.0.1:4711 -> 10.0.0.2:80 tcp SYN\n");
	assert_string_equal(buf_str(&c.seen.json), "{\"len\":1500,\"iface\":2,\"direction\":\"in\"}");
	give_name(d, SONDE_NAME_IFACE, names_iface_key(0, 2), "eth0", &c.seen);
	c.o.verbose = 1;
	assert_int_equal(decode_record(d, raw, len, look_at_packet, &c), 0);
	assert_string_equal(buf_str(&c.text),
			    "eth0 in 10.0.0.1:4711 -> 10.0.0.2:80 tcp SYN length 1500 (54 captured)\n"
			    "    # one\\e\n    # two\n");
	c.o.verbose = 2;
	assert_int_equal(decode_record(d, raw, len, look_at_packet, &c), 0);
	assert_non_null(strstr(buf_str(&c.text), "IPv4"));
	decode_set_free(d);
	seen_fini(&c.seen);
	buf_fini(&c.text);
}

static void packet_lengths_are_not_believed(void **state)
{
	struct decode_set *d = new_set();
	struct seen s = { 0 };
	_Alignas(8) char raw[256];
	struct sonde_packet_rec *r = (void *)raw;
	size_t len = packet_rec(raw);

	(void)state;
	r->text_len++;
	assert_int_equal(give(d, raw, len, &s), -EBADMSG);
	packet_rec(raw);
	r->cap_len = UINT32_MAX;
	assert_int_equal(give(d, raw, len, &s), -EBADMSG);
	packet_rec(raw);
	r->direction = 0x0100;
	assert_int_equal(give(d, raw, len, &s), -EBADMSG);
	assert_int_equal(s.n, 0);
	decode_set_free(d);
	seen_fini(&s);
}

/* Every core record truncated at every length: an error each time, and no read past the end (ASan). */
static void short_records_are_refused(void **state)
{
	static const size_t sizes[] = {
		[1] = sizeof(struct sonde_host_rec), [2] = sizeof(struct sonde_clock_rec),
		[3] = sizeof(struct sonde_name_rec),
		[4] = offsetof(struct sonde_ledger_rec, lost) + 8 * sizeof(uint64_t),	/* of the first recordings */
		[5] = sizeof(struct sonde_lost_rec), [6] = sizeof(struct sonde_rec),
		[7] = sizeof(struct sonde_packet_rec),
	};
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	for (uint16_t type = 1; type < ARRAY_SIZE(sizes); type++) {
		for (size_t len = 0; len < sizes[type]; len++) {
			struct sonde_rec r = head(type, len);
			char *exact = calloc(1, len + 1);

			memcpy(exact, &r, MIN(len, sizeof(r)));
			assert_int_equal(give(d, exact, len, &s), -EBADMSG);
			free(exact);
		}
	}
	assert_int_equal(s.n, 0);
	decode_set_free(d);
	seen_fini(&s);
}

/* A record of an older version, without the block, gives the same event but for the keys. */
static void records_decode_alike_with_and_without_a_block(void **state)
{
	struct toy_keyed_rec whole = { .hdr = head(TOY_KEYED, sizeof(whole)), .body = { .number = 7, .reason = 3 },
				       .id = { .image = 9, .sock = 5, .netns = 4, .file = 8,
					       .owner_how = SONDE_HOW_LISTENER } };
	struct toy_rec old = { .hdr = head(TOY_KEYED, sizeof(old)), .body = whole.body };
	struct decode_set *d = new_set();
	struct seen a = { 0 }, b = { 0 };

	(void)state;
	whole.hdr.flags |= SONDE_RF_IDENT;
	assert_int_equal(give(d, &old, sizeof(old), &a), 0);
	assert_int_equal(give(d, &whole, sizeof(whole), &b), 0);
	assert_string_equal(buf_str(&a.text), "toy.keyed number=7 reason=3\n");
	assert_string_equal(buf_str(&b.text), buf_str(&a.text));
	assert_int_equal(a.flags, b.flags);
	assert_int_equal(a.keys.image, 0);
	assert_int_equal(b.keys.image, 9);
	assert_int_equal(b.keys.cookie, 5);
	assert_int_equal(b.keys.netns, 4);
	assert_int_equal(b.keys.file, 8);
	assert_int_equal(b.keys.owner_how, SONDE_HOW_LISTENER);
	assert_ptr_equal(b.body, &whole.body);	/* in place */
	old.hdr.len = sizeof(old) - 1;
	assert_int_equal(give(d, &old, sizeof(old), &a), -EBADMSG);
	decode_set_free(d);
	seen_fini(&a);
	seen_fini(&b);
}

/* A newer version added the block to a type: the keys are read, the decoder sees its own layout. */
static void an_unexpected_block_is_taken_out(void **state)
{
	struct toy_keyed_rec r = { .hdr = head(TOY_EVENT, sizeof(r)), .body = { .number = 7 }, .id.image = 9 };
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	r.hdr.flags |= SONDE_RF_IDENT;
	assert_int_equal(give(d, &r, sizeof(r), &s), 0);
	assert_string_equal(buf_str(&s.text), "toy.thing number=7 reason=0\n");
	assert_int_equal(s.keys.image, 9);
	r.hdr.len = sizeof(r.hdr) + sizeof(r.id) - 1;	/* shorter than its block */
	assert_int_equal(give(d, &r, sizeof(r), &s), -EBADMSG);
	decode_set_free(d);
	seen_fini(&s);
}

static void lengths_and_types_are_checked(void **state)
{
	struct toy_rec t = { .hdr = head(TOY_EVENT, sizeof(t)), .body.number = 1 };
	_Alignas(8) char raw[sizeof(t) + 8];
	struct decode_set *d = new_set();
	struct seen s = { 0 };

	(void)state;
	t.hdr.len = sizeof(t) + 1;
	assert_int_equal(give(d, &t, sizeof(t), &s), -EBADMSG);		/* longer than the data */
	t.hdr.len = sizeof(struct sonde_rec) - 1;
	assert_int_equal(give(d, &t, sizeof(t), &s), -EBADMSG);		/* shorter than a header */
	t.hdr.len = sizeof(t) - 1;
	assert_int_equal(give(d, &t, sizeof(t), &s), -EBADMSG); /* shorter than its body */
	t.hdr.len = sizeof(t);
	t.hdr.type = TOY_EVENT + 1;
	assert_int_equal(give(d, &t, sizeof(t), &s), -ENOSYS);
	t.hdr.type = SONDE_EV(0x55, 1);
	assert_int_equal(give(d, &t, sizeof(t), &s), -ENOSYS);		/* a probe that this build lacks */
	t.hdr.type = SONDE_EV(0, 0xff);
	assert_int_equal(give(d, &t, sizeof(t), &s), -ENOSYS);
	t.hdr.type = TOY_EVENT;
	for (size_t shift = 0; shift < 8; shift++) {			/* unaligned: copied */
		memcpy(raw + shift, &t, sizeof(t));
		assert_int_equal(give(d, raw + shift, sizeof(t), &s), 0);
	}
	assert_int_equal(s.n, 8);
	s.answer = -EPIPE;
	assert_int_equal(give(d, &t, sizeof(t), &s), -EPIPE);
	decode_set_free(d);
	seen_fini(&s);
}

static void rows_of_another_probe_or_a_type_twice_are_refused(void **state)
{
	static const struct decode_row other[] = { { SONDE_EV(TOY_PROBE + 1, 1), &toy_desc }, { 0 } };
	static const struct decode_row twice[] = { { TOY_EVENT, &toy_desc }, { TOY_EVENT, &toy_desc }, { 0 } };
	struct decoder_ops ops = toy_decoder;
	const struct decoder_ops *const set[] = { &ops, NULL };
	struct decode_set *d = NULL;

	(void)state;
	ops.fini = NULL;
	ops.rows = other;
	assert_int_equal(decode_set_new(set, &d), -EINVAL);
	ops.rows = twice;
	assert_int_equal(decode_set_new(set, &d), -EEXIST);
	assert_null(d);
}

static void two_decoders_of_one_probe_are_refused(void **state)
{
	const struct decoder_ops *const twice[] = { &toy_decoder, &toy_decoder, NULL };
	struct decode_set *d = NULL;

	(void)state;
	assert_int_equal(decode_set_new(twice, &d), -EEXIST);
	assert_null(d);
}

static void names_keep_their_budget(void **state)
{
	struct names *n = event_names_new();
	char big[4096];
	uint64_t key = 0;
	int r = 0;

	(void)state;
	memset(big, 'x', sizeof(big));
	while (key < 10000 && !(r = event_names_set(n, 1, key, big, sizeof(big))))
		key++;
	assert_int_equal(r, -ENOSPC);
	assert_in_range(key, 3900, 4096);
	assert_null(event_names_get(n, 1, key));
	assert_int_equal(event_names_set(n, 1, 0, "", 0), 0);
	assert_int_equal(event_names_set(n, 1, key, "last", 4), 0);
	assert_string_equal(event_names_get(n, 1, key), "last");
	assert_null(event_names_get(n, 2, key));
	assert_null(event_names_get(NULL, 1, 1));
	event_names_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_arrive_before_the_events_that_use_them),
		cmocka_unit_test(clock_records_stamp_what_follows),
		cmocka_unit_test(ledger_sums_its_causes),
		cmocka_unit_test(lost_and_host_say_what_they_carry),
		cmocka_unit_test(ticks_reach_every_decoder_and_others_are_observed),
		cmocka_unit_test(packets_of_files_have_keys_and_lines),
		cmocka_unit_test(packet_lengths_are_not_believed),
		cmocka_unit_test(short_records_are_refused),
		cmocka_unit_test(records_decode_alike_with_and_without_a_block),
		cmocka_unit_test(an_unexpected_block_is_taken_out),
		cmocka_unit_test(lengths_and_types_are_checked),
		cmocka_unit_test(rows_of_another_probe_or_a_type_twice_are_refused),
		cmocka_unit_test(two_decoders_of_one_probe_are_refused),
		cmocka_unit_test(names_keep_their_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
