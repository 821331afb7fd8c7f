// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests of Hubble's clients: filters as expressions that the parser accepts, what is refused; the ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "event/names.h"
#include "hubble/hubble_request.h"
#include "hubble/hubble_ring.h"
#include "probe/probe.h"
#include "base/protobuf/protobuf.h"
#include "sonde/wire.h"

enum { BLACKLIST = 5, WHITELIST = 6 };

static struct registry *all_types(void)
{
	struct registry *reg = registry_new();

	for (size_t i = 0; all_decoders[i]; i++)
		assert_int_equal(registry_add(reg, all_decoders[i]->events), 0);
	return reg;
}

static int parse_of(const struct buf *request, struct hubble_request *ret, struct err *err)
{
	return hubble_request_parse(request->data, request->len, ret, err);
}

/* A request with one filter of one field, which is a message or a string, or a number. */
static int parse_filter(uint32_t field, const void *data, size_t len, uint64_t number, struct hubble_request *ret,
			struct err *err)
{
	struct buf filter = { 0 }, request = { 0 };
	int r;

	if (data)
		protobuf_bytes(&filter, field, data, len);
	else
		protobuf_uint(&filter, field, number);
	protobuf_bytes(&request, WHITELIST, filter.data, filter.len);
	r = parse_of(&request, ret, err);
	buf_fini(&filter);
	buf_fini(&request);
	return r;
}

static void expect_words(uint32_t field, const void *data, size_t len, uint64_t number, const char *words)
{
	struct registry *reg = all_types();
	struct hubble_request q = { 0 };
	struct filter *f = NULL;
	struct err err = { 0 };

	if (parse_filter(field, data, len, number, &q, &err) < 0)
		fail_msg("field %u: %s", field, err.msg);
	if (filter_parse(reg, buf_str(&q.where), &f, &err) < 0)
		fail_msg("field %u: %s", field, err.msg);
	if (!strstr(buf_str(&q.where), words))
		fail_msg("field %u: %s", field, buf_str(&q.where));
	filter_free(f);
	hubble_request_fini(&q);
	registry_free(reg);
}

static void test_fields_are_words(void **state)
{
	static const struct { uint32_t field; const char *text, *words; } texts[] = {
		{ 1, "10.0.0.0/8", "conn.src = 10.0.0.0/8" }, { 3, "::1", "conn.dst = ::1" },
		{ 34, "10.1.2.3", "nat.sip = 10.1.2.3" },
		{ 2, "web/api", "k8s.pod startswith 'api' and k8s.ns='web'" },
		{ 4, "/api", "startswith 'api' and owner.end=dst" }, { 2, "web/", "k8s.ns='web' and owner.end=src" },
		{ 7, "*.example.org", "dns.sname glob '*.example.org'" }, { 8, "a.b.", "dns.dname glob 'a.b'" },
		{ 12, "TCP", "fd.l4proto=tcp" }, { 12, "icmp", "(icmp, icmpv6)" },
		{ 13, "80", "conn.sport = 80" }, { 14, "443", "conn.dport = 443" },
		{ 23, "\x10\x01\x28\x01", "tcp.flags contains 'SYN|ACK'" }, { 23, "", "tcp.flags exists" },
		{ 26, "\x0a\x02nc", "proc.name='nc' and owner.end=src" },
		{ 27, "\x12\x07Process", "proc.name exists and owner.end=dst" },
		{ 35, "\x12\x04" "eth0", "net.iface='eth0'" }, { 35, "\x08\x03", "net.iface=3" },
		{ 6, "\x08\x04\x10\x01\x18\x03", "net.point=3" }, { 6, "\x08\x01", "evt.type=net.drop" },
		{ 6, "\x08\x01\x10\x01\x18\xb2\x01", "drop.reason in (NO_SOCKET" },
		{ 5, "\x01\x02", "net.verdict=forwarded or net.verdict=dropped" },	/* a packed list */
	};
	static const struct { uint32_t field; uint64_t number; const char *words; } numbers[] = {
		{ 5, 2, "net.verdict=dropped" }, { 25, 1, "conn.src=0.0.0.0/0" }, { 25, 2, "conn.src=::/0" },
		{ 30, 1, "net.dir=in" }, { 30, 2, "net.dir=out" }, { 15, 1, "flow.is_reply" },
		{ 33, 178, "flow.drop_reason in (NO_SOCKET" }, { 33, 196, "drop.cause='TTL exceeded'" },
		{ 33, 255, "not drop.reason in (" }, { 33, 131, "drop.reason in (OTHERHOST)" },
		{ 33, 140, "and not evt.type exists" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		expect_words(texts[i].field, texts[i].text, strlen(texts[i].text), 0, texts[i].words);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		expect_words(numbers[i].field, NULL, 0, numbers[i].number, numbers[i].words);
}

/* Never "matches all": the field is named. */
static void test_what_has_no_word_is_refused(void **state)
{
	static const struct { uint32_t field; const char *text, *named; } rows[] = {
		{ 10, "reserved:host", "source_label" }, { 16, "kube-dns", "source_service" },
		{ 20, "\x01", "destination_identity" }, { 22, "/x", "http_path" }, { 24, "node", "node_name" },
		{ 29, "0-1", "uuid" }, { 40, "\x01", "encrypted" }, { 38, "c", "destination_cluster_name" },
		{ 77, "?", "number 77" }, { 999, "\x0a\x04true", "experimental" },
		{ 1, "10.0.0.0/99", "source_ip" }, { 1, "1.2.3.4 or evt.type exists", "source_ip" },
		{ 2, "a'b/c", "source_pod" }, { 7, "a' or 'b", "source_fqdn" }, { 12, "dns", "protocol" },
		{ 12, "http", "protocol" }, { 13, "0", "source_port" }, { 5, "\x09", "verdict" },
		{ 6, "\x08\x81\x01", "event_type" }, { 23, "\x48\x01", "tcp_flags" },
		{ 35, "\x12\x02'x", "interface" },
		{ 26, "\x12\x0a" "Deployment", "source_workload" }, { 6, "\x08", "event_type" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hubble_request q = { 0 };
		struct err err = { 0 };
		int r = parse_filter(rows[i].field, rows[i].text, strlen(rows[i].text), 0, &q, &err);

		if (r != -EINVAL || !strstr(err.msg, rows[i].named))
			fail_msg("field %u: %d, %s", rows[i].field, r, err.msg);
	}
}

static void test_lists_and_times(void **state)
{
	struct buf b = { 0 }, time = { 0 };
	struct hubble_request q = { 0 };
	struct err err = { 0 };

	(void)state;
	protobuf_uint(&b, 1, UINT64_MAX);
	protobuf_bytes(&b, BLACKLIST, "\x0a\x03" "::1", 5);
	protobuf_bytes(&b, WHITELIST, "\x62\x03tcp", 5);
	protobuf_bytes(&b, WHITELIST, "\x62\x03udp\x72\x02" "53", 9);
	protobuf_uint(&time, 1, 1795269328);
	protobuf_uint(&time, 2, 500000000);
	protobuf_bytes(&b, 7, time.data, time.len);
	protobuf_uint(&b, 3, 1);
	assert_int_equal(parse_of(&b, &q, &err), 0);
	assert_string_equal(buf_str(&q.where), "(((fd.l4proto=tcp)) or ((fd.l4proto=udp) and (conn.dport = 53))) and "
			    "not (((conn.src = ::1)))");
	assert_true(q.number == UINT64_MAX && q.follow && !q.first && !q.until_ns);
	assert_true(q.since_ns == 1795269328500000000ull);
	hubble_request_fini(&q);
	protobuf_uint(&b, 9, 1);
	assert_int_equal(parse_of(&b, &q, &err), -EINVAL);	/* first and follow */
	buf_fini(&b);
	buf_fini(&time);
}

static void test_a_request_has_64_filters(void **state)
{
	struct buf b = { 0 };
	struct hubble_request q = { 0 };
	struct err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < HUBBLE_REQUEST_FILTERS; i++)
		protobuf_bytes(&b, i & 1 ? WHITELIST : BLACKLIST, "\x62\x03tcp", 5);
	assert_int_equal(parse_of(&b, &q, &err), 0);
	hubble_request_fini(&q);
	protobuf_bytes(&b, WHITELIST, "", 0);
	assert_int_equal(parse_of(&b, &q, &err), -EINVAL);
	buf_fini(&b);
}

/* ---- the ring ---- */

static void test_the_ring_keeps_the_latest(void **state)
{
	struct hubble_ring *r = hubble_ring_new();
	const struct event_desc desc = { .name = "net.flow" };
	char text[16], body[8] = "body";
	struct event ev = { .desc = &desc, .body = body, .body_len = sizeof(body) }, found;
	const uint64_t n = HUBBLE_RING_ENTRIES + 10;
	size_t len;

	(void)state;
	assert_true(hubble_ring_first(r) == 0 && hubble_ring_next(r) == 0);
	for (uint64_t i = 0; i < n; i++) {
		struct buf message = { 0 };

		ev.ts_ns = i;
		buf_printf(&message, "%d", (int)i);
		assert_int_equal(hubble_ring_add(r, i == n - 1 ? NULL : &ev, &message), 0);
		buf_fini(&message);
	}
	assert_true(hubble_ring_first(r) == 10 && hubble_ring_next(r) == n && hubble_ring_flows(r) == n - 1);
	for (uint64_t i = 10; i < n; i++) {
		const void *message = hubble_ring_message(r, i, &len);

		snprintf(text, sizeof(text), "%d", (int)i);
		assert_int_equal(len, strlen(text));
		assert_memory_equal(message, text, len);
		assert_int_equal(hubble_ring_event(r, i, false, &found), i != n - 1);
		assert_true(i == n - 1 || (found.ts_ns == i && !strcmp(found.body, "body")));
	}
	hubble_ring_free(r);
}

/* A name that came later is not the flow's. */
static void test_a_flow_keeps_its_names(void **state)
{
	struct hubble_ring *r = hubble_ring_new();
	struct names *names = event_names_new();
	const struct event_desc desc = { .name = "net.flow" };
	const struct ipaddr src = { .family = 4, .addr = { 10, 0, 0, 1 } };
	struct event ev = { .desc = &desc, .names = names, .keys.conn.saddr = src, .keys.cgroup_id = 7 }, found;
	const uint64_t key = event_names_host_key(&src);
	const struct buf message = { 0 };

	(void)state;
	event_names_set(names, SONDE_NAME_POD, 7, "web-1", 5);
	assert_int_equal(hubble_ring_add(r, &ev, &message), 0);
	event_names_set(names, SONDE_NAME_HOST, key, "a.example", 9);
	event_names_set(names, SONDE_NAME_POD, 7, "web-2", 5);
	assert_int_equal(hubble_ring_add(r, &ev, &message), 0);
	assert_true(hubble_ring_event(r, 0, true, &found));
	assert_null(event_names_get(found.names, SONDE_NAME_HOST, key));
	assert_string_equal(event_names_get(found.names, SONDE_NAME_POD, 7), "web-1");
	assert_true(hubble_ring_event(r, 1, true, &found));
	assert_string_equal(event_names_get(found.names, SONDE_NAME_HOST, key), "a.example");
	assert_string_equal(event_names_get(found.names, SONDE_NAME_POD, 7), "web-2");
	assert_true(hubble_ring_event(r, 0, false, &found));
	assert_string_equal(event_names_get(found.names, SONDE_NAME_HOST, key), "a.example");
	hubble_ring_free(r);
	event_names_free(names);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_are_words),
		cmocka_unit_test(test_what_has_no_word_is_refused),
		cmocka_unit_test(test_lists_and_times),
		cmocka_unit_test(test_a_request_has_64_filters),
		cmocka_unit_test(test_the_ring_keeps_the_latest),
		cmocka_unit_test(test_a_flow_keeps_its_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
