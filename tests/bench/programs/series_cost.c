// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory and a scrape of 20,000 series: two counters with 10,000 label sets each. */
#include <malloc.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "metrics/metrics.h"
#include "metrics/metrics_text.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/net_event.h"
#include "tests/bench/programs/bench.h"

#define LABEL_SETS 10000u
#define SERIES (2 * LABEL_SETS)
#define ROUNDS 9u
#define MEMORY_MB 8
#define SCRAPE_MS 50

static struct registry *all_types(void)
{
	struct registry *reg = registry_new();

	for (const struct decoder_ops *const *d = all_decoders; reg && *d; d++)
		if (registry_add(reg, (*d)->events) < 0)
			bench_die("out of memory");
	return reg;
}

static void fill(struct metrics *m, const struct registry *reg)
{
	struct net_count_event body = { .kind = NET_COUNT_DROP, .packets = 3, .bytes = 300 };
	const struct event ev = { .desc = registry_find_name(reg, "net.count"), .body = &body,
				  .body_len = sizeof(body), .ts_ns = 1000 };

	for (uint32_t i = 1; i <= LABEL_SETS; i++) {
		body.reason = i;
		if (metrics_take(m, ~0u, &ev) < 0)
			bench_die("out of memory");
	}
	if (metrics_n_series(m) != SERIES)
		bench_die("other series than expected");
}

int main(void)
{
	struct metrics_opts o = { .max_series = LABEL_SETS };
	struct registry *reg = all_types();
	double ms[ROUNDS], memory;
	struct metrics *m = NULL;
	struct buf text = { 0 };
	struct err err = { 0 };

	if (!reg || metrics_table_mask("drops", &o.families, &o.more, &err) < 0 || metrics_new(&o, reg, &m, &err) < 0)
		bench_die(err.msg);
	memory = (double)mallinfo2().uordblks + (double)mallinfo2().hblkhd;
	fill(m, reg);
	memory = (double)mallinfo2().uordblks + (double)mallinfo2().hblkhd - memory;
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t cpu_ns = bench_cpu_ns();

		text.len = 0;
		metrics_text(m, true, &text);
		ms[i] = (double)(bench_cpu_ns() - cpu_ns) / 1e6;
	}
	bench_figure("text of 20,000 series", (double)text.len / 1e6, "MB");
	bench_at_most("memory of 20,000 series, MB", memory / 1e6, MEMORY_MB);
	bench_at_most("text of 20,000 series, ms of CPU time", bench_median(ms, ROUNDS), SCRAPE_MS);
	buf_fini(&text);
	metrics_free(m);
	registry_free(reg);
	return 0;
}
