// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule files: refused ones with the position, evaluation of rules on packets, and equality with the tables.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/macros.h"
#include "policy/policy.h"
#include "tests/unit/policy/policy_table.h"

static struct policy *parse(const char *text)
{
	struct policy *p = NULL;
	struct err err = { 0 };

	if (policy_parse(text, strlen(text), &p, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

/* ---- what is refused ---- */

static const struct { const char *text, *place, *says; } wrong[] = {
	{ "permit in tcp\n", "1:1:", "permit: expected allow, deny, audit or default" },
	{ "allow in\ndeny in tcp port\n", "2:17:", "expected a port" },
	{ "deny in tcp port 70000\n", "1:18:", "0 to 65535" },
	{ "deny in tcp port 90-80\n", "1:18:", "end of the range is below its start" },
	{ "deny in tcp port http\n", "1:18:", "expected a port" },
	{ "\n\n  deny in port 80\n", "3:3:", "sport and port need tcp, udp or sctp" },
	{ "deny in from 10.0.0.1/8\n", "1:14:", "host bits are set behind /8" },
	{ "deny in from 10.0.0.0/33\n", "1:14:", "an address or a network" },
	{ "deny in from 10.0.0.0/8,\n", "1:25:", "an address or a network" },
	{ "deny in from 10.0.0.0/8 to 2001:db8::/32\n", "1:1:", "IPv4 and IPv6" },
	{ "deny in ip6 from 10.0.0.1\n", "1:1:", "IPv4 and IPv6" },
	{ "deny in in tcp\n", "1:9:", "duplicate clause" },
	{ "deny in tcp udp\n", "1:13:", "duplicate clause" },
	{ "deny in tcp from any from any\n", "1:22:", "duplicate clause" },
	{ "deny in icmp port 3\n", "1:1:", "sport and port need" },
	{ "deny in tcp type 3\n", "1:1:", "type needs icmp" },
	{ "deny in icmp type 256\n", "1:19:", "0 to 255" },
	{ "deny in udp established\n", "1:1:", "established needs tcp" },
	{ "deny in tcp port 80 fragment\n", "1:1:", "fragment excludes ports" },
	{ "deny in proto 256\n", "1:15:", "0 to 255" },
	{ "deny in cgroup system.slice\n", "1:16:", "below the cgroup2 mount" },
	{ "deny in cgroup /a/../b\n", "1:16:", "below the cgroup2 mount" },
	{ "deny in comm sixteen-bytes-xx\n", "1:14:", "1 to 15 bytes" },
	{ "deny in comm \"open\n", "1:14:", "not closed" },
	{ "deny in pid 0\n", "1:13:", "a process id" },
	{ "deny in , tcp\n", "1:9:", "expected a clause" },
	{ "default deny\ndefault allow out\n", "2:1:", "line 1 sets the default for out already" },
	{ "default maybe\n", "1:9:", "allow, deny or audit" },
	{ "default deny in tcp\n", "1:17:", "the end of the line" },
	{ "deny in tcp \x01\n", "1:13:", "control character" },
};

static void test_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct policy *p = NULL;
		struct err err = { 0 };

		assert_int_equal(policy_parse(wrong[i].text, strlen(wrong[i].text), &p, &err), -EINVAL);
		assert_null(p);
		if (strncmp(err.msg, wrong[i].place, strlen(wrong[i].place)) || !strstr(err.msg, wrong[i].says))
			fail_msg("%s-> %s, not %s %s", wrong[i].text, err.msg, wrong[i].place, wrong[i].says);
		assert_null(strchr(err.msg, '\n'));
	}
}

static void test_too_many(void **state)
{
	char *text = malloc(POLICY_TEXT_MAX + 2);
	struct policy *p = NULL;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i <= POLICY_RULES_MAX; i++)
		memcpy(text + i * 6, "allow\n", 6);
	assert_int_equal(policy_parse(text, (POLICY_RULES_MAX + 1) * 6, &p, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "4097:1: allow: a file has at most 4096 rules"));
	assert_int_equal(policy_parse(text, POLICY_RULES_MAX * 6, &p, &err), 0);
	assert_int_equal(p->rules.len, POLICY_RULES_MAX);
	policy_free(p);
	memset(text, ' ', POLICY_TEXT_MAX + 1);
	assert_int_equal(policy_parse(text, POLICY_TEXT_MAX + 1, &p, &err), -EINVAL);
	free(text);
}

/* ---- what is read ---- */

static void test_read(void **state)
{
	struct policy *p = parse("# all of it\r\n"
				 "default deny in # but not out\n"
				 "allow out tcp to 10.0.0.0/8, fd00::/8 port 80,443,8000-8999 comm \"a b\",curl "
				 "pid 1,2\n"
				 "audit proto 47 cgroup /system.slice/\n"
				 "deny icmp6 type 128 from any");
	const struct policy_rule *r = p->rules.items;

	(void)state;
	assert_int_equal(p->rules.len, 3);
	assert_int_equal(p->fallback[POLICY_IN], POLICY_DENY);
	assert_int_equal(p->fallback_line[POLICY_IN], 2);
	assert_int_equal(p->fallback[POLICY_OUT], POLICY_ALLOW);
	assert_int_equal(r[0].line, 3);
	assert_false(r[0].dirs[POLICY_IN]);
	assert_int_equal(r[0].to.len, 2);
	assert_int_equal(r[0].to.items[1].bits, 8);
	assert_int_equal(r[0].dports.len, 3);
	assert_int_equal(r[0].dports.items[2].from, 8000);
	assert_string_equal(r[0].comms.items[0].name, "a b");
	assert_int_equal(r[0].pids.len, 2);
	assert_int_equal(r[1].proto, 47);
	assert_string_equal(r[1].cgroups.items[0], "/system.slice");
	assert_string_equal(r[1].text, "audit proto 47 cgroup /system.slice/");
	assert_int_equal(r[2].family, 6);
	assert_int_equal(r[2].from.len, 0);
	policy_free(p);
}

/* ---- what it means ---- */

static const char meaning[] =
	"default deny in\n"
	"deny in tcp from 10.9.0.0/24 port 22\n"	/* 2 */
	"allow in tcp port 22,80-90\n"			/* 3 */
	"allow in tcp established\n"			/* 4 */
	"allow in icmp type 8\n"			/* 5 */
	"allow in ip4 fragment\n"			/* 6 */
	"audit out udp to ::1 port 53\n"		/* 7 */
	"deny out comm nc\n"				/* 8 */
	"deny out cgroup /a/b\n";			/* 9 */

static const struct { const char *packet; uint32_t line; enum policy_action action; } means[] = {
	{ "in tcp from 10.9.0.7 to 10.0.0.1 sport 1 port 22", 2, POLICY_DENY },
	{ "in tcp from 10.9.1.7 to 10.0.0.1 sport 1 port 22", 3, POLICY_ALLOW },
	{ "in tcp from 10.9.0.7 to 10.0.0.1 sport 1 port 90", 3, POLICY_ALLOW },
	{ "in tcp from 10.9.0.7 to 10.0.0.1 sport 1 port 91", 1, POLICY_DENY },
	{ "in tcp from fd00::1 to fd00::2 sport 1 port 91 established", 4, POLICY_ALLOW },
	{ "in icmp from 10.9.0.7 to 10.0.0.1 type 8", 5, POLICY_ALLOW },
	{ "in icmp from 10.9.0.7 to 10.0.0.1 type 0", 1, POLICY_DENY },
	{ "in tcp from 10.9.0.7 to 10.0.0.1 fragment", 6, POLICY_ALLOW },
	{ "in tcp from fd00::1 to fd00::2 fragment", 1, POLICY_DENY },
	{ "out udp from ::1 to ::1 sport 5 port 53", 7, POLICY_AUDIT },
	{ "out udp from ::1 to ::2 sport 5 port 53", 0, POLICY_ALLOW },
	{ "out udp from ::1 to ::2 sport 5 port 53 comm nc", 8, POLICY_DENY },
	{ "out udp from ::1 to ::2 sport 5 port 53 comm ncat", 0, POLICY_ALLOW },
	{ "out udp from ::1 to ::2 sport 5 port 53 cgroup /a/b/c", 9, POLICY_DENY },
	{ "out udp from ::1 to ::2 sport 5 port 53 cgroup /a/bc", 0, POLICY_ALLOW },
};

static void test_meaning(void **state)
{
	struct policy *p = parse(meaning);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		struct policy_packet pkt = { 0 };
		struct policy_verdict v;
		struct err err = { 0 };

		if (policy_packet_parse(means[i].packet, &pkt, &err) < 0)
			fail_msg("%s: %s", means[i].packet, err.msg);
		policy_decide(p, &pkt, &v);
		if (v.action != means[i].action ||
		    (v.rule ? v.rule->line : p->fallback_line[pkt.dir]) != means[i].line)
			fail_msg("%s: line %u %s", means[i].packet, v.rule ? v.rule->line : 0,
				 policy_action_name(v.action));
		policy_packet_fini(&pkt);
	}
	policy_free(p);
}

static void test_broken_ip(void **state)
{
	struct policy *p = parse("allow\ndefault deny\n");
	const struct policy_packet pkt = { .dir = POLICY_IN, .has_ip = false };
	struct policy_verdict v;

	(void)state;
	policy_decide(p, &pkt, &v);
	assert_null(v.rule);
	assert_int_equal(v.action, POLICY_DENY);
	policy_free(p);
}

static void test_packet_words(void **state)
{
	static const char *const bad[] = {
		"tcp from 10.0.0.1 to 10.0.0.2", "in from 10.0.0.1 to 10.0.0.2", "in tcp to 10.0.0.2",
		"in tcp from 10.0.0.0/8 to 10.0.0.2", "in tcp from 10.0.0.1 to 10.0.0.2 port 1-2",
		"in tcp from 10.0.0.1 to ::1", "in tcp from 10.0.0.1 to 10.0.0.2 pid 1,2", "", "in tcp from",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct policy_packet pkt = { 0 };
		struct err err = { 0 };

		assert_int_equal(policy_packet_parse(bad[i], &pkt, &err), -EINVAL);
		assert_true(err.msg[0]);
	}
}

/* ---- tables ---- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static const char *pick(const char *const *words, size_t n, uint32_t *seed)
{
	return words[next(seed) % n];
}

/* Nested networks, ports at range ends: tables fail first where rules overlap. */
static const char *const rule_words[][6] = {
	{ "allow", "deny", "audit" }, { "in", "out", "", "" },
	{ "tcp", "udp", "icmp", "ip6", "", "tcp established" },
	{ "from 10.0.0.0/8", "from 10.1.0.0/16,fd00::/8", "from 10.1.2.3", "from fd00::1", "", "" },
	{ "to 10.0.0.0/9", "to 10.128.0.0/9,::/0", "to 0.0.0.0/0", "", "", "" },
};

static struct policy *random_rules(uint32_t *seed, unsigned n)
{
	struct policy *p = NULL;
	char text[16384];
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		char line[256];
		size_t from = len;
		struct err err = { 0 };
		const char *proto = pick(rule_words[2], 6, seed);
		bool ports = !strcmp(proto, "tcp") || !strcmp(proto, "udp");

		snprintf(line, sizeof(line), "%s %s %s %s %s", pick(rule_words[0], 3, seed),
			 pick(rule_words[1], 4, seed), proto, pick(rule_words[3], 6, seed),
			 pick(rule_words[4], 6, seed));
		if (ports && next(seed) % 2)
			snprintf(line + strlen(line), sizeof(line) - strlen(line), " port %u-%u",
				 next(seed) % 100, 100 + next(seed) % 100);
		if (ports && next(seed) % 3 == 0)
			snprintf(line + strlen(line), sizeof(line) - strlen(line), " sport %u", next(seed) % 4);
		if (next(seed) % 8 == 0)
			snprintf(line + strlen(line), sizeof(line) - strlen(line), " comm %s",
				 next(seed) % 2 ? "nc" : "curl");
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", line);
		if (policy_parse(text, len, &p, &err) < 0)
			len = from;	/* families that do not go together */
		else
			policy_free(p);
	}
	assert_int_equal(policy_parse(text, len, &p, NULL), 0);
	return p;
}

static void random_packet(uint32_t *seed, struct policy_packet *p)
{
	static const uint8_t protos[] = { 6, 17, 1, 58, 47 };
	bool v6 = next(seed) % 3 == 0;

	*p = (struct policy_packet){
		.dir = next(seed) % 2 ? POLICY_IN : POLICY_OUT, .state = next(seed) % POLICY_STATE__MAX,
		.has_ip = next(seed) % 50 > 0, .family = v6 ? 6 : 4, .proto = protos[next(seed) % 5],
		.sport = (uint16_t)(next(seed) % 5), .dport = (uint16_t)(next(seed) % 210),
		.saddr = { .family = v6 ? 6 : 4 }, .daddr = { .family = v6 ? 6 : 4 },
	};
	memcpy(p->saddr.addr, v6 ? "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0" : "\x0a\1\2", v6 ? 15 : 3);
	memcpy(p->daddr.addr, v6 ? "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0" : "\x0a\200\2", v6 ? 15 : 3);
	p->saddr.addr[next(seed) % (v6 ? 16 : 4)] ^= (uint8_t)(next(seed) % 4);
	p->daddr.addr[1] ^= (uint8_t)(next(seed) % 2 ? 0x80 : 0);
	if (next(seed) % 4 == 0)
		memcpy(p->comm.name, "nc", 2);
}

static void test_tables(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct policy *p = random_rules(&seed, round % 10 == 0 ? 130 : 12);
		struct policy_table *t = NULL;

		assert_int_equal(policy_table_compile(p, NULL, NULL, &t, NULL), 0);
		for (unsigned i = 0; i < 500; i++) {
			struct policy_packet pkt;
			struct policy_verdict v;

			random_packet(&seed, &pkt);
			policy_decide(p, &pkt, &v);
			assert_int_equal(policy_table_number(t, &pkt), v.number);
		}
		policy_table_free(t);
		policy_free(p);
	}
}

static int no_cgroup(void *ctx, const char *path, uint64_t *ret_id, uint32_t *ret_level)
{
	(void)ctx;
	(void)path;
	(void)ret_id;
	(void)ret_level;
	return -ENOENT;
}

static void test_no_cgroup(void **state)
{
	struct policy *p = parse("allow\n\ndeny out cgroup /none\n");
	struct policy_table *t = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(policy_table_compile(p, no_cgroup, NULL, &t, &err), -EINVAL);
	assert_string_equal(err.msg, "3: cgroup /none does not exist");
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_too_many), cmocka_unit_test(test_read),
		cmocka_unit_test(test_meaning), cmocka_unit_test(test_broken_ip), cmocka_unit_test(test_packet_words),
		cmocka_unit_test(test_tables), cmocka_unit_test(test_no_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
