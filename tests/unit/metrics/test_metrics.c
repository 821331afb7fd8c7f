// SPDX-License-Identifier: GPL-2.0-or-later
/* Metrics: the table against the event types of this build, series and their overflow, both text formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "call/call_event.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "metrics/metrics.h"
#include "metrics/metrics_expo.h"
#include "metrics/metrics_text.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_event.h"
#include "probes/sys/sys_event.h"
#include "sonde/wire.h"

static struct registry *all_types(void)
{
	struct registry *reg = registry_new();

	for (const struct decoder_ops *const *d = all_decoders; *d; d++)
		assert_int_equal(registry_add(reg, (*d)->events), 0);
	return reg;
}

static const struct event_desc *desc_of(const char *type)
{
	struct registry *reg = all_types();
	const struct event_desc *d = registry_find_name(reg, type);

	assert_non_null(d);
	registry_free(reg);	/* the descriptions are static */
	return d;
}

static struct metrics *metrics_of(const char *families, uint32_t max_series)
{
	struct metrics_opts o = { .max_series = max_series };
	struct registry *reg = all_types();
	struct metrics *m = NULL;
	struct err err = { 0 };

	assert_int_equal(metrics_table_mask(families, &o.families, &o.more, &err), 0);
	if (metrics_new(&o, reg, &m, &err) < 0)
		fail_msg("%s", err.msg);
	registry_free(reg);
	return m;
}

static void expect_lines(const struct metrics *m, bool openmetrics, const char *name, const char *wanted)
{
	struct buf text = { 0 }, found = { 0 };
	char *rest, *line;

	metrics_text(m, openmetrics, &text);
	assert_int_equal(buf_add_char(&text, '\0'), 0);
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, name, strlen(name)) && strchr("_{ ", line[strlen(name)]))
			buf_printf(&found, "%s\n", line);
	assert_string_equal(buf_str(&found), wanted);
	buf_fini(&text);
	buf_fini(&found);
}

/* ---- the table ---- */

static void every_row_has_its_type_fields_and_family(void **state)
{
	struct registry *reg = all_types();
	struct buf all = { 0 };
	struct metrics *m;

	(void)state;
	for (size_t i = 0; i < metrics_table_n_families; i++)
		buf_printf(&all, "%s%s", i ? "," : "", metrics_table_families[i].name);
	m = metrics_of(buf_str(&all), 0);
	for (size_t i = 0; i < metrics_table_n; i++) {
		assert_non_null(registry_find_name(reg, metrics_table[i].type));
		assert_in_range(__builtin_ctz(metrics_table_family(&metrics_table[i])), 0,
				metrics_table_n_families - 1);
	}
	registry_free(reg);
	metrics_free(m);
	buf_fini(&all);
}

static bool is_name(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(s);
}

static void names_are_those_of_prometheus_and_occur_once(void **state)
{
	char *names[64];

	(void)state;
	assert_true(metrics_table_n <= ARRAY_SIZE(names));
	for (size_t i = 0; i < metrics_table_n; i++) {
		const struct metric *m = &metrics_table[i];
		struct buf name = { 0 };

		metrics_table_prometheus(m, &name);
		assert_true(is_name(buf_str(&name)));
		names[i] = strdup(buf_str(&name));
		buf_fini(&name);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
		for (size_t k = 0; k < metrics_table_n_labels(m); k++)
			assert_true(is_name(m->labels[k].key));
		if (m->kind == METRIC_HISTOGRAM)
			assert_int_equal(m->unit, METRIC_NS);
		assert_true((m->kind == METRIC_HISTOGRAM) == (m->op == METRIC_TIME || m->op == METRIC_STEPS));
		assert_true((m->op == METRIC_STEPS) == (m->sum != NULL));
		assert_true(!(m->op == METRIC_STEPS || m->op == METRIC_TOTAL) || m->id);
	}
	for (size_t i = 0; i < metrics_table_n; i++)
		free(names[i]);
}

/* Else the calls of a step would be on both sides of a bound. */
static void bounds_of_step_histograms_are_ends_of_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < metrics_table_n; i++) {
		const uint64_t *bounds;
		size_t n = metrics_table_bounds(&metrics_table[i], &bounds);

		for (size_t k = 0; metrics_table[i].op == METRIC_STEPS && k < n; k++) {
			unsigned step = 0;

			while (step < METRIC_STEP_LAST && metrics_table_step_end(step) != bounds[k])
				step++;
			assert_in_range(step, 0, METRIC_STEP_LAST - 1);
		}
		for (size_t k = 1; k < n; k++)
			assert_true(bounds[k] > bounds[k - 1]);
	}
}

static void an_unknown_family_is_refused_with_a_proposal(void **state)
{
	struct err err = { 0 };
	uint32_t more, mask = 5;

	(void)state;
	assert_int_equal(metrics_table_mask("drop", &mask, &more, &err), -EINVAL);
	assert_string_equal(err.msg, "drop: no family of metrics; did you mean drops?");
	assert_int_equal(metrics_table_mask("drops,zzzzzz", &mask, &more, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "expected drops"));
	assert_int_equal(mask, 5);
	assert_int_equal(metrics_table_mask("", &mask, &more, &err), 0);
	assert_int_equal(mask, 0);
}

/* ---- sums ---- */

static int drop(struct metrics *m, uint8_t kind, uint32_t reason, uint64_t packets, uint64_t ts_ns)
{
	const struct net_count_event body = { .kind = kind, .reason = reason, .packets = packets,
					      .bytes = packets * 100 };
	struct event ev = { .desc = desc_of("net.count"), .body = &body, .body_len = sizeof(body), .ts_ns = ts_ns };
	struct names *names = event_names_new();
	int r;

	event_names_set(names, SONDE_NAME_DROP_REASON, 2, "NO_SOCKET", 9);
	event_names_set(names, SONDE_NAME_DROP_REASON, 3, "A\"B\\C\n\xff", 7);
	ev.names = names;
	r = metrics_take(m, ~0u, &ev);
	event_names_free(names);
	return r;
}

static void increments_add_up_and_other_kinds_do_not_count(void **state)
{
	struct metrics *m = metrics_of("drops", 0);

	(void)state;
	assert_int_equal(drop(m, NET_COUNT_DROP, 2, 3, 1000), 0);
	assert_int_equal(drop(m, NET_COUNT_PASS, 2, 50, 1000), 0);
	assert_int_equal(drop(m, NET_COUNT_DROP, 2, 4, 2000), 0);
	assert_int_equal(drop(m, NET_COUNT_REST, NET_COUNT_DROP, 9, 2000), 0);
	assert_int_equal(drop(m, NET_COUNT_REST, NET_COUNT_PASS, 70, 2000), 0);
	expect_lines(m, false, "sonde_network_drops",
		     "sonde_network_drops_total{reason=\"NO_SOCKET\"} 7\n"
		     "sonde_network_drops_total{reason=\"other\"} 9\n");
	expect_lines(m, false, "sonde_network_dropped",
		     "sonde_network_dropped_bytes_total{reason=\"NO_SOCKET\"} 700\n"
		     "sonde_network_dropped_bytes_total{reason=\"other\"} 900\n");
	metrics_free(m);
}

static void values_of_labels_are_escaped(void **state)
{
	struct metrics *m = metrics_of("drops", 0);

	(void)state;
	drop(m, NET_COUNT_DROP, 3, 1, 1000);
	expect_lines(m, true, "sonde_network_drops",
		     "sonde_network_drops_total{reason=\"A\\\"B\\\\\\\\C\\\\n\\\\xff\"} 1\n");
	metrics_free(m);
}

static uint64_t sum_of(const char *name, const struct metrics *m)
{
	struct buf text = { 0 };
	uint64_t sum = 0;
	char *rest, *line;

	metrics_text(m, false, &text);
	buf_add_char(&text, '\0');
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, name, strlen(name)))
			sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
	buf_fini(&text);
	return sum;
}

static void series_beyond_the_limit_add_to_one_and_no_sum_changes(void **state)
{
	struct metrics *m = metrics_of("drops", 3);
	uint64_t sum = 0;

	(void)state;
	for (unsigned round = 0; round < 3; round++)
		for (uint32_t reason = 10; reason < 20; reason++) {
			assert_int_equal(drop(m, NET_COUNT_DROP, reason, reason, 1000), 0);
			sum += reason;
		}
	expect_lines(m, false, "sonde_network_drops",
		     "sonde_network_drops_total{otel_metric_overflow=\"true\"} 336\n"
		     "sonde_network_drops_total{reason=\"10\"} 30\n"
		     "sonde_network_drops_total{reason=\"11\"} 33\n"
		     "sonde_network_drops_total{reason=\"12\"} 36\n");
	assert_int_equal(sum_of("sonde_network_drops_total{", m), sum);
	assert_int_equal(metrics_n_series(m), 8);	/* two metrics */
	metrics_free(m);
}

static void idle_series_go_and_make_room(void **state)
{
	const uint64_t hour = 3600 * NS_PER_S;
	struct metrics *m = metrics_of("drops", 2);

	(void)state;
	drop(m, NET_COUNT_DROP, 10, 1, hour);
	drop(m, NET_COUNT_DROP, 11, 2, 2 * hour);
	metrics_expire(m, 2 * hour);
	drop(m, NET_COUNT_DROP, 12, 4, 2 * hour);
	drop(m, NET_COUNT_DROP, 11, 8, 2 * hour);
	expect_lines(m, false, "sonde_network_drops",
		     "sonde_network_drops_total{reason=\"11\"} 10\n"
		     "sonde_network_drops_total{reason=\"12\"} 4\n");
	metrics_free(m);
}

static void only_the_families_of_the_instance_count(void **state)
{
	const struct net_count_event body = { .kind = NET_COUNT_DROP, .reason = 10, .packets = 1 };
	const struct event ev = { .desc = desc_of("net.count"), .body = &body, .body_len = sizeof(body),
				  .ts_ns = 1 };
	struct metrics *m = metrics_of("drops", 0);
	uint32_t drops, more;

	(void)state;
	assert_int_equal(metrics_table_mask("drops", &drops, &more, NULL), 0);
	assert_int_equal(metrics_take(m, ~drops, &ev), 0);
	assert_int_equal(metrics_n_series(m), 0);
	assert_int_equal(metrics_take(m, drops, &ev), 0);
	assert_int_equal(metrics_n_series(m), 2);
	metrics_free(m);
}

/* ---- totals and histograms ---- */

static void take_sum(struct metrics *m, uint16_t nr, uint64_t calls, uint64_t errors, unsigned step, uint64_t in_step,
		     uint64_t total_ns)
{
	struct sys_stats_body body = { .nr = nr, .calls = calls, .errors = errors, .total_ns = total_ns };
	const struct event ev = { .desc = desc_of("sys.sum"), .body = &body, .body_len = sizeof(body), .ts_ns = 1000,
				  .instance = 2 };

	body.steps[step] = in_step;
	assert_int_equal(metrics_take(m, ~0u, &ev), 0);
}

static void totals_of_system_calls_become_increments(void **state)
{
	struct metrics *m = metrics_of("syscalls", 0);

	(void)state;
	take_sum(m, 0, 5, 1, 40, 5, 10000000000);
	take_sum(m, 0, 7, 1, 40, 7, 10000000500);
	take_sum(m, 0, 7, 1, 40, 7, 10000000400);	/* an estimate may fall: the counter does not */
	take_sum(m, 1, 3, 3, METRIC_STEP_LAST, 3, 30000000000);
	expect_lines(m, false, "sonde_syscalls",
		     "sonde_syscalls_total{syscall=\"read\"} 7\nsonde_syscalls_total{syscall=\"write\"} 3\n");
	expect_lines(m, false, "sonde_syscall_errors",
		     "sonde_syscall_errors_total{syscall=\"read\"} 1\n"
		     "sonde_syscall_errors_total{syscall=\"write\"} 3\n");
	expect_lines(m, true, "sonde_syscall_duration_seconds_sum",
		     "sonde_syscall_duration_seconds_sum{syscall=\"read\"} 10.0000005\n"
		     "sonde_syscall_duration_seconds_sum{syscall=\"write\"} 30.0\n");
	expect_lines(m, true, "sonde_syscall_duration_seconds_count",
		     "sonde_syscall_duration_seconds_count{syscall=\"read\"} 7\n"
		     "sonde_syscall_duration_seconds_count{syscall=\"write\"} 3\n");
	assert_int_equal(sum_of("sonde_syscall_duration_seconds_bucket{syscall=\"write\",le=\"2.", m), 0);
	assert_int_equal(sum_of("sonde_syscall_duration_seconds_bucket{syscall=\"write\",le=\"+Inf\"", m), 3);
	/* step 40 ends at 2559 ns */
	assert_int_equal(sum_of("sonde_syscall_duration_seconds_bucket{syscall=\"read\",le=\"0.000001023\"", m), 0);
	assert_int_equal(sum_of("sonde_syscall_duration_seconds_bucket{syscall=\"read\",le=\"0.000004095\"", m), 7);
	metrics_free(m);
}

static void take_flow(struct metrics *m, uint64_t id, bool is_reply, uint64_t packets, uint32_t retransmitted,
		      uint64_t rtt_ns)
{
	const struct net_flow_event body = { .id = id, .is_reply = is_reply, .packets = packets,
					     .bytes = packets * 10, .retransmitted = retransmitted,
					     .rtt_ns = rtt_ns, .dir = 2, .why = rtt_ns ? NET_FLOW_CLOSED : 0 };
	struct event ev = { .desc = desc_of("net.flow"), .body = &body, .body_len = sizeof(body), .ts_ns = 1000,
			    .instance = 1 };

	ev.keys.conn.proto = 6;
	assert_int_equal(metrics_take(m, ~0u, &ev), 0);
}

static void each_direction_of_a_flow_grows_by_itself(void **state)
{
	struct metrics *m = metrics_of("network,tcp", 0);

	(void)state;
	take_flow(m, 1, false, 10, 0, 0);
	take_flow(m, 1, true, 4, 0, 0);
	take_flow(m, 1, false, 12, 0, 0);
	take_flow(m, 1, false, 15, 2, 5000);
	take_flow(m, 1, true, 4, 0, 5000);
	take_flow(m, 2, false, 100, 1, 0);
	expect_lines(m, false, "sonde_network_packets",
		     "sonde_network_packets_total{direction=\"out\",transport=\"tcp\"} 119\n");
	expect_lines(m, false, "sonde_tcp_retransmits", "sonde_tcp_retransmits_total 3\n");
	expect_lines(m, false, "sonde_tcp_rtt_seconds_count", "sonde_tcp_rtt_seconds_count 1\n");
	expect_lines(m, false, "sonde_tcp_rtt_seconds_sum", "sonde_tcp_rtt_seconds_sum 0.000005\n");
	metrics_free(m);
}

/* A total of its own, so a lower one than before, would show an id that was kept. */
static void an_id_ends_with_its_flow(void **state)
{
	struct metrics *m = metrics_of("network,tcp", 0);

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		take_flow(m, 1, false, 4, 0, 0);
		take_flow(m, 1, false, 10, 0, 5000);
	}
	expect_lines(m, false, "sonde_network_packets",
		     "sonde_network_packets_total{direction=\"out\",transport=\"tcp\"} 100\n");
	expect_lines(m, false, "sonde_tcp_connections", "sonde_tcp_connections_total 10\n");
	expect_lines(m, false, "sonde_tcp_rtt_seconds_count", "sonde_tcp_rtt_seconds_count 10\n");
	metrics_free(m);
}

static void flows_have_the_names_of_hubble(void **state)
{
	const struct net_flow_event body = { .id = 1, .packets = 7, .verdict = NET_VERDICT_FORWARDED };
	const struct event ev = { .desc = desc_of("net.flow"), .body = &body, .body_len = sizeof(body), .ts_ns = 1000,
				  .instance = 1, .keys.conn.proto = 17 };
	struct metrics *m = metrics_of("hubble", 0);

	(void)state;
	assert_int_equal(metrics_take(m, ~0u, &ev), 0);
	expect_lines(m, false, "hubble_flows_processed",
		     "hubble_flows_processed_total{protocol=\"UDP\",subtype=\"to-endpoint\",type=\"Trace\","
		     "verdict=\"FORWARDED\"} 7\n");
	expect_lines(m, false, "hubble_drop", "");
	metrics_free(m);
}

static void take_policy(struct metrics *m, uint8_t kind, uint32_t line, uint64_t packets)
{
	const struct net_count_event body = { .kind = kind, .verdict = NET_COUNT_AUDIT, .line = line,
					      .packets = packets };
	const struct event ev = { .desc = desc_of("net.count"), .body = &body, .body_len = sizeof(body),
				  .ts_ns = 1000 };

	assert_int_equal(metrics_take(m, ~0u, &ev), 0);
}

static void verdicts_are_counted_by_rule(void **state)
{
	struct metrics *m = metrics_of("policy,drops", 0);

	(void)state;
	take_policy(m, NET_COUNT_POLICY, 12, 3);
	take_policy(m, NET_COUNT_POLICY, 12, 4);
	take_policy(m, NET_COUNT_POLICY, 13, 1);
	take_policy(m, NET_COUNT_DROP, 12, 100);
	expect_lines(m, false, "sonde_policy_verdicts",
		     "sonde_policy_verdicts_total{verdict=\"audit\",rule=\"12\"} 7\n"
		     "sonde_policy_verdicts_total{verdict=\"audit\",rule=\"13\"} 1\n");
	metrics_free(m);
}

static void further_labels_are_those_that_events_have(void **state)
{
	const struct net_flow_event flow = { .id = 1, .packets = 7 };
	struct event ev = { .desc = desc_of("net.flow"), .body = &flow, .body_len = sizeof(flow), .ts_ns = 1000,
			    .instance = 1, .tgid = 4711, .keys.conn.proto = 17 };
	struct metrics *m = metrics_of("network,drops,+pid,+container-id", 0);
	struct err err = { 0 };
	uint32_t mask, more;

	(void)state;
	assert_int_equal(metrics_take(m, ~0u, &ev), 0);
	expect_lines(m, false, "sonde_network_packets",
		     "sonde_network_packets_total{direction=\"unknown\",transport=\"udp\",pid=\"4711\"} 7\n");
	take_policy(m, NET_COUNT_DROP, 0, 5);
	expect_lines(m, false, "sonde_network_drops", "sonde_network_drops_total{reason=\"0\"} 5\n");
	metrics_free(m);
	assert_int_equal(metrics_table_mask("drops,+comm", &mask, &more, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "+comm: no such label; expected +pid"));
}

/* Each value is inside of its bucket, whatever came before. */
static void check_expo(const struct metrics_expo *e, const uint64_t *values, size_t n)
{
	const double base = exp2(ldexp(1, -e->scale));
	uint64_t sum = 0;

	for (uint32_t i = 0; i < e->n; i++) {
		const double from = pow(base, e->offset + (double)i) * (1 - 1e-12), to = from * base * (1 + 2e-12);
		uint64_t in = 0;

		for (size_t k = 0; k < n; k++)
			in += (double)values[k] / 1e9 > from && (double)values[k] / 1e9 <= to;
		assert_true(e->counts[i] <= in);
		sum += e->counts[i];
	}
	assert_int_equal(sum + e->zero, n);
	assert_true(e->n <= METRICS_EXPO_BUCKETS);
}

static void exponential_buckets_hold_their_values(void **state)
{
	static const uint64_t ranges[][2] = { { 1000, 2000 }, { 50, 100000000 }, { 1, 1ull << 62 }, { 777, 778 } };
	uint64_t values[500], seed = 42;

	(void)state;
	for (size_t r = 0; r < ARRAY_SIZE(ranges); r++) {
		struct metrics_expo e = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			values[i] = ranges[r][0] + (seed >> 1) % (ranges[r][1] - ranges[r][0]);
			values[i] >>= ranges[r][1] > 10000 ? seed >> 58 : 0;
			metrics_expo_add(&e, values[i], 1);
		}
		check_expo(&e, values, ARRAY_SIZE(values));
		assert_true(e.scale <= METRICS_EXPO_SCALE && (r != 3 || e.scale == METRICS_EXPO_SCALE));
	}
}

static void a_million_label_sets_keep_the_sum(void **state)
{
	struct metrics *m = metrics_of("drops", 0);
	struct net_count_event body = { .kind = NET_COUNT_DROP };
	const struct event ev = { .desc = desc_of("net.count"), .body = &body, .body_len = sizeof(body),
				  .ts_ns = 1000 };
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 1; i <= 1000000; i++) {
		body.reason = i;
		body.packets = i % 7;
		sum += body.packets;
		assert_int_equal(metrics_take(m, ~0u, &ev), 0);
	}
	assert_int_equal(sum_of("sonde_network_drops_total{", m), sum);
	assert_int_equal(metrics_n_series(m), 2 * 2001);
	metrics_free(m);
}

/* ---- calls ---- */

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

static void take_call(struct metrics *m, uint32_t status, uint64_t latency_ns, bool traced)
{
	struct call_event_body body = { .kind = CALL_KIND_GRPC, .side = CALL_EVENT_SIDE_SERVER, .status = status,
					.error = status > 0, .latency_ns = latency_ns, .end = CALL_EVENT_END_DONE };
	const struct event ev = { .desc = desc_of("rpc.call"), .body = &body, .body_len = sizeof(body),
				  .ts_ns = 1000000000, .clock_offset_ns = 500000000, .instance = 1 };

	if (traced) {
		memcpy(body.trace, TRACE, sizeof(TRACE) - 1);
		memcpy(body.span, SPAN, sizeof(SPAN) - 1);
	}
	assert_int_equal(metrics_take(m, ~0u, &ev), 0);
}

static void calls_have_rate_errors_duration_and_exemplars(void **state)
{
	static const char bucket[] = "rpc_server_call_duration_seconds_bucket{rpc_system_name=\"grpc\","
				     "rpc_status_code=\"OK\",le=\"0.01\"";
	struct metrics *m = metrics_of("calls", 0);

	(void)state;
	take_call(m, 0, 5000000, false);
	take_call(m, 0, 7000000, true);
	take_call(m, 14, 20000000000, false);
	expect_lines(m, true, "rpc_server_call_duration_seconds_count",
		     "rpc_server_call_duration_seconds_count{rpc_system_name=\"grpc\",rpc_status_code=\"OK\"} 2\n"
		     "rpc_server_call_duration_seconds_count{rpc_system_name=\"grpc\","
		     "rpc_status_code=\"UNAVAILABLE\",error_type=\"UNAVAILABLE\"} 1\n");
	assert_int_equal(sum_of(bucket, m), 2);
	{
		struct buf text = { 0 };

		metrics_text(m, true, &text);
		assert_non_null(strstr(buf_str(&text), ",le=\"0.01\"} 2 # {trace_id=\"" TRACE "\",span_id=\"" SPAN
						       "\"} 0.007 1.5\n"));
		assert_non_null(strstr(buf_str(&text), ",le=\"0.005\"} 1\n"));
		buf_reset(&text);
		metrics_text(m, false, &text);
		assert_null(strstr(buf_str(&text), "trace_id"));
		buf_fini(&text);
	}
	metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_its_type_fields_and_family),
		cmocka_unit_test(names_are_those_of_prometheus_and_occur_once),
		cmocka_unit_test(bounds_of_step_histograms_are_ends_of_steps),
		cmocka_unit_test(an_unknown_family_is_refused_with_a_proposal),
		cmocka_unit_test(increments_add_up_and_other_kinds_do_not_count),
		cmocka_unit_test(values_of_labels_are_escaped),
		cmocka_unit_test(series_beyond_the_limit_add_to_one_and_no_sum_changes),
		cmocka_unit_test(idle_series_go_and_make_room),
		cmocka_unit_test(totals_of_system_calls_become_increments),
		cmocka_unit_test(each_direction_of_a_flow_grows_by_itself),
		cmocka_unit_test(an_id_ends_with_its_flow),
		cmocka_unit_test(a_million_label_sets_keep_the_sum),
		cmocka_unit_test(calls_have_rate_errors_duration_and_exemplars),
		cmocka_unit_test(flows_have_the_names_of_hubble),
		cmocka_unit_test(verdicts_are_counted_by_rule),
		cmocka_unit_test(further_labels_are_those_that_events_have),
		cmocka_unit_test(exponential_buckets_hold_their_values),
		cmocka_unit_test(only_the_families_of_the_instance_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
