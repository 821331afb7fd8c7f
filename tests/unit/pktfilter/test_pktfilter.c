// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The packet filter without a kernel: the converted code, run by a test interpreter, must decide like libpcap's
 * interpreter on every packet of the battery, whole and truncated.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "battery.h"
#include "interp.h"
#include "pktfilter/cbpf.h"
#include "pktfilter/pktfilter_filter.h"
#include "pktfilter/pktfilter.h"
#include "sonde/pktfilter_wire.h"
#include "sonde/wire.h"

#define N_PACKETS 1500
#define SEED 0x5eed5eed5eedULL

static struct pktfilter *compile(const char *expr)
{
	struct pktfilter *f = NULL;
	struct err err = { 0 };

	if (pktfilter_compile_here(expr, &f, &err) < 0)
		fail_msg("\"%s\": %s", expr, err.msg);
	return f;
}

/* As bpf/pktfilter.bpf.h does it. */
static int kernel_verdict(const struct pktfilter *f, const uint8_t *data, uint32_t avail, uint32_t len, bool ethernet)
{
	/* an exact copy, so that a memory checker sees overruns that the interpreter misses */
	uint8_t *view = malloc(avail ? avail : 1);
	int64_t v;

	assert_non_null(view);
	memcpy(view, data, avail);
	v = interp_run(f->pool, f->n_pool, view, avail, len, ethernet);
	free(view);
	assert_in_range(v, PKTFILTER_REJECT, PKTFILTER_UNDECIDED);
	if (v == PKTFILTER_UNDECIDED && avail >= len && len <= PKTFILTER_BUF_BYTES)
		return PKTFILTER_REJECT;
	return (int)v;
}

struct tally {
	size_t compared, matched, undecided;
};

static void compare(const char *expr, const struct pktfilter *f, const struct battery_packet *p, bool ethernet,
		    uint32_t avail, struct tally *t)
{
	uint32_t link = ethernet ? SONDE_LINK_ETHERNET : SONDE_LINK_RAW;
	int want = pktfilter_match(f, link, p->data, p->len, p->len);
	int got = kernel_verdict(f, p->data, avail, p->len, ethernet);

	t->compared++;
	t->matched += want;
	if (got == PKTFILTER_UNDECIDED) {
		t->undecided++;
		assert_true(MIN(avail, (uint32_t)PKTFILTER_BUF_BYTES) < MIN(p->len, pktfilter_depth(f)));
		return;
	}
	if (got != want)
		fail_msg("\"%s\": %d instead of %d on a packet of %u bytes, %u readable", expr, got, want, p->len,
			 avail);
}

static void run_expr(const char *expr, const struct battery_packet *l2, const struct battery_packet *l3,
		     struct tally *t)
{
	struct pktfilter *f = compile(expr);
	const char *why = "";

	assert_true(pktfilter_in_kernel(f, NULL, 0));
	if (!interp_check(f->pool, f->n_pool, &why))
		fail_msg("\"%s\": %s", expr, why);
	for (size_t i = 0; i < N_PACKETS; i++) {
		compare(expr, f, &l2[i], true, l2[i].len, t);
		compare(expr, f, &l3[i], false, l3[i].len, t);
		compare(expr, f, &l2[i], true, (uint32_t)(i * 7 % (l2[i].len + 1)), t);
		compare(expr, f, &l3[i], false, (uint32_t)(i * 5 % (l3[i].len + 1)), t);
	}
	pktfilter_free(f);
}

static void battery_agrees_with_libpcap(void **state)
{
	struct battery_packet *l2 = battery_packets(N_PACKETS, true, SEED);
	struct battery_packet *l3 = battery_packets(N_PACKETS, false, SEED);
	struct tally t = { 0 };
	size_t n = 0, varied = 0;

	(void)state;
	assert_non_null(l2);
	assert_non_null(l3);
	for (; battery_exprs[n]; n++) {
		struct tally before = t;
		size_t matched;

		run_expr(battery_exprs[n], l2, l3, &t);
		matched = t.matched - before.matched;
		if (matched > 0 && matched < t.compared - before.compared)
			varied++;
		else
			printf("always the same: \"%s\"\n", battery_exprs[n]);
	}
	printf("%zu expressions, %d packets, %zu comparisons, %zu matches, %zu undecided; %zu expressions both match "
	       "and refuse\n",
	       n, 2 * N_PACKETS, t.compared, t.matched, t.undecided, varied);
	assert_true(n >= 60);
	assert_true(varied >= n - 3);	/* "" and such; a battery in which little matches proves little */
	free(l2);
	free(l3);
}

static void loops_run_in_user_space(void **state)
{
	char why[160];

	(void)state;
	for (size_t i = 0; battery_user_exprs[i]; i++) {
		struct pktfilter *f = compile(battery_user_exprs[i]);

		assert_false(pktfilter_in_kernel(f, why, sizeof(why)));
		assert_non_null(strstr(why, "protochain"));
		assert_int_equal(pktfilter_depth(f), UINT32_MAX);
		pktfilter_free(f);
	}
}

static void user_space_decides_chains(void **state)
{
	/* IPv6, hop-by-hop options, destination options, TCP */
	static const uint8_t packet[] = {
		0x60, 0, 0, 0, 0, 36, 0, 64, [40] = 60, 0, 1, 4, [48] = 6, 0, 1, 4, [75] = 0,
	};
	struct pktfilter *f = compile("ip6 protochain 6"), *g = compile("ip6 proto 6");

	(void)state;
	assert_true(pktfilter_match(f, SONDE_LINK_RAW, packet, sizeof(packet), sizeof(packet)));
	assert_false(pktfilter_match(g, SONDE_LINK_RAW, packet, sizeof(packet), sizeof(packet)));
	assert_int_equal(pktfilter_verdict(f, SONDE_LINK_RAW, packet, 42, sizeof(packet)), PKTFILTER_UNDECIDED);
	pktfilter_free(f);
	pktfilter_free(g);
}

static void depth_is_what_a_verdict_can_need(void **state)
{
	static const struct {
		const char *expr;
		uint32_t depth;
	} rows[] = {
		{ "", 0 }, { "ip", 14 }, { "tcp port 80", 78 }, { "less 100", 0 }, { "ether[1500] = 1", 1501 },
		{ "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420", 14 + 60 + 60 + 4 },
		{ "ether[len - 1] = 0", UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pktfilter *f = compile(rows[i].expr);

		assert_int_equal(pktfilter_depth(f), rows[i].depth);
		pktfilter_free(f);
	}
}

static void cut_packets_are_told_apart(void **state)
{
	struct battery_packet *p = battery_packets(N_PACKETS, true, SEED);
	struct pktfilter *f = compile("ether[100] = 0 or tcp port 80");
	size_t undecided = 0;

	(void)state;
	for (size_t i = 0; i < N_PACKETS; i++) {
		uint32_t cap = (uint32_t)(i * 3 % (p[i].len + 1));
		int got = pktfilter_verdict(f, SONDE_LINK_ETHERNET, p[i].data, cap, p[i].len);

		if (got == PKTFILTER_UNDECIDED)
			undecided++;
		else
			assert_int_equal(got, pktfilter_match(f, SONDE_LINK_ETHERNET, p[i].data, p[i].len, p[i].len));
	}
	assert_in_range(undecided, 1, N_PACKETS - 1);
	pktfilter_free(f);
	free(p);
}

static void cooked_captures_match(void **state)
{
	static const uint8_t sll[] = { [14] = 0x08, 0x00, 0x45, 0, 0, 28, [25] = 17, [38] = 0, 53, 0, 53, [43] = 0 };
	struct pktfilter *f = compile("udp port 53");

	(void)state;
	assert_true(pktfilter_match(f, SONDE_LINK_SLL, sll, sizeof(sll), sizeof(sll)));
	assert_false(pktfilter_match(f, SONDE_LINK_ETHERNET, sll, sizeof(sll), sizeof(sll)));
	assert_false(pktfilter_match(f, 9999, sll, sizeof(sll), sizeof(sll)));
	pktfilter_free(f);
}

static void mistakes_have_a_caret(void **state)
{
	static const struct {
		const char *expr, *part, *caret;
		int code;
	} rows[] = {
		{ "tcp prt 80", "syntax error", "\n  tcp prt 80\n      ^^^", -EINVAL },
		{ "tcp port", "syntax error", "\n  tcp port\n          ^", -EINVAL },
		{ "host 1.2.3.4 and and udp", "syntax error", "\n                   ^^^", -EINVAL },
		{ "udp and (port 80 or portt 90)", "unknown port", "\n                      ^^^^^", -EINVAL },
		{ "tcp)", "syntax error", "\n  tcp)\n     ^", -EINVAL },
		{ "(tcp and port 80", "syntax error", "\n                  ^", -EINVAL },
		{ "port foo or udp", "unknown port", "\n       ^^^", -EINVAL },
		{ "net 1.2.3.4/40", "mask length", "\n              ^^", -EINVAL },
		{ "tcp[99999999999] = 1", "overflows", "\n      ^^^^^^^^^^^", -EINVAL },
		{ "tcp and len > 100 / 0", "division by zero", "\n                      ^", -EINVAL },
		{ "tcp and inbound", "not told", "\n          ^^^^^^^", -EOPNOTSUPP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pktfilter *f = NULL;
		struct err err = { 0 };
		size_t n;

		assert_int_equal(pktfilter_compile_here(rows[i].expr, &f, &err), rows[i].code);
		assert_null(f);
		if (!strstr(err.msg, rows[i].part))
			fail_msg("\"%s\" missing in: %s", rows[i].part, err.msg);
		n = strlen(rows[i].caret);
		if (strlen(err.msg) < n || strcmp(err.msg + strlen(err.msg) - n, rows[i].caret))
			fail_msg("caret misplaced: %s", err.msg);
	}
}

/* Endless text must not overrun anything. */
static void long_text_is_cut(void **state)
{
	char *expr = malloc(5000);
	struct pktfilter *f = NULL;
	struct err err = { 0 };

	(void)state;
	assert_non_null(expr);
	memset(expr, ' ', 4999);
	memcpy(expr + 4900, "tcp prt 80", 10);
	expr[4999] = '\0';
	assert_int_equal(pktfilter_compile_here(expr, &f, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "near \"prt 80"));
	free(expr);
}

static void too_long_runs_in_user_space(void **state)
{
	struct buf expr = { 0 };
	struct pktfilter *f;
	char why[160];

	(void)state;
	for (int i = 0; i < 300; i++)
		buf_printf(&expr, "%sudp[%d] = %d", i ? " and " : "", i, i % 250);
	f = compile(buf_str(&expr));
	assert_false(pktfilter_in_kernel(f, why, sizeof(why)));
	assert_non_null(strstr(why, "longer than"));
	pktfilter_free(f);
	buf_fini(&expr);
}

static void explanation_says_where(void **state)
{
	static const struct {
		const char *expr, *says;
	} rows[] = {
		{ "tcp port 80", "runs in the kernel" },
		{ "tcp port 80", "reads the first 78 bytes" },
		{ "tcp port 80", "ldh      [12]" },
		{ "tcp port 80", "be16 r0" },
		{ "ip protochain 6", "runs in user space: protochain" },
		{ "vlan 5", "start with an IP header never match: no VLAN support" },
		{ "ether[1500] = 1", "user space decides about packets longer than 1024 bytes" },
		{ "ether[len - 1] = 0", "no known depth" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pktfilter *f = compile(rows[i].expr);
		struct buf out = { 0 };

		assert_int_equal(pktfilter_explain(f, &out), 0);
		if (!strstr(buf_str(&out), rows[i].says))
			fail_msg("\"%s\" missing in:\n%s", rows[i].says, buf_str(&out));
		buf_fini(&out);
		pktfilter_free(f);
	}
}

static void unsound_code_is_refused(void **state)
{
	static const struct {
		struct sock_filter code[2];
		int error;
	} rows[] = {
		{ { { BPF_JMP | BPF_JA, 0, 0, (uint32_t)-1 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -ELOOP },
		{ { { BPF_JMP | BPF_JEQ, 1, 0, 0 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
		{ { { BPF_LD | BPF_MEM, 0, 0, 3 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
		{ { { BPF_ST, 0, 0, 16 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
		{ { { BPF_ALU | BPF_DIV, 0, 0, 0 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
		{ { { BPF_ALU | BPF_LSH, 0, 0, 32 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
		{ { { BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 }, { BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 } }, -EINVAL },
		{ { { 0xffff, 0, 0, 0 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
		{ { { BPF_JMP | BPF_JA | BPF_X, 0, 0, 0 }, { BPF_RET | BPF_K, 0, 0, 0 } }, -EINVAL },
	};
	struct bpf_insn out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(pktfilter_convert(rows[i].code, 2, 256, out, ARRAY_SIZE(out)), rows[i].error);
	assert_int_equal(pktfilter_convert(rows[0].code, 0, 256, out, ARRAY_SIZE(out)), -EINVAL);
	assert_int_equal(pktfilter_convert(rows[0].code + 1, 1, 256, out, 3), -ENOSPC);
	assert_int_equal(pktfilter_convert(rows[0].code + 1, 1, 256, out, 4), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(battery_agrees_with_libpcap),
		cmocka_unit_test(loops_run_in_user_space),
		cmocka_unit_test(user_space_decides_chains),
		cmocka_unit_test(depth_is_what_a_verdict_can_need),
		cmocka_unit_test(cut_packets_are_told_apart),
		cmocka_unit_test(cooked_captures_match),
		cmocka_unit_test(mistakes_have_a_caret),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(too_long_runs_in_user_space),
		cmocka_unit_test(explanation_says_where),
		cmocka_unit_test(unsound_code_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
