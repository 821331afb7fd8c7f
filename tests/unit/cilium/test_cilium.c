// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cilium's notifications against the output of Cilium's own code (tests/data/cilium/vectors.jsonl). Each case left
 * out names the defect of the client that makes it differ.
 */
#include <errno.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "cilium/gob.h"
#include "cilium/kdrops.h"
#include "cilium/names.h"
#include "cilium/print.h"

#define VECTORS TEST_DATA "/cilium/vectors.jsonl"
#define VECTORS_2 TEST_DATA "/cilium/vectors-2.jsonl"

typedef void (*vector_fn)(struct json_object *v, void *ctx);

static void each_vector_of(const char *path, vector_fn fn, void *ctx)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;

	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		struct json_object *v = json_tokener_parse(line);

		assert_non_null(v);
		fn(v, ctx);
		json_object_put(v);
	}
	free(line);
	fclose(f);
}

static void each_vector(vector_fn fn, void *ctx)
{
	each_vector_of(VECTORS, fn, ctx);
}

static const char *text_of(struct json_object *v, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(v, key, &member) ? json_object_get_string(member) : NULL;
}

static int64_t number_of(struct json_object *v, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(v, key, &member) ? json_object_get_int64(member) : 0;
}

static size_t from_hex(const char *hex, uint8_t **ret)
{
	size_t len = strlen(hex) / 2;

	*ret = malloc(len ?: 1);
	assert_non_null(*ret);
	for (size_t i = 0; i < len; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		(*ret)[i] = (uint8_t)byte;
	}
	return len;
}

static bool iface_name(void *ctx, uint32_t ifindex, char name[static 16])
{
	(void)ctx;
	if (ifindex != 1 && ifindex != 2)
		return false;
	snprintf(name, 16, "%s", ifindex == 1 ? "lo" : "eth0");
	return true;
}

/* ---- text and JSON ---- */

static const struct level {
	const char *key;
	struct cilium_print o;
} levels[] = {
	{ "text", { .iface = iface_name } },
	{ "text_numeric", { .iface = iface_name, .numeric = true } },
	{ "verbose", { .iface = iface_name, .verbose = 1 } },
	{ "vv", { .iface = iface_name, .verbose = 2 } },
	{ "vv_hex", { .iface = iface_name, .verbose = 2, .hex = true } },
	{ "json", { .iface = iface_name, .json = true } },
};

/* Release 1.20 of the client misreads these; each is compared with the output of release 1.18. */
static bool is_of_old_client(const char *name)
{
	static const char *const prefixes[] = {
		"pv32-",	/* the struct grew without a new version: the client takes the packet 8 bytes too
				 * late */
		"sock38-",	/* the old layout: the client refuses it */
		"recorder-",	/* removed in 1.19: an unknown event */
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Exclusions, one by one. */
static const char *why_excluded(const char *name, const char *key)
{
	static const struct { const char *name, *key, *why; } rows[] = {
		{ "debug-66", "", "its list lacks 66, so it prints the text of 67" },
		{ "debug-67", "", "shifted by one" },
		{ "debug-68", "", "shifted by one" },
		{ "drop-v3-vrrp", "vv", "it never empties its list of VRRP addresses between packets" },
		{ "drop-v3-vrrp", "json", "likewise" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(name, rows[i].name) && (!rows[i].key[0] || !strcmp(key, rows[i].key)))
			return rows[i].why;
	return NULL;
}

/* Its -vv of a capture has no newline after the header. */
static void mend_capture(const char *want, struct buf *out)
{
	const char *rule_end = strchr(want, '\n'), *layers = NULL;

	buf_add_str(out, "");
	if (rule_end) {
		layers = strstr(rule_end, "Ethernet\t");
		layers = layers ?: strstr(rule_end, "00000000  ");
	}
	if (!layers) {
		buf_add_str(out, want);
		if (*want)
			buf_add_str(out, "\n");
		return;
	}
	buf_add(out, want, (size_t)(layers - want));
	buf_add_char(out, '\n');
	buf_add_str(out, layers);
}

struct tally {
	unsigned equal, excluded, wrong;
};

/* Output of release 1.20, or of 1.18 where only that is right; NULL = not compared. */
static const char *wanted(struct json_object *v, const char *name, const char *key)
{
	const char *want = text_of(v, key), *release = text_of(v, "release"), *other_text;
	struct json_object *other;
	bool is_drop_level = number_of(v, "type") == CILIUM_RECORD_SAMPLE && !strncmp(text_of(v, "hex"), "01", 2) &&
			     !strncmp(key, "vv", 2);

	/* For drops the client inverts --hex. */
	if (is_drop_level)
		key = strcmp(key, "vv") ? "vv" : "vv_hex";
	want = text_of(v, key);
	if (!strcmp(release, "1.20") || is_of_old_client(name))
		return want;
	if (!json_object_object_get_ex(v, "other_release", &other))
		return want;
	other_text = text_of(other, key);
	return other_text ?: want;
}

static void compare(struct json_object *v, const struct cilium_payload *p, const struct level *l, struct tally *t)
{
	_cleanup_(buf_fini) struct buf got = { 0 }, mended = { 0 };
	const char *name = text_of(v, "name"), *want = wanted(v, name, l->key);

	if (why_excluded(name, l->key)) {
		t->excluded++;
		return;
	}
	if (!strncmp(name, "capture-", 8) && !strncmp(l->key, "vv", 2)) {
		mend_capture(want, &mended);
		want = buf_str(&mended);
	}
	assert_int_equal(cilium_print(p, &l->o, &got), 0);
	if (!strcmp(buf_str(&got), want)) {
		t->equal++;
		return;
	}
	t->wrong++;
	fprintf(stderr, "%s, %s:\n want %s\n  got %s\n", name, l->key, want, buf_str(&got));
}

static void print_vector(struct json_object *v, void *ctx)
{
	struct cilium_payload p = { 0 };
	uint8_t *data = NULL;

	if (!text_of(v, "hex"))
		return;
	p.len = from_hex(text_of(v, "hex"), &data);
	p.data = data;
	p.cpu = number_of(v, "cpu");
	p.lost = (uint64_t)number_of(v, "lost");
	p.type = number_of(v, "type");
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		compare(v, &p, &levels[i], ctx);
	free(data);
}

static void prints_what_the_client_prints(void **state)
{
	struct tally t = { 0 };

	(void)state;
	each_vector(print_vector, &t);
	print_message("%u equal, %u excluded\n", t.equal, t.excluded);
	assert_int_equal(t.wrong, 0);
	assert_true(t.equal > 1200);
}

static void prints_what_release_1_20_prints(void **state)
{
	struct tally t = {0};

	(void)state;
	each_vector_of(VECTORS_2, print_vector, &t);
	assert_int_equal(t.wrong, 0);
	assert_int_equal(t.excluded, 0);
	assert_int_equal(t.equal, 509 * ARRAY_SIZE(levels));
}

/* ---- gob ---- */

static void encode_payloads(struct json_object *v, struct buf *out)
{
	struct json_object *list;

	assert_true(json_object_object_get_ex(v, "payloads", &list));
	gob_put_payload_type(out);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i), *lost;
		struct cilium_payload p = { .cpu = number_of(one, "cpu"), .type = number_of(one, "type") };
		uint8_t *data;

		assert_true(json_object_object_get_ex(one, "lost", &lost));
		p.lost = json_object_get_uint64(lost);
		p.len = from_hex(text_of(one, "data"), &data);
		p.data = data;
		gob_put_payload(out, &p, false);
		free(data);
	}
}

static void encode_vector(struct json_object *v, void *ctx)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	uint8_t *want;
	size_t len;

	if (!text_of(v, "gob_hex"))
		return;
	len = from_hex(text_of(v, "gob_hex"), &want);
	encode_payloads(v, &out);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, want, len);
	free(want);
	++*(unsigned *)ctx;
}

/* Feeds the first @split bytes, then the rest, as a socket may deliver them. Returns the number of payloads. */
static size_t decode_split(struct json_object *payloads, const uint8_t *data, size_t len, size_t split)
{
	_cleanup_(arena_fini) struct arena mem = { 0 };
	struct gob *g = gob_new();
	size_t at = 0, n, found = 0;

	for (size_t have = split; have <= len; have = have < len ? len : len + 1) {
		while (gob_message_len(data + at, have - at, &n) == 0 && n && n <= have - at) {
			struct json_object *want = json_object_array_get_idx(payloads, found), *lost;
			struct cilium_payload p;
			struct gob_value *v;
			struct err err = { 0 };

			assert_int_equal(gob_message(g, data + at, n, &mem, &v, &err), 0);
			at += n;
			if (!v)
				continue;
			assert_int_equal(gob_get_payload(v, &p), 0);
			assert_true(json_object_object_get_ex(want, "lost", &lost));
			assert_int_equal(p.cpu, number_of(want, "cpu"));
			assert_int_equal(p.type, number_of(want, "type"));
			assert_true(p.lost == json_object_get_uint64(lost));
			assert_int_equal(p.len, strlen(text_of(want, "data")) / 2);
			found++;
		}
	}
	assert_int_equal(at, len);
	gob_free(g);
	return found;
}

static void decode_vector(struct json_object *v, void *ctx)
{
	struct json_object *payloads;
	uint8_t *data;
	size_t len;

	if (!text_of(v, "gob_hex"))
		return;
	assert_true(json_object_object_get_ex(v, "payloads", &payloads));
	len = from_hex(text_of(v, "gob_hex"), &data);
	for (size_t split = 0; split < MIN(len, (size_t)1000); split++)
		assert_int_equal(decode_split(payloads, data, len, split), json_object_array_length(payloads));
	free(data);
	++*(unsigned *)ctx;
}

static void encodes_as_go_does(void **state)
{
	unsigned n = 0;

	(void)state;
	each_vector(encode_vector, &n);
	assert_int_equal(n, 7);
}

static void decodes_what_go_writes_split_anywhere(void **state)
{
	unsigned n = 0;

	(void)state;
	each_vector(decode_vector, &n);
	assert_int_equal(n, 7);
}

static void explicit_cpu_zero_is_understood(void **state)
{
	_cleanup_(arena_fini) struct arena mem = { 0 };
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct cilium_payload p = { .data = (const uint8_t *)"x", .len = 1, .type = CILIUM_RECORD_SAMPLE }, back;
	struct gob *g = gob_new();
	struct gob_value *v;

	(void)state;
	gob_put_payload_type(&out);
	gob_put_payload(&out, &p, true);
	assert_int_equal(gob_stream(g, (const uint8_t *)out.data, out.len, &mem, &v, NULL), 0);
	assert_int_equal(gob_get_payload(v, &back), 0);
	assert_int_equal(back.cpu, 0);
	assert_int_equal(back.type, CILIUM_RECORD_SAMPLE);
	gob_free(g);
}

/* The smallest int64 as a type id has no positive counterpart. */
static void smallest_type_id_is_refused(void **state)
{
	static const uint8_t message[] = { 9, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	_cleanup_(arena_fini) struct arena mem = { 0 };
	struct gob *g = gob_new();
	struct gob_value *v;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(gob_message(g, message, sizeof(message), &mem, &v, &err), -EBADMSG);
	assert_null(v);
	assert_non_null(strstr(err.msg, "-9223372036854775808"));
	gob_free(g);
}

/* ---- the reverse: bytes of the newest layouts ---- */

static bool is_newest(const char *name, const struct cilium_notify *n)
{
	switch (n->type) {
	case CILIUM_DROP: return n->version == 3;
	case CILIUM_TRACE: return n->version == 2;
	case CILIUM_DEBUG: return true;
	case CILIUM_CAPTURE: return n->version == 1;
	case CILIUM_POLICY: return strncmp(name, "pv32-", 5) != 0;
	case CILIUM_SOCK: return strncmp(name, "sock38-", 7) != 0;
	default: return false;
	}
}

static void encode_notify(struct json_object *v, void *ctx)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const char *name = text_of(v, "name"), *hex = text_of(v, "hex");
	struct cilium_notify n;
	uint8_t *data;
	size_t len;

	if (!hex || number_of(v, "type") != CILIUM_RECORD_SAMPLE)
		return;
	len = from_hex(hex, &data);
	if (cilium_notify_decode(data, len, &n, NULL) == 0 && is_newest(name, &n) && n.pkt.len == n.pkt.cap_len) {
		assert_int_equal(cilium_encode(&n, &out), 0);
		if (out.len != len || memcmp(out.data, data, len))
			fail_msg("%s does not come back as it was", name);
		++*(unsigned *)ctx;
	}
	free(data);
}

static void newest_layouts_come_back_as_they_were(void **state)
{
	unsigned n = 0;

	(void)state;
	each_vector(encode_notify, &n);
	print_message("%u notifications\n", n);
	assert_true(n > 120);
}

static void old_kinds_are_not_made(void **state)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const struct cilium_notify recorder = { .type = CILIUM_RECORDER }, agent = { .type = CILIUM_AGENT };

	(void)state;
	assert_int_equal(cilium_encode(&recorder, &out), -ENOSYS);
	assert_int_equal(cilium_encode(&agent, &out), -ENOSYS);
	assert_int_equal(out.len, 0);
}

/* ---- the kernel's drop reasons ---- */

static void drop_reasons_have_codes(void **state)
{
	(void)state;
	assert_int_equal(cilium_kdrops_code("NETFILTER_DROP", 14), 133);
	assert_int_equal(cilium_kdrops_code("NO_SOCKET_AND_MORE", 9), 178);
	assert_int_equal(cilium_kdrops_code("NO_SOCKE", 8), CILIUM_DROP_OTHER);
	assert_int_equal(cilium_kdrops_code("NO_SOCKET_", 10), CILIUM_DROP_OTHER);
	assert_int_equal(cilium_kdrops_code("NOT_SPECIFIED", 13), CILIUM_DROP_OTHER);
	assert_int_equal(cilium_kdrops_code("", 0), CILIUM_DROP_OTHER);
	assert_int_equal(cilium_kdrops_code(NULL, 0), CILIUM_DROP_OTHER);
	assert_int_equal(cilium_kdrops_code_of_text("TTL exceeded", 12), 196);
	assert_int_equal(cilium_kdrops_code_of_text("TTL exceeded", 3), CILIUM_DROP_OTHER);
	assert_int_equal(cilium_kdrops_code_of_text(NULL, 0), CILIUM_DROP_OTHER);
	for (size_t i = 0; i < n_kdrop_rows; i++) {
		const char *name = kdrop_rows[i].name;

		assert_int_equal(cilium_kdrops_code(name, strlen(name)), kdrop_rows[i].code);
		assert_non_null(cilium_names_drop_reason(kdrop_rows[i].code));
	}
}

/* ---- samples with the padding of a ring ---- */

static void pad_vector(struct json_object *v, void *ctx)
{
	_cleanup_(buf_fini) struct buf exact = { 0 }, padded = { 0 };
	const struct cilium_print o = { .iface = iface_name };
	const char *name = text_of(v, "name"), *hex = text_of(v, "hex");
	struct cilium_payload p = { .type = CILIUM_RECORD_SAMPLE };
	uint8_t *data;
	size_t len, padded_len;

	if (!hex || (strncmp(name, "pv", 2) && strncmp(name, "trace-v", 7) && strncmp(name, "drop-v", 6)))
		return;
	if (strstr(name, "short") || strstr(name, "cut"))
		return;
	len = from_hex(hex, &data);
	padded_len = ROUND_UP(len + 4, (size_t)8) - 4;
	data = realloc(data, padded_len);
	assert_non_null(data);
	memset(data + len, 0xa5, padded_len - len);
	p.data = data;
	p.len = len;
	cilium_print(&p, &o, &exact);
	p.len = padded_len;
	cilium_print(&p, &o, &padded);
	assert_string_equal(buf_str(&exact), buf_str(&padded));
	free(data);
	++*(unsigned *)ctx;
}

static void ring_padding_changes_nothing(void **state)
{
	unsigned n = 0;

	(void)state;
	each_vector(pad_vector, &n);
	assert_true(n > 60);
}

static void agents_records_are_read_as_cilium_prints_them(void **state)
{
	struct cilium_call c = {
		.asks = { .addr = "10.0.0.1", .port = 51000, .identity = 2 },
		.answers = { .addr = "10.0.0.2", .port = 443, .identity = 1 }, .server = true, .code = 200,
		.method = "POST", .method_len = 4, .url = "/pkg.Echo/Unary", .url_len = 15,
		.timestamp = "2026-11-21T13:00:00.000000001Z",
	};
	struct buf out = { 0 }, text = { 0 };

	(void)state;
	cilium_gob_put_call(&out, &c);
	assert_int_equal((uint8_t)out.data[0], CILIUM_L7);
	assert_true(cilium_l7_put(&text, (const uint8_t *)out.data, out.len, false));
	buf_add_char(&text, '\0');
	assert_string_equal(text.data, "<- Response http to 0 ([]) from 0 ([]), identity 1->2, verdict Forwarded "
			    "POST /pkg.Echo/Unary => 200\n");
	buf_reset(&out);
	buf_reset(&text);
	c.method_len = c.url_len = 0;	/* unknown fields are absent */
	c.code = 0;
	cilium_gob_put_call(&out, &c);
	assert_true(cilium_l7_put(&text, (const uint8_t *)out.data, out.len, true));
	buf_reset(&out);
	buf_reset(&text);
	cilium_gob_put_agent(&out, CILIUM_AGENT_MESSAGE, "{\"message\":\"x\"}");
	assert_int_equal((uint8_t)out.data[0], CILIUM_AGENT);
	assert_true(cilium_l7_put_agent(&text, (const uint8_t *)out.data, out.len, false));
	buf_add_char(&text, '\0');
	assert_string_equal(text.data, ">> Message: {\"message\":\"x\"}\n");
	buf_fini(&out);
	buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_the_client_prints),
		cmocka_unit_test(prints_what_release_1_20_prints),
		cmocka_unit_test(encodes_as_go_does),
		cmocka_unit_test(decodes_what_go_writes_split_anywhere),
		cmocka_unit_test(explicit_cpu_zero_is_understood),
		cmocka_unit_test(smallest_type_id_is_refused),
		cmocka_unit_test(newest_layouts_come_back_as_they_were),
		cmocka_unit_test(old_kinds_are_not_made),
		cmocka_unit_test(drop_reasons_have_codes),
		cmocka_unit_test(ring_padding_changes_nothing),
		cmocka_unit_test(agents_records_are_read_as_cilium_prints_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
