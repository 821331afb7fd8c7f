// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Labels of any bytes: each line of Prometheus' text stays one line, its quotes close, nothing in it acts on a
 * terminal; sums do not depend on the number of series. The input: names, separated by 0xff.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "metrics/metrics.h"
#include "metrics/metrics_text.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/net_event.h"
#include "sinks/otlp/otlp_metric.h"
#include "sinks/otlp/otlp_resource.h"
#include "sonde/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_SERIES 5u

/* Made once. */
static const struct registry *all_types(void)
{
	static struct registry *reg;

	if (reg)
		return reg;
	reg = registry_new();
	for (const struct decoder_ops *const *d = all_decoders; *d; d++)
		registry_add(reg, (*d)->events);
	return reg;
}

/* name{key="value",...} number: returns the number. */
static uint64_t check_sample(const char *line, size_t len)
{
	bool quoted = false;
	size_t i = 0;

	for (; i < len && (quoted || line[i] != ' '); i++) {
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			abort();
		if (quoted && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			quoted = !quoted;
	}
	if (quoted || i >= len || !i || (line[i - 1] != '}' && memchr(line, '{', i)))
		abort();
	for (size_t k = i + 1; k < len; k++)
		if (line[k] < '0' || line[k] > '9')
			abort();
	return strtoull(line + i + 1, NULL, 10);
}

static void check_text(const char *text, uint64_t packets)
{
	static const char counted[] = "sonde_network_drops_total";
	uint64_t sum = 0;

	for (size_t len; *text; text += len + 1) {
		uint64_t n;

		len = strcspn(text, "\n");
		if (text[len] != '\n')
			abort();
		n = *text == '#' ? 0 : check_sample(text, len);
		sum += !strncmp(text, counted, sizeof(counted) - 1) ? n : 0;
	}
	if (sum != packets)
		abort();
}

static int take_message(void *ctx, const void *data, size_t len, size_t n)
{
	(void)data;
	*(size_t *)ctx += n;
	return len ? 0 : -1;
}

static void take(struct metrics *m, struct names *names, const struct event_desc *desc, uint32_t reason,
		 const uint8_t *name, size_t len)
{
	const struct net_count_event body = { .kind = NET_COUNT_DROP, .reason = reason, .packets = reason };
	const struct event ev = { .desc = desc, .body = &body, .body_len = sizeof(body), .ts_ns = reason,
				  .names = names };

	event_names_set(names, SONDE_NAME_DROP_REASON, reason, (const char *)name, len);
	metrics_take(m, ~0u, &ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct metrics_opts o = { .families = 1, .max_series = MAX_SERIES };
	const struct otlp_metric_time t = { .now_ns = 1 };
	const struct registry *reg = all_types();
	struct names *names = event_names_new();
	struct metrics *m = NULL;
	struct buf text = { 0 };
	uint64_t packets = 0;
	size_t points = 0;

	if (metrics_new(&o, reg, &m, NULL) < 0)
		abort();
	for (uint32_t reason = 1; size && reason < 64; reason++) {
		const uint8_t *end = memchr(data, 0xff, size);
		size_t len = end ? (size_t)(end - data) : size;

		take(m, names, registry_find_name(reg, "net.count"), reason, data, len);
		packets += reason;
		data += len + (end != NULL);
		size -= len + (end != NULL);
	}
	metrics_text(m, false, &text);
	check_text(buf_str(&text), packets);
	if (otlp_metric(m, &(struct otlp_host){ 0 }, &t, take_message, &points) < 0 || points != metrics_n_series(m))
		abort();
	buf_fini(&text);
	metrics_free(m);
	event_names_free(names);
	return 0;
}
