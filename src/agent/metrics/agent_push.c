// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/metrics/agent_push.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "sinks/otlp/otlp_metric.h"
#include "sinks/otlp/otlp_resource.h"

#define EVERY_NS (10 * NS_PER_S)

struct agent_push {
	struct http_client *client;	/* owned */
	uint64_t due_ns;
};

static void on_news(_unused_ void *ctx, const char *sentence)
{
	log_warn("%s", sentence);
}

int agent_push_open(const char *url, struct loop *loop, struct agent_push **ret, struct err *err)
{
	const struct http_client_opts o = {
		.url = url, .path = OTLP_METRIC_PATH, .type = OTLP_METRIC_TYPE, .things = "data points",
		.loop = loop, .news = on_news,
	};
	_cleanup_free_ struct agent_push *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_errno(err, -ENOMEM, "cannot send metrics");
	r = http_client_open(&o, &p->client, err);
	if (r < 0)
		return r;
	p->due_ns = clock_boot_ns() + EVERY_NS;
	*ret = TAKE_PTR(p);
	return 0;
}

static int put_message(void *ctx, const void *data, size_t len, size_t n)
{
	http_client_put(ctx, data, len, n); /* counts what it leaves out */
	return 0;
}

static void put_all(struct agent_push *p, const struct metrics *m, const struct otlp_host *host, uint64_t now_ns)
{
	const struct otlp_metric_time t = { .now_ns = now_ns, .offset_ns = clock_boot_offset_ns() };

	otlp_metric(m, host, &t, put_message, p->client);	/* without memory the next message has the sums */
}

void agent_push_tick(struct agent_push *p, const struct metrics *m, const struct otlp_host *host, uint64_t now_ns)
{
	if (!p)
		return;
	if (now_ns >= p->due_ns) {
		p->due_ns = now_ns + EVERY_NS;
		put_all(p, m, host, now_ns);
	}
	http_client_pump(p->client);
}

void agent_push_close(struct agent_push *p, const struct metrics *m, const struct otlp_host *host)
{
	struct http_client_stats stats;
	struct err err = { 0 };

	if (!p)
		return;
	put_all(p, m, host, clock_boot_ns());
	if (http_client_close(p->client, &stats, &err) < 0)
		log_warn("%s", err.msg);
	free(p);
}

void agent_push_stats(const struct agent_push *p, struct http_client_stats *ret)
{
	http_client_stats(p->client, ret);
}
