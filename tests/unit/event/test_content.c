// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records without content: every type has a rule, no byte of a payload or an argument remains, and the result
 * decodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/decode.h"
#include "event/event.h"
#include "packet/packet.h"
#include "probes/gohttp2/gohttp2_wire.h"
#include "probes/net/net_wire.h"
#include "probes/sys/sys_wire.h"

#define SECRET "sEcReT"
#define GOHTTP2_FRAME SONDE_EV(5, 1)
#define GOHTTP2_LOG SONDE_EV(5, 13)

static struct decode_set *set;

static int setup(void **state)
{
	(void)state;
	return decode_set_new(all_decoders, &set);
}

static int teardown(void **state)
{
	(void)state;
	decode_set_free(set);
	return 0;
}

static bool has_secret(const void *data, size_t len)
{
	return memmem(data, len, SECRET, strlen(SECRET)) != NULL;
}

static int ignore(_unused_ void *ctx, _unused_ struct event *ev)
{
	return 0;
}

/* Hides the content of @b's record and of all its prefixes; the whole one still decodes. Returns the bytes left. */
static size_t hide(struct buf *b)
{
	struct sonde_rec *whole = malloc(b->len);
	size_t left;

	assert_non_null(whole);
	for (size_t len = sizeof(*whole); len <= b->len; len++) {
		struct sonde_rec *r = malloc(len);	/* exact allocation: a sanitizer reports reads past the end */

		memcpy(r, b->data, len);
		r->len = (uint32_t)len;
		if (decode_hide_content(set, r) == 0) {
			assert_true(r->len <= len);
			assert_false(has_secret(r, r->len));
		}
		free(r);
	}
	memcpy(whole, b->data, b->len);
	whole->len = (uint32_t)b->len;
	assert_int_equal(decode_hide_content(set, whole), 0);
	assert_int_equal(decode_record(set, whole, whole->len, ignore, NULL), 0);
	left = whole->len;
	free(whole);
	buf_fini(b);
	return left;
}

static void begin(struct buf *b, void *rec, size_t len, uint16_t type)
{
	struct sonde_rec *r = rec;

	*b = (struct buf){ 0 };
	r->type = type;
	r->flags = SONDE_RF_IDENT;
	r->tgid = r->tid = 7;
	r->start_ns = 1;
	buf_add(b, rec, len);
}

static void test_every_type_has_a_rule(void **state)
{
	size_t pos = 0, n = 0;
	const struct event_desc *d;

	(void)state;
	while ((d = registry_next(decode_set_registry(set), &pos))) {
		const struct decoder_ops *const *ops = all_decoders;
		const struct content_rule *rule = core_decoder.content;

		while (*ops && (*ops)->probe != d->type >> 8)
			ops++;
		if (*ops)
			rule = (*ops)->content;
		assert_non_null(rule);
		while (rule->type && rule->type != d->type)
			rule++;
		n += rule->type == d->type;	/* types without records are made by decoders */
	}
	assert_true(n >= 30);
}

/* ---- packets ---- */

static const uint8_t udp[] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
	0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	0x13, 0x88, 0, 9, 0, 20, 0, 0, 's', 'E', 'c', 'R', 'e', 'T', 's', 'E', 'c', 'R', 'e', 'T',
};
/* An error that quotes a packet. */
static const uint8_t icmp[] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
	0x45, 0, 0, 62, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 3, 3, 0, 0, 0, 0, 0, 0,
	0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88, 0, 9, 0, 20, 0, 0,
	's', 'E', 'c', 'R', 'e', 'T',
};
/* A later fragment: everything after the IP header is payload. */
static const uint8_t fragment[] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
	0x45, 0, 0, 26, 0, 0, 0, 9, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 's', 'E', 'c', 'R', 'e', 'T',
};
static const uint8_t unknown[] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 's', 'E', 'c', 'R', 'e', 'T',
};

static void test_packets_keep_their_headers(void **state)
{
	static const struct { const uint8_t *data; size_t len, headers; } rows[] = {
		{ udp, sizeof(udp), 42 }, { icmp, sizeof(icmp), 42 }, { fragment, sizeof(fragment), 34 },
		{ unknown, sizeof(unknown), 14 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_rec r = {
			.link = SONDE_LINK_ETHERNET, .orig_len = (uint32_t)rows[i].len, .n_stack = 2,
			.cap_len = (uint32_t)rows[i].len, .translated = 1,
		};
		const struct sonde_tuple origin = { .family = 4 };
		const uint64_t stack[2] = { 1, 2 };
		struct buf b;

		assert_int_equal(packet_headers_len(r.link, rows[i].data, r.cap_len, r.cap_len), rows[i].headers);
		begin(&b, &r, sizeof(r), NET_EV_DROP);
		((struct sonde_rec *)b.data)->flags |= SONDE_RF_IDENT;
		buf_add(&b, rows[i].data, rows[i].len);
		buf_align(&b, 8);
		buf_add(&b, stack, sizeof(stack));
		buf_add(&b, &origin, sizeof(origin));
		assert_int_equal(hide(&b), sizeof(r) + ROUND_UP(rows[i].headers, 8) + sizeof(stack) +
					   sizeof(origin));
	}
}

static void test_only_a_sure_owner_owns(void **state)
{
	struct net_rec r = { .hdr = { .type = NET_EV_DROP, .flags = SONDE_RF_IDENT, .len = sizeof(r), .tgid = 7 } };

	(void)state;
	r.id.owner_how = SONDE_HOW_SKB;
	assert_true(decode_owner_sure(set, &r.hdr));
	r.owner_foreign = 1;
	assert_false(decode_owner_sure(set, &r.hdr));
	r.owner_foreign = 0;
	r.hdr.tgid = 0;
	assert_false(decode_owner_sure(set, &r.hdr));
}

/* ---- calls ---- */

static void add_chunk(struct buf *b, uint8_t what, const void *data, size_t len)
{
	const struct sys_chunk c = { .arg = 1, .what = what, .len = (uint32_t)len };

	buf_add(b, &c, sizeof(c));
	buf_add(b, data, len);
	buf_align(b, 8);
}

static void test_calls_keep_numbers(void **state)
{
	static const char text[] = SECRET SECRET SECRET;
	struct { struct sys_proc p; char text[48]; } proc = {
		.p = { .exe_len = 4, .cwd_len = 6, .name_len = 6, .args_len = 6, .env_len = 6, .cgroup_len = 4 },
		.text = "/exe" SECRET SECRET SECRET SECRET "cgrp",
	};
	struct sys_sock sock = { .family = 1, .path = SECRET };
	const struct sys_file file = { .ino = 1 };
	struct sys_rec r = { .hdr.flags = SONDE_RF_IDENT, .n_args = 3, .args = { 1, 2, 3 } };
	struct buf b, chunks = { 0 };

	(void)state;
	for (unsigned what = 1; what < SYS_CHUNK__MAX + 2; what++) {
		if (what == SYS_CHUNK_SOCK)
			add_chunk(&chunks, what, &sock, sizeof(sock));
		else if (what == SYS_CHUNK_FILE)
			add_chunk(&chunks, what, &file, sizeof(file));
		else if (what == SYS_CHUNK_PROC)
			add_chunk(&chunks, what, &proc, sizeof(proc.p) + 32);
		else if (what != SYS_CHUNK_IOV && what != SYS_CHUNK_MSGHDR)
			add_chunk(&chunks, what, text, sizeof(text) - 1);
	}
	r.chunks_len = (uint16_t)chunks.len;
	begin(&b, &r, sizeof(r), SONDE_EV(4, 1));
	buf_add(&b, chunks.data, chunks.len);
	buf_fini(&chunks);
	assert_int_equal(hide(&b), sizeof(r) + 3 * sizeof(struct sys_chunk) + sizeof(sock) + sizeof(file) +
			 ROUND_UP(sizeof(proc.p) + 8, 8));
}

static void add_field(struct buf *b, uint8_t header, const char *name, const char *value)
{
	const struct gohttp2_field f = {
		.header = header,
		.name_len = (uint8_t)strlen(name),
		.value_len = (uint16_t)strlen(value),
	};

	buf_add(b, &f, sizeof(f));
	buf_add_str(b, name);
	buf_add_str(b, value);
}

static void test_messages_keep_their_status(void **state)
{
	struct gohttp2_frame_rec r = {
		.conn = 1, .stream = 1, .what = GOHTTP2_WHAT_HEADERS, .side = GOHTTP2_SIDE_CLIENT
	};
	struct buf b, fields = { 0 };

	(void)state;
	for (uint8_t h = 0; h < GOHTTP2_H__MAX; h++)
		if (h != GOHTTP2_H_STATUS && h != GOHTTP2_H_GRPC_STATUS && h != GOHTTP2_H_METHOD)
			add_field(&fields, h, h ? "" : "x-" SECRET, SECRET);
	add_field(&fields, GOHTTP2_H_GRPC_STATUS, "", "5");
	add_field(&fields, GOHTTP2_H_PAYLOAD, "", SECRET);
	r.n_fields = GOHTTP2_H__MAX;
	r.fields_len = (uint16_t)fields.len;
	begin(&b, &r, sizeof(r), GOHTTP2_FRAME);
	buf_add(&b, fields.data, fields.len);
	buf_fini(&fields);
	assert_int_equal(hide(&b), sizeof(r) + sizeof(struct gohttp2_field) + 1);
}

static void test_logs_keep_their_size(void **state)
{
	struct gohttp2_log_rec r = { .written = 100, .data_len = sizeof(SECRET) - 1 };
	struct buf b;

	(void)state;
	begin(&b, &r, sizeof(r), GOHTTP2_LOG);
	buf_add_str(&b, SECRET);
	assert_int_equal(hide(&b), sizeof(r));
}

/* ---- events ---- */

struct body { char text[8], name[8]; uint32_t number; };

static const struct field fields[] = {
	FIELD_ROW(struct body, text, "x.text", FIELD_STR, "content"),
	FIELD_ROW(struct body, name, "x.name", FIELD_STR, "none", .flags = FIELD_OPEN),
	FIELD_ROW(struct body, number, "x.number", FIELD_UINT, "a number"),
	FIELD_ROW(struct body, name, "x.other", FIELD_STR, "another's", .flags = FIELD_OTHERS),
};
static const struct event_desc desc = {
	.name = "x", .fields = fields, .n_fields = ARRAY_SIZE(fields), .body_size = sizeof(struct body),
};

static void test_texts_are_hidden_and_numbers_are_not(void **state)
{
	static const int expected[HIDE__MAX][4] = {
		[HIDE_OTHERS] = { 0, 0, 0, -ENOENT }, [HIDE_CONTENT] = { -ENOENT, 0, 0, -ENOENT },
	};
	struct body body = { .text = SECRET, .name = "name", .number = 1 };
	struct event ev = { .desc = &desc, .body = &body, .body_len = sizeof(body) };
	struct value v;

	(void)state;
	for (unsigned hide_ = 0; hide_ < HIDE__MAX; hide_++) {
		ev.hide = (uint8_t)hide_;
		for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
			assert_int_equal(event_get(&ev, &fields[i], &v), expected[hide_][i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_has_a_rule),
		cmocka_unit_test(test_packets_keep_their_headers),
		cmocka_unit_test(test_only_a_sure_owner_owns),
		cmocka_unit_test(test_calls_keep_numbers),
		cmocka_unit_test(test_messages_keep_their_status),
		cmocka_unit_test(test_logs_keep_their_size),
		cmocka_unit_test(test_texts_are_hidden_and_numbers_are_not),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
